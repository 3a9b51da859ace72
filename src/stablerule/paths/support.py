"""How often bodies link pairs of entities, and which relations hold for those pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import NOTHING, compiled
from stablerule.paths.trail import LONG_CAP, SEEN, Trail, follow_body, make_trail, reset_trail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Stepped
    from stablerule.graph.triples import Ids, Offsets
    from stablerule.paths.withheld import ExampleFacts


class SupportSums(NamedTuple):
    """Sums over the heads that were tried.

    For each body: pairs it links, and the squares of that number by head. For each rule: pairs for which its head
    relation holds too, their squares by head, their product with the pairs of the rule, and the pairs of the rule
    whose head has any fact of the head relation; and what to take off from the body's two sums, because the pairs of a
    rule are those of its body without the ones whose conclusion is withheld.
    """

    pairs: NDArray[np.float64]
    pairs_squared: NDArray[np.float64]
    support: NDArray[np.float64]
    support_squared: NDArray[np.float64]
    support_pairs: NDArray[np.float64]
    partial_pairs: NDArray[np.float64]
    withheld_pairs: NDArray[np.float64]
    withheld_squared: NDArray[np.float64]

    @classmethod
    def begin(cls, bodies: int, rules: int) -> SupportSums:
        """Begin at zero."""
        return cls(np.zeros(bodies), np.zeros(bodies), *(np.zeros(rules) for _ in range(6)))


def sum_body_support(
    graph: Graph,
    heads: Ids,
    bodies: Ids,
    rule_starts: Offsets,
    rule_heads: Ids,
    examples: ExampleFacts,
    sums: SupportSums,
) -> int:
    """Try bodies from some heads and add to the sums; returns the number of edges looked at.

    bodies: (U, L) sorted, with one first relation, so that paths begin alike; the head relations of body b are
    rule_heads[rule_starts[b]:rule_starts[b + 1]].
    """
    lengths = (bodies >= 0).sum(1)
    rules = rule_starts, rule_heads, examples.withheld
    trail = make_trail(graph.n_entities, LONG_CAP)
    return int(_sum_support(graph.stepped, graph.n_relations, heads, bodies, lengths, *rules, trail, sums))


@compiled
def _sum_support(
    g: Stepped,
    relations: int,
    heads: Ids,
    bodies: Ids,
    lengths: NDArray[np.int64],
    rule_starts: Offsets,
    rule_heads: Ids,
    withheld: NDArray[np.bool_],
    trail: Trail,
    sums: SupportSums,
) -> int:
    entities = len(g.offsets) - 1
    link_to = np.full(entities, np.int64(-1))  # first link from the head to an entity
    has_relation = np.full(2 * relations, np.int32(-1))  # the last head that had a relation
    slot_of = np.full(2 * relations, np.int64(-1))  # the rule of the current body with a head relation
    hits = np.zeros(len(rule_heads), np.int64)
    limited = len(withheld) > 0
    left_out = np.zeros(len(rule_heads) if limited else 0, np.int64)  # pairs whose conclusion is withheld
    for head in heads:
        low, high = g.offsets[head], g.offsets[head + 1]
        for link in range(low, high):
            if link == low or g.link_tails[link] != g.link_tails[link - 1]:
                link_to[g.link_tails[link]] = link
            if not (limited and withheld[link]):
                has_relation[g.link_relations[link]] = head
        reset_trail(trail)
        for body in range(len(bodies)):
            length = lengths[body]
            n_reached = follow_body(g, relations, head, NOTHING, NOTHING, bodies[body], length, trail)
            reached = trail.first if length == 1 else (trail.second if length == 2 else trail.last)
            begin, end = rule_starts[body], rule_starts[body + 1]
            for rule in range(begin, end):
                slot_of[rule_heads[rule]] = rule
            linked = 0
            for i in range(n_reached):
                tail = reached[i]
                if length >= 3 and trail.last_counts[tail] == 0:  # all its paths came back to where they had been
                    continue
                linked += 1
                link = link_to[tail]
                if link >= 0:
                    while link < high and g.link_tails[link] == tail:
                        slot = slot_of[g.link_relations[link]]
                        if slot >= 0:
                            if limited and withheld[link]:
                                left_out[slot] += 1
                            else:
                                hits[slot] += 1
                        link += 1
            sums.pairs[body] += linked
            sums.pairs_squared[body] += float(linked) * linked
            for rule in range(begin, end):
                held, own = hits[rule], linked
                hits[rule] = 0
                slot_of[rule_heads[rule]] = -1
                if limited and left_out[rule] > 0:
                    own -= left_out[rule]
                    left_out[rule] = 0
                    sums.withheld_pairs[rule] += linked - own
                    sums.withheld_squared[rule] += float(linked) * linked - float(own) * own
                sums.support[rule] += held
                sums.support_squared[rule] += float(held) * held
                sums.support_pairs[rule] += float(held) * own
                if has_relation[rule_heads[rule]] == head:
                    sums.partial_pairs[rule] += own
        for link in range(low, high):
            link_to[g.link_tails[link]] = -1
    return int(trail.state[SEEN])
