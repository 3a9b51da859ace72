"""From the rules that fired to one score: a value that says how, a number for each candidate, and their order.

The formulas of a score and of its parts are together: `share_out_score` takes apart what `score_candidates` adds up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from stablerule.errors import OptionError, spell_closest
from stablerule.paths.compiling import ZERO, compiled_leaf_part, compiled_part
from stablerule.paths.sorting import sort_keys, sort_with_items
from stablerule.reasoning.scoring.evidence import (
    ALL_RULES,
    COLUMNS,
    gather_evidence,
    share_out_evidence,
    weigh_evidence,
    weigh_evidence_without_rules,
)
from stablerule.reasoning.scoring.firing import N_CANDIDATES, N_FIRINGS
from stablerule.reasoning.scoring.theory import By  # noqa: TC001  # read at run time, by `make_record`

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids, Offsets
    from stablerule.reasoning.scoring.firing import Firings
    from stablerule.reasoning.scoring.theory import Worth

AGGREGATIONS = ("count", "log_count", "binary", "noisy_or", "max_plus", "learned")
COUNT, LOG_COUNT, BINARY, NOISY_OR, MAX_PLUS, LEARNED = range(len(AGGREGATIONS))
AggregationName = Literal["count", "log_count", "binary", "noisy_or", "max_plus", "learned"]
ELSEWHERE = "*"  # the weights for a relation that has none of its own
NO_WEIGHTS = np.zeros(0)


@dataclass(frozen=True)
class Aggregation:
    """How candidates are weighed.

    name: `count` sums rule weight * paths, as the paper does; `log_count` takes log(1 + paths); `binary` counts each
    rule once; `noisy_or` is 1 - product of (1 - weight) over the best `top` rules (0: all); `max_plus` compares the
    best rule, then the next, and so on; `learned` weighs the evidence with fitted weights.
    by: whether a rule's weight is its confidence or the learner's score.
    relations: relations that have a way of their own, by name.
    weights: those of `learned`, (columns of evidence,) for each relation by name, and for all others at "*".
    chain_weights: the same for a graph where no rule with constants can fire, since it has none of the constants.

    >>> Aggregation("noisy_or", top=5)
    Aggregation(name='noisy_or', by='confidence', top=5)
    """

    name: AggregationName = "max_plus"
    by: By = "confidence"
    top: int = 0
    relations: Mapping[str, AggregationName] = field(default_factory=dict, repr=False)
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    chain_weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in (self.name, *self.relations.values()):
            if name not in AGGREGATIONS:
                must = f"one of {', '.join(AGGREGATIONS)}"
                raise OptionError(
                    f"An aggregation must be {must}, got {name!r}.{spell_closest(str(name), AGGREGATIONS)}"
                )
            if name == "learned" and ELSEWHERE not in self.weights:
                raise OptionError("The aggregation 'learned' has no weights yet: fit(graph, valid) learns them.")
        _check_weights(self.weights)
        _check_weights(self.chain_weights)
        if self.by not in ("confidence", "score"):
            raise OptionError(f"Argument 'by' must be 'confidence' or 'score', got {self.by!r}.")
        if isinstance(self.top, bool) or not isinstance(self.top, int) or self.top < 0:
            raise OptionError(f"Argument 'top' must be 0 (all rules) or more, got {self.top!r}.")

    def of(self, relation: str) -> AggregationName:
        """Return the way for one relation or inverse, by name."""
        return self.relations.get(relation, self.name)

    def without_constants(self) -> Aggregation:
        """How to weigh where chains alone can fire: without evidence that was always there, others count for more."""
        return replace(self, weights=self.chain_weights or self.weights, chain_weights={})

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `AggregationRecord` reads back."""
        return {
            "name": self.name,
            "by": self.by,
            "top": self.top,
            "relations": dict(self.relations),
            "columns": list(COLUMNS) if self.weights else [],
            "weights": {name: list(weights) for name, weights in self.weights.items()},
            "chain_weights": {name: list(weights) for name, weights in self.chain_weights.items()},
        }


@dataclass(frozen=True)
class AggregationRecord:
    """What `Aggregation.to_json` gives; the columns say which evidence the weights belong to."""

    name: AggregationName
    by: By
    top: int
    relations: dict[str, AggregationName]
    columns: tuple[str, ...] = ()
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)
    chain_weights: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.weights and self.columns != COLUMNS:
            raise OptionError("weights of `learned` for other evidence than this version gathers")
        _ = self.aggregation  # which looks at the rest

    @property
    def aggregation(self) -> Aggregation:
        """The aggregation that was saved."""
        return Aggregation(self.name, self.by, self.top, self.relations, self.weights, self.chain_weights)


