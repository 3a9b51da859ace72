"""Sampling and measuring for learners of rules without constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from stablerule.errors import OptionError
from stablerule.extending import (
    WALKS_A_SECOND,
    Candidates,
    choose_walk_count,
    count_cores,
    expect_body_count,
    keep_best_bodies,
    limit_measuring_to_budget,
    limit_walks_to_budget,
    measure_chains,
    sample_rules,
    spell_duration,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.extending import Lesson, RuleSamples
    from stablerule.graph import Graph
    from stablerule.rules import RuleSet

PILOT_WALKS = 40_000  # for the plan
MEASURE_BUDGET = 1e9  # edges for measuring rules
LEAST_SUPPORT = 1


class LearnsChains(Protocol):
    """A learner of rules without constants from sampled paths."""

    max_length: int
    walks: int | None
    rules_per_relation: int
    seed: int


def sample_chains(
    lesson: Lesson, o: LearnsChains, *, min_length: int = 1, negatives: Literal["open", "paper"] = "open"
) -> RuleSamples:
    """Sample walks within the time budget, and count which relations close which bodies."""
    return sample_rules(
        lesson.graph,
        limit_walks_to_budget(lesson.budget, o.walks or choose_walk_count(lesson.graph)),
        max_length=o.max_length,
        min_length=min_length,
        negatives=negatives,
        examples=lesson.examples,
        seed=o.seed,
    )


def measure_best(lesson: Lesson, o: LearnsChains, samples: RuleSamples, scored: Iterable[Candidates]) -> RuleSet:
    """Measure the best bodies of each relation on the graph, and drop those that conclude no fact."""
    return measure_chains(
        lesson.graph,
        samples,
        keep_best_bodies(scored, lesson.graph.n_relations, o.rules_per_relation),
        examples=lesson.examples,
        min_support=LEAST_SUPPORT,
        budget=limit_measuring_to_budget(lesson.budget, MEASURE_BUDGET),
        seed=o.seed,
    )


def plan_chains(graph: Graph, o: LearnsChains, *then: str, minutes: float | None) -> list[str]:
    """Return the plan: the walks, then the given lines."""
    walks = o.walks or choose_walk_count(graph)
    bodies = expect_body_count(graph, walks, o.max_length, o.seed)
    seconds = walks / WALKS_A_SECOND / count_cores()
    most = [] if minutes is None else [f"at most {minutes:g} minutes"]
    return [f"{walks:,} walks, about {bodies:,} distinct bodies, about {spell_duration(seconds)}", *then, *most]


def check_rate(name: str, rate: float | None) -> None:
    """Check a learning rate; None is the default."""
    if rate is not None and not 0 < rate < 10:
        raise OptionError(f"Argument {name!r} must be above 0 and below 10, got {rate}.")
