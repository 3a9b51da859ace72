"""How long rules may be, and how many chains are kept for each relation: chosen on validation facts, where not given.

Rules up to length 3 are the usual ones. Longer ones, and more of them, are tried where the plan says that they are
affordable. All of them fire together, once: the rules of each size are a part of the rules of the largest. A size other
than the usual one is taken only where it is better by two standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stablerule.learning.plan import (
    USUAL_LENGTH,
    choose_rule_count,
    choose_walk_count,
    foretell_chain_seconds,
)
from stablerule.paths.threads import count_cores
from stablerule.progress import progress_bar
from stablerule.reasoning.choosing import (
    FEWEST_TO_CHOOSE,
    FIRST_RIDGE,
    ROWS,
    deal_into_folds,
    is_clearly_better,
    split_valid_for_choosing,
)
from stablerule.reasoning.evidence_examples import NestedSets, fire_queries
from stablerule.reasoning.evidence_weights import fit_weights_by_folds
from stablerule.reasoning.learned import Size, SizeChoice
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule.rules import RuleSet
from stablerule.samples import sample_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Triples
    from stablerule.graph.triples import Ids
    from stablerule.learning.extraction import Candidates
    from stablerule.learning.options import MinesRules
    from stablerule.reasoning.learned import Lesson
    from stablerule.samples import RuleSamples

LENGTHS = (4, 5)  # beyond the usual one
COUNTS = (200, 400, 1000)  # chains for each relation
MOST_TRIED = 3000  # queries that sizes are judged on
SECONDS = 20.0  # of one core, that a size may add to learning
SHARE = 0.1  # of a time budget
PILOT_WALKS = 40_000
SOME = 100  # bodies that stand for all


@dataclass(frozen=True)
class Sizes:
    """The sizes to try beside the usual one: other numbers of chains, and longer ones.

    base: the best chains up to this length are kept together, by relation; those of each length beyond apart.
    """

    usual: Size
    base: int
    lengths: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()

    @property
    def longest(self) -> int:
        """The length that has to be sampled."""
        return max((self.usual.max_length, *self.lengths))

    @property
    def most(self) -> int:
        """How many of the shorter chains have to be measured for each relation."""
        return max((self.usual.per_relation, *self.counts))

    @property
    def by_length(self) -> tuple[Size, ...]:
        """Those with longer chains."""
        return tuple(self.usual._replace(max_length=length) for length in self.lengths)

    @property
    def by_count(self) -> tuple[Size, ...]:
        """Those with more or fewer chains."""
        return tuple(self.usual._replace(per_relation=count) for count in self.counts)

    def with_length_of(self, chosen: tuple[SizeChoice, ...]) -> Sizes:
        """Return the sizes that are left to try when a length was chosen."""
        length = chosen[0].max_length if chosen else self.usual.max_length
        return replace(self, usual=self.usual._replace(max_length=length), lengths=())


def plan_sizes(lesson: Lesson, o: MinesRules) -> Sizes:
    """Say which lengths and numbers of chains to try: those that the options give, or what is affordable."""
    graph = lesson.graph
    usual = Size(o.max_length or USUAL_LENGTH, o.rules_per_relation or choose_rule_count(graph))
    sizes = Sizes(usual, usual.max_length)
    # Sizes are chosen by `learned`, on facts that the rules did not see.
    if lesson.valid is None or o.aggregation not in ("auto", "learned"):
        return sizes
    if o.rules_per_relation is None:
        sizes = replace(sizes, counts=tuple(count for count in COUNTS if count != usual.per_relation))
    # Longer walks are the same walks up to the usual length only where each step is looked at.
    if o.max_length is None and o.mining.backtracking and o.mining.negatives == "open":
        sizes = replace(sizes, lengths=_find_affordable_lengths(lesson, o, usual.per_relation))
    return sizes


def _find_affordable_lengths(lesson: Lesson, o: MinesRules, per_relation: int) -> tuple[int, ...]:
    graph, lengths, left = lesson.graph, list[int](), _count_affordable_seconds(lesson)
    # More walks go on to find rare bodies: about as the square root of their number.
    growth = math.sqrt(max(1.0, (o.walks or choose_walk_count(graph)) / PILOT_WALKS))
    with progress_bar("planning lengths", None):
        pilot = sample_rules(
            graph,
            PILOT_WALKS,
            max_length=LENGTHS[-1],
            min_length=o.mining.min_length,
            examples=lesson.examples,
            seed=o.seed,
        )
        for length in LENGTHS:
            closed = pilot.of_length(length) & (pilot.cell_heads != pilot.negative)
            bodies = pilot.bodies[np.unique(pilot.cell_bodies[closed])]
            kept = min(growth * int(closed.sum()), 2 * graph.n_relations * per_relation)
            left -= foretell_chain_seconds(graph, _take_some(bodies, o.seed), kept)
            if left < 0 or not len(bodies):
                break
            lengths.append(length)
    return tuple(lengths)


def limit_counts(lesson: Lesson, sizes: Sizes, samples: RuleSamples, best: Candidates, seed: int) -> Sizes:
    """Return the sizes without numbers of chains that are not affordable.

    best: the best chains, as many of each relation as may be kept, those of a relation together and the best first.
    """
    counts, left = list[int](), _count_affordable_seconds(lesson)
    rank, before = number_within_groups(best.heads), sizes.usual.per_relation
    for count in sizes.counts:
        if count > before:
            extra = best.bodies[(rank >= before) & (rank < count)]
            some = _take_some(samples.bodies[np.unique(extra)], seed)
            left -= foretell_chain_seconds(lesson.graph, some, len(extra))
            if left < 0:
                break
            before = count
        counts.append(count)
    return replace(sizes, counts=tuple(counts))


def number_within_groups(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number the members (n,) of each group, from 0 on; the members of a group are adjacent.

    >>> number_within_groups(np.array([3, 3, 5, 5, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    new = np.flatnonzero(np.diff(groups, prepend=-1) != 0)
    return np.arange(len(groups)) - np.repeat(new, np.diff(np.append(new, len(groups))))


def choose_size(lesson: Lesson, o: MinesRules, rules: RuleSet, sizes: Sizes) -> tuple[RuleSet, tuple[SizeChoice, ...]]:
    """Return the rules of the size that is best on validation facts, and what was tried, if anything was.

    rules: those of all sizes. The number of chains and their length are chosen apart, each against the usual size.
    """
    members = list_members(rules, sizes)
    usual = members[sizes.usual]
    tried = {size: part for size, part in members.items() if size == sizes.usual or (part != usual).any()}
    facts, _ = split_valid_for_choosing(lesson.valid, o.seed)
    if len(tried) == 1 or facts is None or 2 * len(facts) < FEWEST_TO_CHOOSE:
        return take_rules(rules, usual), ()
    found = _judge_sizes(lesson, o, rules, facts, tried)
    count, length = (
        _choose_among([size for size in group if size in tried], found, sizes.usual)
        for group in (sizes.by_count, sizes.by_length)
    )
    chosen = Size(length.max_length, count.per_relation)
    kept = members[count] | (members[length] & ~usual)
    return take_rules(rules, kept), (SizeChoice.of(chosen, sizes.usual, found),)


def list_members(rules: RuleSet, sizes: Sizes) -> dict[Size, NDArray[np.bool_]]:
    """Mark the rules (n,) of each size: the best chains of each relation by score, and all rules with constants."""
    length = pl.col("body").list.len()
    short = (length <= sizes.base).alias("short")
    place = pl.col("score").rank("ordinal", descending=True).over("head_relation", "constant_free", "group")
    chain = pl.col("constant").is_null()
    frame = (
        rules.to_frame()
        .with_columns(chain.alias("constant_free"), pl.when(short).then(0).otherwise(length).alias("group"))
        .with_columns(place.fill_null(0).alias("place"))
    )

    def members(size: Size) -> NDArray[np.bool_]:
        usual = sizes.usual
        long_enough = (length <= size.max_length) & (pl.col("place") <= usual.per_relation)
        kept = ~chain | pl.when(short).then(pl.col("place") <= size.per_relation).otherwise(long_enough)
        found: NDArray[np.bool_] = frame.select(kept).to_series().to_numpy()
        return found

    return {size: members(size) for size in (sizes.usual, *sizes.by_count, *sizes.by_length)}


def take_rules(rules: RuleSet, which: NDArray[np.bool_]) -> RuleSet:
    """Return the rules of one size."""
    return rules if which.all() else RuleSet.from_frame(rules.to_frame().filter(pl.Series(which)))


def _judge_sizes(
    lesson: Lesson, o: MinesRules, rules: RuleSet, facts: Triples, tried: dict[Size, NDArray[np.bool_]]
) -> dict[Size, NDArray[np.float64]]:
    """Return the reciprocal rank of each query (n,) with the rules of each size, by folds; all fire together."""
    graph, relations = lesson.graph, 2 * lesson.graph.n_relations
    queries, folds = deal_into_folds(facts, graph, o.seed, MOST_TRIED)
    encoded = encode_rules(rules, graph)
    bits = np.packbits(np.stack(list(tried.values())), axis=0, bitorder="little")[0]
    sets, found = NestedSets(bits[encoded.rows], len(tried)), {}
    with progress_bar("choosing how many rules, and how long", 2 * len(tried)) as advance:
        search = RuleSearcher(encoded, Aggregation())
        fired = fire_queries(search, queries, lesson.known_while_learning, ROWS, sets=sets)
        advance(len(tried))
        for size, examples, missed in zip(tried, fired.examples, fired.missed.T, strict=True):
            (fitted,) = fit_weights_by_folds(examples, folds, relations, [FIRST_RIDGE], o.seed)
            found[size] = fitted.rank(examples, folds, missed)
            advance(1)
    return found


def _choose_among(others: list[Size], found: dict[Size, NDArray[np.float64]], usual: Size) -> Size:
    if not others:
        return usual
    best = max(others, key=lambda size: float(found[size].mean()))
    return best if is_clearly_better(found[best], found[usual]) else usual


def _count_affordable_seconds(lesson: Lesson) -> float:
    budget = lesson.budget
    return min(SECONDS, SHARE * budget.left * count_cores()) if budget.limited else SECONDS


def _take_some(bodies: Ids, seed: int) -> Ids:
    """Return a few bodies, sorted."""
    some = bodies[np.random.default_rng(seed).permutation(len(bodies))[:SOME]]
    return np.ascontiguousarray(some[np.lexsort(some.T[::-1])], np.int32)
