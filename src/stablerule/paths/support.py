"""How often bodies link pairs of entities, and which relations hold for those pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import NOTHING, compiled
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.trail import CAP, LONG_CAP, SEEN, Trail, follow_body, make_trail, reset_trail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Stepped
    from stablerule.graph.triples import Ids, Offsets
    from stablerule.paths.withheld import ExampleFacts

# Base rates serve for an order, so that some pairs of some heads are enough for them.
PAIRS_A_HEAD, PAIRS_A_BODY = 16, 500


class SupportSums(NamedTuple):
    """Sums over the heads that were tried.

    For each body: pairs it links, and the squares of that number by head; heads with too many paths to follow all of
    them. For each conclusion of a body: pairs that it holds for; pairs whose head has any fact of the relation, and
    pairs whose tail has any fact of its inverse; and what to take off from the body's sums of pairs, because the pairs
    of a conclusion are those of its body without the ones for which it is withheld. For base rates: `looked` pairs were
    looked at, which represent `weighed` ones, and `common` is the sum of their base rates.
    """

    pairs: NDArray[np.float64]
    pairs_squared: NDArray[np.float64]
    capped: NDArray[np.float64]
    weighed: NDArray[np.float64]
    looked: NDArray[np.float64]
    support: NDArray[np.float64]
    head_has_some: NDArray[np.float64]
    tail_has_some: NDArray[np.float64]
    withheld_pairs: NDArray[np.float64]
    withheld_squared: NDArray[np.float64]
    common: NDArray[np.float64]

    @classmethod
    def begin(cls, bodies: int, conclusions: int) -> SupportSums:
        """Begin at zero."""
        return cls(*(np.zeros(bodies) for _ in range(5)), *(np.zeros(conclusions) for _ in range(6)))

    def part(self, bodies: slice, conclusions: slice) -> SupportSums:
        """Some bodies and their conclusions: sums that are added to the part are added to the whole."""
        return SupportSums(*(a[bodies] for a in self[:5]), *(a[conclusions] for a in self[5:]))


class Conclusions(NamedTuple):
    """The head relations of body b are relations[starts[b]:starts[b + 1]].

    ask_tails: whether to count `tail_has_some`. owners: (2R,) how many entities have an example of each relation.
    """

    starts: Offsets
    relations: Ids
    ask_tails: NDArray[np.bool_]
    owners: NDArray[np.int64]

    def part(self, bodies: slice) -> tuple[slice, Conclusions]:
        """Return where the conclusions of some bodies are, and these conclusions."""
        starts = self.starts[bodies.start : bodies.stop + 1]
        slots = slice(int(starts[0]), int(starts[-1]))
        return slots, self._replace(
            starts=starts - starts[0], relations=self.relations[slots], ask_tails=self.ask_tails[slots]
        )


def sum_body_support(
    graph: Graph,
    heads: Ids,
    bodies: Ids,
    turns: tuple[NDArray[np.int64], NDArray[np.int64]],
    conclusions: Conclusions,
    examples: ExampleFacts,
    sums: SupportSums,
) -> int:
    """Follow bodies from some heads and add to the sums; returns the number of edges looked at.

    bodies: (U, L) sorted, with one first relation, so that paths begin alike. turns: (U,) each, body b is followed from
    heads[first[b]:last[b]].
    """
    lengths = (bodies >= 0).sum(1)
    trail = make_trail(graph.n_entities, LONG_CAP)
    return int(
        _sum_support(
            graph.stepped,
            examples.facts.stepped,
            heads,
            bodies,
            lengths,
            *turns,
            conclusions,
            examples.withheld,
            trail,
            sums,
        )
    )


@compiled
def _sum_support(
    g: Stepped,
    e: Stepped,
    heads: Ids,
    bodies: Ids,
    lengths: NDArray[np.int64],
    turn_first: NDArray[np.int64],
    turn_last: NDArray[np.int64],
    of: Conclusions,
    withheld: NDArray[np.bool_],
    trail: Trail,
    sums: SupportSums,
) -> int:
    owners = of.owners
    entities, relations = len(g.offsets) - 1, len(owners) // 2
    link_to = np.full(entities, np.int64(-1))  # first link from the head to an entity
    slot_of = np.full(2 * relations, np.int64(-1))  # the conclusion of the current body with a head relation
    hits = np.zeros(len(of.relations), np.int64)
    limited = len(withheld) > 0
    left_out = np.zeros(len(of.relations) if limited else 0, np.int64)  # pairs whose conclusion is withheld
    for turn in range(turn_first.min(), turn_last.max()):
        head = heads[turn]
        low, high = g.offsets[head], g.offsets[head + 1]
        for link in range(low, high):
            if link == low or g.link_tails[link] != g.link_tails[link - 1]:
                link_to[g.link_tails[link]] = link
        reset_trail(trail)
        for body in range(len(bodies)):
            if turn < turn_first[body] or turn >= turn_last[body]:
                continue
            length, seen = lengths[body], trail.state[SEEN]
            n_reached = follow_body(g, relations, head, NOTHING, NOTHING, bodies[body], length, trail)
            if length > 3 and trail.state[SEEN] - seen >= trail.state[CAP]:
                sums.capped[body] += 1
            if n_reached == 0:
                continue
            reached = trail.first if length == 1 else (trail.second if length == 2 else trail.last)
            begin, end = of.starts[body], of.starts[body + 1]
            for slot in range(begin, end):
                slot_of[of.relations[slot]] = slot
            linked = 0
            for i in range(n_reached):
                tail = reached[i]
                if length >= 3 and trail.last_counts[tail] == 0:  # all its paths came back to where they had been
                    continue
                if linked < i:
                    reached[linked] = tail
                linked += 1
                link = link_to[tail]
                if link >= 0:
                    while link < high and g.link_tails[link] == tail:
                        slot = slot_of[g.link_relations[link]]
                        if slot >= 0:
                            if limited and withheld[link]:
                                left_out[slot] += 1
                                inverse = (of.relations[slot] + relations) % (2 * relations)
                                if of.ask_tails[slot] and has_some(e, tail, inverse):
                                    sums.tail_has_some[slot] -= 1
                            else:
                                hits[slot] += 1
                        link += 1
            sums.pairs[body] += linked
            sums.pairs_squared[body] += float(linked) * linked
            look = linked > 0 and sums.looked[body] < PAIRS_A_BODY
            stride = linked // PAIRS_A_HEAD + 1
            looks = (linked + stride - 1) // stride
            if look:
                sums.weighed[body] += linked
                sums.looked[body] += looks
            for slot in range(begin, end):
                relation = of.relations[slot]
                slot_of[relation] = -1
                held, own = hits[slot], linked
                hits[slot] = 0
                if limited and left_out[slot] > 0:
                    own -= left_out[slot]
                    left_out[slot] = 0
                    sums.withheld_pairs[slot] += linked - own
                    sums.withheld_squared[slot] += float(linked) * linked - float(own) * own
                sums.support[slot] += held
                if has_some(e, head, relation):
                    sums.head_has_some[slot] += own
                inverse = (relation + relations) % (2 * relations)
                if of.ask_tails[slot]:
                    some = 0
                    for i in range(linked):
                        some += has_some(e, reached[i], inverse)
                    sums.tail_has_some[slot] += some
                if look and owners[relation] > 0:
                    share = count_facts(e, head, relation) / owners[inverse]
                    common = 0.0
                    for i in range(0, linked, stride):
                        common += max(share, count_facts(e, reached[i], inverse) / owners[relation])
                    sums.common[slot] += common * linked / looks
        for link in range(low, high):
            link_to[g.link_tails[link]] = -1
    return int(trail.state[SEEN])


@compiled
def has_some(e: Stepped, entity: int, relation: int) -> bool:
    """Whether an entity has any fact of a relation."""
    return bool(e.step_words[relation, entity >> 6] >> np.uint64(entity & 63) & np.uint64(1))


@compiled
def count_facts(e: Stepped, entity: int, relation: int) -> int:
    """How many facts of a relation an entity has."""
    low, high = find_relation_edges(e, entity, relation)
    return high - low
