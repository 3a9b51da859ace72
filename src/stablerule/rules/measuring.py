"""Measure rules on a graph: support, confidence and others, exactly as far as the budget allows.

A confidence measured on a sample of heads has an interval for the confidence on all heads. Each body is counted once
for all its rules, from the faster end.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtrit

from stablerule.errors import OptionError
from stablerule.paths.support import (
    Conclusions,
    SupportSums,
    count_relation_heads,
    estimate_body_costs,
    sum_body_support,
)
from stablerule.paths.threads import run_in_threads
from stablerule.paths.withheld import ExampleFacts
from stablerule.progress import progress_bar
from stablerule.rules.scored import PESSIMISM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.progress import Advance

    Numbers = NDArray[np.float64]
    Places = NDArray[np.int64]

LEVEL = 0.95
FEWEST_HEADS = 64
TOP_OF_ALL, TOP_OF_RELATION = 100, 10  # best rules to measure exactly
FEW_PAIRS = 100  # fewer pairs in a sample are too few for an estimate


@dataclass(frozen=True)
class Statistics:
    """The measures of rules, an array (n,) each.

    support: number of pairs that the body and the head relation link. body_count: number of pairs that the body links.
    confidence: support / (body_count + 5). pca_confidence: the same, counting only pairs whose head has a fact of the
    head relation. head_coverage: support / number of facts of the head relation. base_rate: the share of pairs that
    would be correct with one end replaced by a random one, see `ScoredRule`. heads_tried: share of the possible heads
    that were tried, 1 if exact. If it is below 1, support and body count are scaled up, while both confidences are
    those of the sampled pairs, and confidence_low and confidence_high are a 95% interval of the confidence on all
    heads. If it is 1, both are the confidence itself.

    If some facts are not examples, the facts of the head relation are its examples, and pairs that another fact of it
    links are left out of every measure.
    """

    support: NDArray[np.float64]
    body_count: NDArray[np.float64]
    confidence: NDArray[np.float64]
    pca_confidence: NDArray[np.float64]
    head_coverage: NDArray[np.float64]
    base_rate: NDArray[np.float64]
    confidence_low: NDArray[np.float64]
    confidence_high: NDArray[np.float64]
    heads_tried: NDArray[np.float64]


def measure_rules(
    graph: Graph,
    bodies: Ids,
    heads: Ids,
    *,
    examples: ExampleFacts | None = None,
    among: Ids | None = None,
    budget: float | None = 2e9,
    seed: int = 0,
    threads: int | None = None,
) -> Statistics:
    """Measure chain rules on a graph, on paths that visit no entity twice.

    A body and its inverse link the same pairs, so they are counted once, from the faster end.

    bodies: (n, L) relation ids, padded with -1. heads: (n,) head relations. Each (body, head) must be distinct.
    examples: the facts that count as conclusions; None is all. A body links pairs along any fact.
    among: entities; only pairs and facts whose head is one of them count. None is all entities.
    budget: approximate number of edges to follow; None is no limit. If it is too small, half of it counts as many
        bodies as possible exactly and the others on a sample of heads. The other half then counts the best rules of the
        sample exactly, and those that may be among the best. Bodies of length 4 and 5 stop at 200,000 edges for one
        head, which then counts as not tried.

    >>> from stablerule.graph import Dataset
    >>> facts = [("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid")]
    >>> graph = Dataset.from_names("family", train=facts).graph
    >>> found = measure_rules(graph, np.array([[1, 1]]), np.array([0]))  # grandparent_of <- parent_of, parent_of
    >>> found.support.tolist(), found.body_count.tolist(), found.confidence.round(3).tolist()
    ([1.0], [1.0], [0.167])
    """
    bodies, heads = np.asarray(bodies, np.int32), np.asarray(heads, np.int32)
    if bodies.ndim != 2 or len(bodies) != len(heads):
        raise OptionError(f"Argument 'bodies' must be (rules, length) with one head each, got {bodies.shape}.")
    if not len(heads):
        return Statistics(*(np.zeros(0) for _ in fields(Statistics)))
    survey = Survey.of(graph, bodies, heads, examples or ExampleFacts.all_of(graph), among, seed)
    needed, limit = survey.costs.sum(), np.inf if budget is None else budget
    with progress_bar("measuring rules", min(needed, limit)) as advance:
        if needed <= limit:
            survey.count(survey.possible, advance, threads)
            return _make_statistics(survey)
        survey.count(_divide_measuring_budget(survey, limit / 2), advance, threads)
        found = _make_statistics(survey)
        for find_wanted in (_find_best_rules, _find_possibly_best_rules, _find_rare_rules):
            while len(chosen := survey.afford(find_wanted(found, heads), limit)):
                until = survey.tried.copy()
                until[chosen] = survey.possible[chosen]
                survey.count(until, advance, threads)
                found = _make_statistics(survey)
    return found


def _make_statistics(survey: Survey) -> Statistics:
    seen, tried, possible = survey.collect(), survey.tried[survey.body_of], survey.possible[survey.body_of]
    scale = np.maximum(possible, 1) / np.maximum(tried, 1)
    low, high = bound_confidence(seen.support, seen.pairs, seen.pairs_squared, seen.complete, possible)
    return Statistics(
        support=seen.support * scale,
        body_count=seen.pairs * scale,
        confidence=seen.support / (seen.pairs + PESSIMISM),
        pca_confidence=seen.support / (seen.partial_pairs + PESSIMISM),
        head_coverage=seen.support * scale / np.maximum(survey.facts, 1),
        base_rate=seen.base_rate,
        confidence_low=low,
        confidence_high=high,
        heads_tried=np.where(possible > 0, seen.complete / np.maximum(possible, 1), 1.0),
    )


def _divide_measuring_budget(survey: Survey, budget: float) -> NDArray[np.int64]:
    """Return how many heads to try: bodies with few edges are counted exactly, the others share the rest equally."""
    costs, possible = survey.costs, survey.possible
    ascending = np.sort(costs)
    cheaper = np.cumsum(ascending) - ascending  # the total cost of all cheaper bodies
    each = (budget - cheaper) / np.arange(len(costs), 0, -1)  # the budget left for each of the others
    share = each[np.argmax(ascending > each)] / costs
    wanted = np.maximum(FEWEST_HEADS, share * possible).astype(np.int64)
    return np.asarray(np.minimum(possible, wanted), np.int64)


def _find_best_rules(found: Statistics, heads: Ids) -> NDArray[np.int64]:
    """Return sampled rules that are among the best overall or of their relation."""
    return _find_sampled_top_rules(found, heads, found.confidence)


def _find_possibly_best_rules(found: Statistics, heads: Ids) -> NDArray[np.int64]:
    """Return sampled rules that may be among the best overall or of their relation, by their upper bound."""
    return _find_sampled_top_rules(found, heads, found.confidence_high)


def _find_sampled_top_rules(found: Statistics, heads: Ids, value: NDArray[np.float64]) -> NDArray[np.int64]:
    order = np.lexsort((-found.confidence, -value))
    by_relation = order[np.argsort(heads[order], kind="stable")]
    ranks = np.arange(len(heads)) - np.searchsorted(heads[by_relation], heads[by_relation])
    top = np.zeros(len(heads), bool)
    top[order[:TOP_OF_ALL]] = True
    top[by_relation[ranks < TOP_OF_RELATION]] = True
    return order[(top & (found.heads_tried < 1))[order]]


def _find_rare_rules(found: Statistics, _: Ids) -> NDArray[np.int64]:
    """Return sampled rules with few sampled pairs, the fewest first."""
    seen = found.body_count * found.heads_tried
    order = np.argsort(seen, kind="stable")
    return order[((found.heads_tried < 1) & (seen < FEW_PAIRS))[order]]


def bound_confidence(
    support: Numbers, pairs: Numbers, pairs_squared: Numbers, tried: Places, possible: Places
) -> tuple[Numbers, Numbers]:
    """Return the 95% interval of the confidence on all heads, from the heads tried; all arrays (n,).

    support, pairs: counts in the sample. pairs_squared: the sum over heads of their squared number of pairs.

    Pairs of one head are correlated, so n pairs have the effective sample size n ** 2 / (sum of squares) (Kish). It is
    increased if few heads are left to try (finite population). Wilson's interval has a positive width even if all pairs
    agree, and Student's quantile accounts for few heads. The lower bound is reduced by the 5 of the confidence, with
    the least number of pairs that there may be.

    >>> one = np.ones(1)
    >>> tried, possible = np.array([10]), np.array([60])
    >>> low, high = bound_confidence(7 * one, 7 * one, 7 * one, tried, possible)  # 7 of 7 pairs, one of each head
    >>> low.round(2).tolist(), high.tolist()
    ([0.49], [1.0])
    """
    unseen = (possible - tried) / np.maximum(possible, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = support / pairs
        independent = pairs**2 / pairs_squared
        z = stdtrit(np.maximum(independent - 1, 1), (1 + LEVEL) / 2)
        worth = independent / unseen
        middle = rate + z**2 / (2 * worth)
        half = z * np.sqrt(rate * (1 - rate) / worth + z**2 / (4 * worth**2))
        low, high = ((middle - half) / (1 + z**2 / worth), (middle + half) / (1 + z**2 / worth))
        spread = np.maximum(pairs_squared - pairs**2 / tried, 0) / np.maximum(tried - 1, 1)
        all_pairs = possible * (pairs / tried)
        at_least = np.maximum(pairs, all_pairs - 2 * possible * np.sqrt(spread / tried * unseen))
    nothing = (pairs <= 0) | (tried <= 0)
    low = np.where(nothing, 0.0, np.clip(low, 0, 1) * at_least / (at_least + PESSIMISM))
    high = np.where(nothing, 1.0, np.clip(high, 0, 1))
    seen, complete = support / (pairs + PESSIMISM), tried == possible
    return np.where(complete, seen, np.minimum(low, seen)), np.where(complete, seen, high)


class Seen(NamedTuple):
    """The counts of each rule (n,) on the heads tried; see `Statistics`."""

    support: Numbers
    pairs: Numbers
    pairs_squared: Numbers
    partial_pairs: Numbers
    base_rate: Numbers
    complete: Places  # heads tried completely


@dataclass(eq=False)
class Survey:
    """Bodies with their conclusions, and the counts so far.

    A body and its inverse link the same pairs, so only one of the two is followed, from its own heads.

    bodies: (U, L), sorted. costs: (U,) approximate number of edges for counting all pairs. heads_of: for each relation,
    its heads in random order. possible, tried: (U,) number of heads. body_of, slot_of: (n,) the body and the conclusion
    of each rule. turned: (n,) whether the body is followed from the other end of the rule. facts: (n,) number of facts
    of the head relation.
    """

    graph: Graph
    examples: ExampleFacts
    bodies: Ids
    costs: Numbers
    heads_of: dict[int, Ids]
    possible: Places
    tried: Places
    body_of: Places
    slot_of: Places
    turned: NDArray[np.bool_]
    conclusions: Conclusions
    sums: SupportSums
    facts: Places

    @classmethod
    def of(cls, graph: Graph, bodies: Ids, heads: Ids, examples: ExampleFacts, among: Ids | None, seed: int) -> Survey:
        """Prepare rules; with `among`, only those heads count, and bodies are never turned."""
        relations = 2 * graph.n_relations
        chosen, body_of, turned, costs = _choose_ends_of_rules(graph, bodies, either=among is None)
        concluded = np.where(turned, (heads + graph.n_relations) % relations, heads)
        conclusions, slot_of = np.unique(body_of * relations + concluded, return_inverse=True)
        ask_tails = np.zeros(len(conclusions), np.bool_)
        ask_tails[slot_of[turned]] = True
        starts = np.searchsorted(conclusions, np.arange(len(chosen) + 1) * relations).astype(np.int64)
        heads_of = {
            first: np.random.default_rng([seed, first]).permutation(
                np.unique(_list_heads_of_rules(graph, first, among))
            )
            for first in np.unique(chosen[:, 0]).tolist()
        }
        possible = np.array([len(heads_of[first]) for first in chosen[:, 0].tolist()], np.int64)
        concluded_of, which = np.unique(heads, return_inverse=True)
        facts = np.array([len(_list_heads_of_rules(examples.facts, r, among)) for r in concluded_of.tolist()], np.int64)
        return cls(
            graph=graph,
            examples=examples,
            bodies=chosen,
            costs=costs + possible,
            heads_of=heads_of,
            possible=possible,
            tried=np.zeros(len(chosen), np.int64),
            body_of=body_of,
            slot_of=slot_of,
            turned=turned,
            conclusions=Conclusions(
                starts,
                (conclusions % relations).astype(np.int32),
                ask_tails,
                count_relation_heads(examples.facts),
            ),
            sums=SupportSums.begin(len(chosen), len(conclusions)),
            facts=facts[which],
        )

    def count(self, until: Places, advance: Advance, threads: int | None = None) -> None:
        """Follow each body from its next heads, up to a number of heads."""
        cuts = np.flatnonzero(np.diff(self.bodies[:, 0])) + 1
        ends = zip(np.append(0, cuts), np.append(cuts, len(self.bodies)), strict=True)
        parts = [slice(int(a), int(b)) for a, b in ends if (until[a:b] > self.tried[a:b]).any()]
        new = self._cost_of(until) - self._cost_of(self.tried)
        parts.sort(key=lambda part: -float(new[part].sum()))  # largest first, so that all cores finish together

        def run(part: slice) -> None:
            slots, some = self.conclusions.take_part(part)
            sum_body_support(
                self.graph,
                self.heads_of[int(self.bodies[part.start, 0])],
                self.bodies[part],
                (self.tried[part], until[part]),
                some,
                self.examples,
                self.sums.take_part(part, slots),
            )
            advance(float(new[part].sum()))

        run_in_threads(run, parts, threads=threads)
        self.tried = until

    def _cost_of(self, tried: Places) -> Numbers:
        return self.costs * (tried / np.maximum(self.possible, 1))

    def afford(self, rules: Places, budget: float) -> Places:
        """Return the bodies of some rules, in order, that can be counted exactly within the rest of a budget."""
        _, first = np.unique(self.body_of[rules], return_index=True)
        bodies = self.body_of[rules][np.sort(first)]
        spent = self._cost_of(self.tried)
        missing, left = (self.costs - spent)[bodies], budget - spent.sum()
        chosen = []
        for body, cost in zip(bodies.tolist(), missing.tolist(), strict=True):
            if self.tried[body] < self.possible[body] and cost <= left:
                chosen.append(body)
                left -= cost
        return np.array(chosen, np.int64)

    def collect(self) -> Seen:
        """Return the counts by rule."""
        s, body, slot = self.sums, self.body_of, self.slot_of
        return Seen(
            support=s.support[slot],
            pairs=s.pairs[body] - s.withheld_pairs[slot],
            pairs_squared=s.pairs_squared[body] - s.withheld_squared[slot],
            partial_pairs=np.where(self.turned, s.tail_has_some[slot], s.head_has_some[slot]),
            base_rate=s.common[slot] / np.maximum(s.weighed[body], 1),
            complete=(self.tried - s.capped.astype(np.int64))[body],
        )


def _list_heads_of_rules(graph: Graph, relation: int, among: Ids | None) -> Ids:
    """Return the head of each fact of a relation or inverse."""
    heads, _ = graph.facts(relation)
    return heads if among is None else heads[np.isin(heads, among)]


def _choose_ends_of_rules(graph: Graph, bodies: Ids, *, either: bool) -> tuple[Ids, Places, NDArray[np.bool_], Numbers]:
    """Return the bodies to follow, the body of each rule, whether it is turned, and the cost of each body."""
    distinct, which = np.unique(bodies, axis=0, return_inverse=True)
    if not either:
        return distinct, which.ravel(), np.zeros(len(bodies), bool), estimate_body_costs(graph, distinct)
    both, place = np.unique(np.concatenate([distinct, _turn_rules_round(distinct, graph)]), axis=0, return_inverse=True)
    costs = estimate_body_costs(graph, both)
    here, there = place.reshape(2, -1)
    # For equal costs choose the first, so that a body and its inverse choose the same.
    turned = (costs[there] < costs[here]) | ((costs[there] == costs[here]) & (there < here))
    chosen, body_of = np.unique(np.where(turned, there, here), return_inverse=True)
    return np.ascontiguousarray(both[chosen]), body_of[which.ravel()], turned[which.ravel()], costs[chosen]


def _turn_rules_round(bodies: Ids, graph: Graph) -> Ids:
    """Return the inverse bodies, from the tails to the heads."""
    places = (bodies >= 0).sum(1)[:, None] - 1 - np.arange(bodies.shape[1])
    steps = np.take_along_axis(bodies, np.maximum(places, 0), axis=1)
    turned = (steps + graph.n_relations) % (2 * graph.n_relations)
    return np.where(places >= 0, turned, -1).astype(np.int32)
