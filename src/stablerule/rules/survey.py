"""The bodies of many rules, each counted once and from the end where it costs less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.support import (
    Conclusions,
    SupportSums,
    count_relation_heads,
    estimate_body_costs,
    sum_body_support,
)
from stablerule.paths.threads import run_in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.paths.withheld import ExampleFacts
    from stablerule.progress import Advance

    Numbers = NDArray[np.float64]
    Places = NDArray[np.int64]


class Seen(NamedTuple):
    """What was seen of each rule (n,), on the heads that were tried; see `Statistics`."""

    support: Numbers
    pairs: Numbers
    pairs_squared: Numbers
    partial_pairs: Numbers
    base_rate: Numbers
    complete: Places  # heads, of those that were tried


@dataclass(eq=False)
class Survey:
    """Bodies with their conclusions, and what was counted so far.

    A body and its inverse link the same pairs, so that one of the two is followed, from its own heads.

    bodies: (U, L), sorted. costs: (U,) about how many edges counting all pairs looks at. heads_of: by relation, who has
    it, in a random order. possible, tried: (U,) heads. body_of, slot_of: (n,) the body and the conclusion of each rule;
    turned: (n,) whether the other end of the rule is where its body is followed from. facts: (n,) of its head relation.
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
        """Arrange rules; with `among`, only those heads count, and every body is followed from its own."""
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
        """Follow each body from its heads up to a place, from where it was left."""
        cuts = np.flatnonzero(np.diff(self.bodies[:, 0])) + 1
        ends = zip(np.append(0, cuts), np.append(cuts, len(self.bodies)), strict=True)
        parts = [slice(int(a), int(b)) for a, b in ends if (until[a:b] > self.tried[a:b]).any()]
        new = self._cost_of(until) - self._cost_of(self.tried)
        parts.sort(key=lambda part: -float(new[part].sum()))  # the longest work first, so that all cores end together

        def run(part: slice) -> None:
            slots, some = self.conclusions.part(part)
            sum_body_support(
                self.graph,
                self.heads_of[int(self.bodies[part.start, 0])],
                self.bodies[part],
                (self.tried[part], until[part]),
                some,
                self.examples,
                self.sums.part(part, slots),
            )
            advance(float(new[part].sum()))

        run_in_threads(run, parts, threads=threads)
        self.tried = until

    def _cost_of(self, tried: Places) -> Numbers:
        return self.costs * (tried / np.maximum(self.possible, 1))

    def afford(self, rules: Places, budget: float) -> Places:
        """Return the bodies of some rules, in their order, that can be counted exactly within what a budget leaves."""
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
        """Return what was seen, by rule."""
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
    """List the heads of the facts of a relation or inverse, as often as they have one."""
    heads, _ = graph.facts(relation)
    return heads if among is None else heads[np.isin(heads, among)]


def _choose_ends_of_rules(graph: Graph, bodies: Ids, *, either: bool) -> tuple[Ids, Places, NDArray[np.bool_], Numbers]:
    """Return the bodies to follow, which of them each rule has, whether it is turned round, and what each costs."""
    distinct, which = np.unique(bodies, axis=0, return_inverse=True)
    if not either:
        return distinct, which.ravel(), np.zeros(len(bodies), bool), estimate_body_costs(graph, distinct)
    both, place = np.unique(np.concatenate([distinct, _turn_rules_round(distinct, graph)]), axis=0, return_inverse=True)
    costs = estimate_body_costs(graph, both)
    here, there = place.reshape(2, -1)
    # Of equal ends the one that comes first, so that a body and its inverse choose the same.
    turned = (costs[there] < costs[here]) | ((costs[there] == costs[here]) & (there < here))
    chosen, body_of = np.unique(np.where(turned, there, here), return_inverse=True)
    return np.ascontiguousarray(both[chosen]), body_of[which.ravel()], turned[which.ravel()], costs[chosen]


def _turn_rules_round(bodies: Ids, graph: Graph) -> Ids:
    """Return the bodies that lead from the tails to the heads."""
    places = (bodies >= 0).sum(1)[:, None] - 1 - np.arange(bodies.shape[1])
    steps = np.take_along_axis(bodies, np.maximum(places, 0), axis=1)
    turned = (steps + graph.n_relations) % (2 * graph.n_relations)
    return np.where(places >= 0, turned, -1).astype(np.int32)