def _check_weights(weights: Mapping[str, tuple[float, ...]]) -> None:
    """Refuse weights that a kernel would read beyond their end, or that no relation would find."""
    if weights and ELSEWHERE not in weights:
        raise OptionError(f"The weights of `learned` need an entry {ELSEWHERE!r} for relations without their own.")
    for relation, values in weights.items():
        if len(values) != len(COLUMNS) or not np.isfinite(values).all():
            raise OptionError(f"The weights of {relation!r} must be {len(COLUMNS)} finite numbers.")


class How(NamedTuple):
    """How the queries of one relation are weighed: the aggregation by number, the rules that count for noisy_or
    (0: all), and the weights of `learned` (columns of evidence,).
    """

    kind: int
    top: int
    weights: NDArray[np.float64]


class Ways:
    """An aggregation for the relation ids of one graph."""

    def __init__(self, aggregation: Aggregation, graph: Graph) -> None:
        words = graph.vocabulary
        names = [words.relation_name(r) for r in range(2 * graph.n_relations)]
        self.aggregation = aggregation
        self._hows = [_make_scoring_of_relation(aggregation, name) for name in names]

    def how(self, relation: int) -> How:
        """Say to a kernel how to weigh."""
        return self._hows[relation]

    def shown(self, relation: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn what a kernel adds up into a score: noisy_or is in log space there, learned a log odds."""
        name = AGGREGATIONS[self._hows[relation].kind]
        if name == "noisy_or":
            return -np.expm1(-values)
        if name == "learned":
            return 1 / (1 + np.exp(-np.clip(values, -500, 500)))
        return values


def _make_scoring_of_relation(aggregation: Aggregation, name: str) -> How:
    weights = aggregation.weights.get(name, aggregation.weights.get(ELSEWHERE))
    kind = AGGREGATIONS.index(aggregation.of(name))
    return How(kind, aggregation.top, NO_WEIGHTS if weights is None else np.array(weights, np.float64))


class Lists(NamedTuple):
    """The levels of the rules that fired, candidate by candidate, the best first, each with a minus sign."""

    offsets: Offsets
    levels: Ids


class Order(NamedTuple):
    """What candidates are ordered by: their scores, the lists of max_plus (or none), popularity."""

    scores: NDArray[np.float64]
    lists: Lists
    entities: Ids
    popularity: Ids


@compiled_leaf_part
def score_candidates(
    f: Firings,
    worth: Worth,
    offsets: NDArray[np.int64],
    how: How,
    own_slot: int,
    popularity: Ids,
    table: NDArray[np.float32],
    lists: Lists,
    scores: NDArray[np.float64],
) -> None:
    """Fill scores[slot] for all candidates; under max_plus that is the best rule's weight, not the whole order.

    lists: of the rules of each candidate, where `needs_lists`.
    """
    n = f.sizes[N_CANDIDATES]
    if how.kind == LEARNED:
        gather_evidence(f, worth, own_slot, ALL_RULES, 0, table)
        weigh_evidence(table, f.entities, n, own_slot, popularity, offsets, how.weights, scores)
        return
    score_by_fixed_aggregation(f, worth, how.kind, how.top, own_slot, lists, scores)


@compiled_leaf_part
def score_by_fixed_aggregation(
    f: Firings, worth: Worth, kind: int, top: int, own_slot: int, lists: Lists, scores: NDArray[np.float64]
) -> None:
    """Fill scores[slot] for all candidates under an aggregation that has nothing to learn."""
    n = f.sizes[N_CANDIDATES]
    for slot in range(n):
        scores[slot] = 0
    losses, weights = worth.level_losses, worth.level_weights
    if kind == NOISY_OR and top > 0:
        for slot in range(n):
            begin = lists.offsets[slot]
            for i in range(begin, min(begin + top, lists.offsets[slot + 1])):
                scores[slot] += losses[-lists.levels[i]]
        return
    slots, rules, paths, levels, own_levels = f.slots, f.rules, f.paths, worth.levels, worth.own_levels
    for i in range(f.sizes[N_FIRINGS]):
        slot, rule = slots[i], rules[i]
        level = own_levels[rule] if slot == own_slot else levels[rule]
        if kind == MAX_PLUS:
            scores[slot] = max(scores[slot], weights[level])
        elif kind == NOISY_OR:
            scores[slot] += losses[level]
        else:
            scores[slot] += score_one_firing(kind, weights[level], paths[i])


@compiled_leaf_part
def needs_lists(kind: int, top: int) -> bool:
    """Whether candidates are scored or ordered by the lists of their rules."""
    return kind == MAX_PLUS or (kind == NOISY_OR and top > 0)


@compiled_leaf_part
def score_one_firing(kind: int, weight: float, paths: int) -> float:
    """Return what one firing adds to a score that is a sum; max_plus is none, and is cut as if it were."""
    if kind == COUNT:
        return weight * paths
    if kind == LOG_COUNT:
        return weight * np.log1p(paths)  # type: ignore[no-any-return]
    if kind == NOISY_OR:
        return -np.log1p(-weight)  # type: ignore[no-any-return]  # in log space: many small numbers end near one
    return weight


@compiled_part
def share_out_score(f: Firings, worth: Worth, how: How, firings: NDArray[np.int64], parts: NDArray[np.float64]) -> None:
    """Fill parts (n,) with what each of the n firings of a candidate adds to the sum of `score_candidates`."""
    if how.kind == LEARNED:
        share_out_evidence(f, worth, firings, how.weights, parts)
        return
    for i in range(len(firings)):
        parts[i] = score_one_firing(
            how.kind, worth.level_weights[worth.levels[f.rules[firings[i]]]], f.paths[firings[i]]
        )
    if how.kind == NOISY_OR and 0 < how.top < len(firings):
        levels, order = np.empty(len(firings), np.int32), np.empty(len(firings), np.int32)
        for i in range(len(firings)):
            levels[i], order[i] = -worth.levels[f.rules[firings[i]]], i
        sort_with_items(levels, order, ZERO, len(order))
        for i in range(how.top, len(order)):
            parts[order[i]] = 0


@compiled_leaf_part
def find_score_without_rules(how: How, facts: int, edges: int) -> float:
    """Return the part of a candidate's sum that no rule gave; only `learned` has one."""
    return weigh_evidence_without_rules(facts, edges, how.weights) if how.kind == LEARNED else 0.0


@compiled_part
def list_rule_levels(f: Firings, worth: Worth, own_slot: int) -> Lists:
    """Sort the firings by candidate, and those of a candidate by level, the best first."""
    n = f.sizes[N_CANDIDATES]
    offsets = np.zeros(n + 1, np.int64)
    slots, fired, of_rule, of_own = f.slots, f.rules, worth.levels, worth.own_levels
    for i in range(f.sizes[N_FIRINGS]):
        offsets[slots[i] + 1] += 1
    at = np.empty(n, np.int64)
    for slot in range(n):
        at[slot] = offsets[slot]
        offsets[slot + 1] += offsets[slot]
    levels = np.empty(f.sizes[N_FIRINGS], np.int32)
    for i in range(f.sizes[N_FIRINGS]):
        slot, rule = slots[i], fired[i]
        levels[at[slot]] = -(of_own[rule] if slot == own_slot else of_rule[rule])
        at[slot] += 1
    for slot in range(n):
        sort_keys(levels, offsets[slot], offsets[slot + 1])
    return Lists(offsets, levels)


@compiled_part
def make_empty_lists() -> Lists:
    """Where the whole order does not count."""
    return Lists(np.empty(0, np.int64), np.empty(0, np.int32))


@compiled_leaf_part
def compare_candidates(order: Order, a: int, b: int) -> int:
    """1 where candidate a is better than b, -1 where it is worse, 0 where nothing tells them apart."""
    if order.scores[a] != order.scores[b]:
        return 1 if order.scores[a] > order.scores[b] else -1
    side = compare_rule_levels(order.lists, a, b) if len(order.lists.offsets) > 0 else 0
    if side == 0:
        one, other = order.popularity[order.entities[a]], order.popularity[order.entities[b]]
        side = 1 if one > other else (-1 if one < other else 0)
    return side


@compiled_leaf_part
def compare_rule_levels(lists: Lists, a: int, b: int) -> int:
    """1 where candidate a is better than b under max_plus, -1 where it is worse, 0 where nothing tells them apart.

    The better one has the better best rule, then the better next one; one that has a rule more is better.
    """
    i, j = lists.offsets[a], lists.offsets[b]
    while i < lists.offsets[a + 1] and j < lists.offsets[b + 1]:
        if lists.levels[i] != lists.levels[j]:
            return 1 if lists.levels[i] < lists.levels[j] else -1
        i += 1
        j += 1
    if i == lists.offsets[a + 1] and j == lists.offsets[b + 1]:
        return 0
    return -1 if i == lists.offsets[a + 1] else 1
