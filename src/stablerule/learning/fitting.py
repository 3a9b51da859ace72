"""From a graph to rules that answer: how each learner of this package learns, from top to bottom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.learning.extraction import (
    Candidates,
    find_constant_rules,
    keep_best_by_length,
    measure_chains,
    number_learned_rules,
    score_bodies,
    smooth_sample_counts,
)
from stablerule.learning.plan import (
    USUAL_LENGTH,
    choose_walk_count,
    limit_measuring_to_budget,
    limit_queries_to_budget,
    limit_walks_to_budget,
)
from stablerule.learning.sizes import choose_size, limit_counts, number_within_groups, plan_sizes
from stablerule.progress import progress_bar
from stablerule.reasoning.calibration import calibrate, count_calibration_queries
from stablerule.reasoning.choosing import MOST_QUERIES, choose_aggregation, split_valid_for_choosing
from stablerule.reasoning.learned import Learned
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule.rules import RuleSet
from stablerule.rules.measuring import measure_rules
from stablerule.rules.scored import NUMBERS
from stablerule.samples import sample_rules

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stablerule.learning.options import CountsSamples, MinesRules, Mining, TrainsNetwork, Weighs
    from stablerule.learning.sizes import Sizes
    from stablerule.reasoning.learned import Lesson, SizeChoice
    from stablerule.reasoning.scoring.score import AggregationName
    from stablerule.samples import RuleSamples

# Of the time that is left, by what ranking a query takes: choosing fires twice, fits and tries; calibrating finds more.
CHOOSING_SHARE, CALIBRATING_SHARE = 0.12, 0.3
COUNTED_SMOOTHING = 5.0  # of the counts by which a network's lengths are chosen
MEASURED = tuple(name for name in NUMBERS if name != "score")


def fit_stablerule(
    lesson: Lesson, o: TrainsNetwork, *, checkpoint: Path | None = None, resume: bool = False
) -> Learned:
    """Learn rules from sampled paths with the network, under decorrelating weights."""
    import torch  # noqa: PLC0415  # only learning with a network needs it

    from stablerule.learning.checkpoints import Checkpoints  # noqa: PLC0415
    from stablerule.learning.network import RuleNetwork, predict_head_probabilities  # noqa: PLC0415
    from stablerule.learning.training import train_network  # noqa: PLC0415

    graph, kept, walks = lesson.graph, None, choose_walks_in_time(lesson, o)
    if checkpoint is not None:
        kept = Checkpoints(checkpoint, identify_training_run(lesson, o), resume=resume)
        walks = kept.walks_begun_with(walks)

    # 1. sample: (body, head relation) pairs from walks, as long as rules that are counted are worth on valid
    sizes = plan_sizes(lesson, o)
    samples = sample_paths(lesson, o, walks, sizes.longest)
    if not samples.n_bodies:  # every walk came back to where it began: there is nothing to learn from
        return finish_learning(lesson, o, RuleSet(), samples=0, bodies=0)
    chosen: tuple[SizeChoice, ...] = ()
    if sizes.lengths:
        counted = [count_candidates(samples, COUNTED_SMOOTHING)]
        _, chosen = find_rules(lesson, o, samples, counted, replace(sizes, counts=()))
        sizes = sizes.with_length_of(chosen)
        samples = samples.up_to(sizes.longest)

    # 2. train: P(head relation | body), under decorrelating weights
    first_values = torch.Generator().manual_seed(o.seed)
    network = RuleNetwork(graph.n_relations, o.training.size, selector=o.training.selector, generator=first_values)
    training = replace(o.training, batch_size=o.training.batch_size_for(graph.n_relations))
    course = train_network(network, samples, training, o.decorrelation, o.seed, o.device, kept, lesson.budget)

    # 3. extract the best bodies of each relation, 4. measure them on the graph, and add rules with constants
    scored = score_bodies(
        samples, lambda bodies: predict_head_probabilities(network, bodies, o.device), o.training.smoothing
    )
    rules, tried = find_rules(lesson, o, samples, scored, sizes)

    # 5. choose how rules that fire become one score, 6. calibrate
    tensors = {name: t.detach().cpu().numpy() for name, t in network.state_dict().items()}
    return finish_learning(
        lesson,
        o,
        rules,
        samples=samples.n_samples,
        bodies=samples.n_bodies,
        course=course,
        network=tensors,
        sizes=chosen + tried,
    )


def fit_tabular(lesson: Lesson, o: CountsSamples) -> Learned:
    """Learn rules from sampled paths by counting: steps 2 and 3 are smoothed counts."""
    sizes = plan_sizes(lesson, o)
    samples = sample_paths(lesson, o, choose_walks_in_time(lesson, o), sizes.longest)
    rules, tried = find_rules(lesson, o, samples, [count_candidates(samples, o.smoothing)], sizes)
    return finish_learning(lesson, o, rules, samples=samples.n_samples, bodies=samples.n_bodies, sizes=tried)


def choose_walks_in_time(lesson: Lesson, o: MinesRules) -> int:
    """Return how many walks to take: as many as asked for, or as the budget allows."""
    return limit_walks_to_budget(lesson.budget, o.walks or choose_walk_count(lesson.graph))


def sample_paths(lesson: Lesson, o: MinesRules, walks: int, longest: int | None = None) -> RuleSamples:
    """Walk the graph and count which relations close which bodies, up to a length; None is that of the options."""
    return sample_rules(
        lesson.graph,
        walks,
        max_length=longest or o.max_length or USUAL_LENGTH,
        min_length=o.mining.min_length,
        backtracking=o.mining.backtracking,
        negatives=o.mining.negatives,
        examples=lesson.examples,
        seed=o.seed,
    )


def count_candidates(samples: RuleSamples, smoothing: float) -> Candidates:
    """Score every body and relation that was counted by P(head relation | body) of the smoothed counts."""
    closed = samples.cell_heads != samples.negative
    scores = smooth_sample_counts(samples, smoothing)
    bodies, heads = (column[closed].astype(np.int64) for column in (samples.cell_bodies, samples.cell_heads))
    return Candidates(bodies, heads, scores[closed])


def find_rules(
    lesson: Lesson, o: MinesRules, samples: RuleSamples, scored: Iterable[Candidates], sizes: Sizes
) -> tuple[RuleSet, tuple[SizeChoice, ...]]:
    """Keep the best bodies of each relation, measure them, add rules with constants, and choose how many and how long.

    scored: bodies with the score of each head relation, in parts.
    """
    short, *longer = keep_best_by_length(
        scored, samples, lesson.graph.n_relations, sizes.most, sizes.base, sizes.usual.per_relation
    )
    sizes = limit_counts(lesson, sizes, samples, short, o.seed)
    short = short.take(number_within_groups(short.heads) < sizes.most)
    chains = measure_chains_found(lesson, o, samples, Candidates.concat([short, *longer]))
    rules = chains.union(find_constants(lesson, o.mining)) if o.constants else chains
    return choose_size(lesson, o, rules, sizes)


def measure_chains_found(lesson: Lesson, o: MinesRules, samples: RuleSamples, best: Candidates) -> RuleSet:
    """Measure the best chains on the graph."""
    m, graph, examples = o.mining, lesson.graph, lesson.examples
    budget = limit_measuring_to_budget(lesson.budget, m.measure_budget)
    return measure_chains(
        graph, samples, best, examples=examples, min_support=m.min_support, budget=budget, seed=o.seed
    )


def find_constants(lesson: Lesson, m: Mining) -> RuleSet:
    """Find the rules with constants of a graph."""
    with progress_bar("counting rules with constants", None):
        return find_constant_rules(
            lesson.graph, examples=lesson.examples, min_support=m.constant_support, per_constant=m.per_constant
        )


def measure_rules_again(lesson: Lesson, rules: RuleSet, o: MinesRules) -> RuleSet:
    """Measure chains that were found elsewhere on the graph of a lesson, and find its rules with constants."""
    budget = limit_measuring_to_budget(lesson.budget, o.mining.measure_budget)
    chains = measure_named_chains(lesson, rules.filter(kind="chains"), budget, o.seed)
    return chains.union(find_constants(lesson, o.mining)) if o.constants else chains


def measure_named_chains(lesson: Lesson, chains: RuleSet, budget: float | None, seed: int) -> RuleSet:
    """Give chains the numbers that they have on a graph; one with a relation that the graph lacks keeps its own."""
    graph, frame = lesson.graph, chains.to_frame().with_row_index("row")
    known = pl.Series(list(graph.vocabulary.all_relations)).implode()
    named = frame.filter(
        pl.col("head_relation").is_in(known) & pl.col("body").list.eval(pl.element().is_in(known)).list.all()
    )
    if not len(named):
        return chains
    bodies, heads = number_learned_rules(named, graph)
    found = measure_rules(graph, bodies, heads, examples=lesson.examples, budget=budget, seed=seed)
    numbers = pl.DataFrame({"row": named["row"]} | {name: getattr(found, name) for name in MEASURED})
    return RuleSet.from_frame(frame.update(numbers, on="row").drop("row"))


def finish_learning(lesson: Lesson, o: Weighs, rules: RuleSet, **record: Any) -> Learned:
    """Choose the aggregation on one part of the validation facts, and calibrate; the other part checks that.

    record: what else `Learned` should hold, such as the course of training.
    """
    choosing, calibrating = split_valid_for_choosing(lesson.valid, o.seed)
    fixed, encoded = choose_fixed_aggregation(o), encode_rules(rules, lesson.graph)
    search, most = RuleSearcher(encoded, fixed), MOST_QUERIES
    if lesson.budget.limited and choosing is not None:
        wanted = min(MOST_QUERIES, 2 * len(choosing))
        what = "validation queries to choose how to answer"
        most = limit_queries_to_budget(lesson.budget, search, wanted, what, CHOOSING_SHARE)
    with progress_bar("choosing how to answer", None):
        choice = choose_aggregation(
            encoded,
            choosing,
            lesson.known_while_learning,
            only=None if o.aggregation == "auto" else o.aggregation,
            fixed=fixed,
            seed=o.seed,
            examples=lesson.examples,
            most=most,
        )
    if choice.aggregation.by != "confidence":
        encoded = encode_rules(rules, lesson.graph, choice.aggregation.by)
    search = RuleSearcher(encoded, choice.aggregation)
    wanted = count_calibration_queries(lesson.graph)
    allowed = limit_queries_to_budget(lesson.budget, search, wanted, "queries to calibrate on", CALIBRATING_SHARE)
    with progress_bar("calibrating", None):
        calibration = calibrate(
            search,
            lesson.dataset.known,
            check=calibrating,
            examples=lesson.examples,
            seed=o.seed,
            share=allowed / max(wanted, 1),
        )
    return Learned(rules, choice, calibration, ready=search, **record)


def choose_fixed_aggregation(o: Weighs) -> Aggregation:
    """Return the aggregation that counts where there are no facts to choose or fit by."""
    name: AggregationName = "max_plus" if o.aggregation in ("auto", "learned") else o.aggregation  # type: ignore[assignment]
    return Aggregation(name, by=o.by, top=o.top)


def identify_training_run(lesson: Lesson, o: TrainsNetwork) -> dict[str, Any]:
    """Return what a run depends on: a checkpoint of another run is refused."""
    return {"graph": lesson.graph.sha256, "examples": lesson.examples.facts.sha256, **o.options}
