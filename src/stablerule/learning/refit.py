"""Fit without validation facts: hold some facts out for model selection, then measure the rules on all facts.

Without validation facts, a learner would choose the aggregation on the same facts that the rules were learned from. So
a tenth of the facts is held out, such that the rest has every entity and relation. Rules are learned from the rest, and
the aggregation is chosen on the held-out facts. Then the same rules are measured again on all facts, because more facts
improve their measures, but not the choice. Finally scores are calibrated again, and checked on the held-out facts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stablerule.graph import Dataset, Graph, split_triples
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.calibration import Calibration, calibrate
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.theory import encode_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from stablerule.reasoning.learned import Learned, Lesson
    from stablerule.reasoning.scoring.score import Aggregation
    from stablerule.rules import RuleSet

HELD_OUT = 0.1  # share of the facts
FEWEST, MOST = 200, 20_000  # fewer are too few to choose and calibrate on, more do not improve the choice


def count_held_out(graph: Graph) -> int:
    """Return how many facts of a graph are held out; 0 if they would be too few."""
    count = min(int(HELD_OUT * graph.n_facts), MOST)
    return count if count >= FEWEST else 0


def fit_on_everything(
    lesson: Lesson,
    seed: int,
    learn: Callable[[Lesson], Learned],
    measure: Callable[[Lesson, RuleSet], RuleSet],
    *,
    refit: bool = True,
) -> Learned:
    """Fit, with facts held out if there are no validation facts and all facts may be examples.

    learn: fit on a lesson with validation facts. measure: measure rules on all facts of a lesson.
    """
    if not refit or lesson.valid is not None or lesson.some_serve or not count_held_out(lesson.graph):
        return learn(lesson)
    part = hold_out_facts_to_learn(lesson, seed)
    learned = learn(part)
    if learned.rules is None or learned.choice is None:
        return learned
    count = 0 if part.valid is None else len(part.valid)
    choice = replace(learned.choice, chosen_on=f"{count:,} held-out facts")
    rules = measure(lesson, learned.rules)
    calibration = calibrate_again(lesson, learned, rules, learned.choice.aggregation, seed)
    return replace(learned, rules=rules, choice=choice, calibration=calibration, held_out=count, ready=None)


def hold_out_facts_to_learn(lesson: Lesson, seed: int) -> Lesson:
    """Return a lesson whose validation facts are taken from its graph."""
    graph = lesson.graph
    share = count_held_out(graph) / graph.n_facts
    train, valid, _ = split_triples(graph.triples, (1 - share, share, 0.0), seed)
    rest = Graph.build(train, graph.vocabulary, graph.name)
    dataset = Dataset.of_graph(rest, valid, lesson.dataset.test)
    return replace(lesson, dataset=dataset, examples=ExampleFacts.of(rest, None))


def calibrate_again(
    lesson: Lesson, learned: Learned, rules: RuleSet, aggregation: Aggregation, seed: int
) -> Calibration | str:
    """Calibrate the scores of the rules on all facts; keep the reliability measured on the held-out facts."""
    search = RuleSearcher(encode_rules(rules, lesson.graph, aggregation.by), aggregation)
    found, before = calibrate(search, lesson.dataset.known, examples=lesson.examples, seed=seed), learned.calibration
    if isinstance(found, Calibration) and isinstance(before, Calibration):
        return replace(found, reliability=before.reliability)
    return found
