"""Count the pairs that bodies link, and the relations that link the same pairs.

The cost of counting the pairs of a body is estimated from degrees before.
"""

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

# Base rates are only used for sorting, so a sample of pairs and heads is enough.
PAIRS_A_HEAD, PAIRS_A_BODY = 16, 500


class SupportSums(NamedTuple):
    """Sums over the heads tried.

    For each body: the number of pairs that it links, the sum of its squares by head, and the number of heads with too
    many paths to follow. For each conclusion of a body: the pairs that it links as well; the pairs whose head has a
    fact of the relation, and those whose tail has a fact of its inverse; and the corrections of the body's sums for
    pairs whose conclusion is withheld. For base rates: `looked` pairs are a sample of `weighed` pairs, and `common` is
    the sum of their base rates.
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
        """Return sums of zero."""
        return cls(*(np.zeros(bodies) for _ in range(5)), *(np.zeros(conclusions) for _ in range(6)))

    def take_part(self, bodies: slice, conclusions: slice) -> SupportSums:
        """Return views of the sums of some bodies and conclusions; changes to them change the whole."""
        return SupportSums(*(a[bodies] for a in self[:5]), *(a[conclusions] for a in self[5:]))


class Conclusions(NamedTuple):
    """The head relations of body b are relations[starts[b]:starts[b + 1]].

    ask_tails: whether to count `tail_has_some`. owners: (2R,) the number of entities with an example of each relation.
    """

    starts: Offsets
    relations: Ids
    ask_tails: NDArray[np.bool_]
    owners: NDArray[np.int64]

    def take_part(self, bodies: slice) -> tuple[slice, Conclusions]:
        """Return the slice of the conclusions of some bodies, and these conclusions."""
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
    """Follow bodies from some heads and add to the sums; return the number of edges followed.

    bodies: (U, L) sorted, all with the same first relation, so that they share first steps. turns: (U,) each, body b is
    followed from heads[first[b]:last[b]].
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
                if length >= 3 and trail.last_counts[tail] == 0:  # all its paths visit an entity twice
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
                                if of.ask_tails[slot] and has_some_edge(e, tail, inverse):
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
                if has_some_edge(e, head, relation):
                    sums.head_has_some[slot] += own
                inverse = (relation + relations) % (2 * relations)
                if of.ask_tails[slot]:
                    some = 0
                    for i in range(linked):
                        some += has_some_edge(e, reached[i], inverse)
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
def has_some_edge(e: Stepped, entity: int, relation: int) -> bool:
    """Return whether an entity has a fact of a relation."""
    return bool(e.step_words[relation, entity >> 6] >> np.uint64(entity & 63) & np.uint64(1))


@compiled
def count_facts(e: Stepped, entity: int, relation: int) -> int:
    """Return the number of facts of a relation of an entity."""
    low, high = find_relation_edges(e, entity, relation)
    return high - low


class Facts(NamedTuple):
    """The facts of a graph by relation, without inverses; at most `most` of each are sampled."""

    offsets: Offsets
    heads: Ids
    tails: Ids
    most: int


def count_relation_heads(graph: Graph) -> NDArray[np.int64]:
    """Return the number of entities with a fact of each relation and inverse (2R,)."""
    first_blocks = np.append(graph.steps.step_ranks[:, :1].ravel(), len(graph.steps.step_starts) - 1)
    return np.diff(first_blocks).astype(np.int64)


def estimate_body_costs(graph: Graph, bodies: Ids, most_facts: int = 10_000) -> NDArray[np.float64]:
    """Estimate how many edges the last step of each body follows, from all entities where the body starts.

    bodies: (U, L), padded with -1, sorted so that bodies with the same first steps are adjacent: these steps are shared
    and cost less. Up to length 3 an entity is reached from each start once; longer bodies are enumerated path by path.
    The estimate is deterministic, so a sample whose size depends on it is not biased.

    most_facts: of larger relations, only every second, third, ... fact is used.
    """
    if not len(bodies):
        return np.zeros(0)
    facts = Facts(graph.fact_offsets, graph.fact_heads, graph.fact_tails, most_facts)
    lengths, owners = (bodies >= 0).sum(1), count_relation_heads(graph)
    found: NDArray[np.float64] = _estimate_path_costs(graph.stepped, facts, graph.n_relations, bodies, lengths, owners)
    return found


def count_path_edges(graph: Graph, bodies: Ids, heads: int, seed: int = 0) -> NDArray[np.float64]:
    """Follow bodies (U, L) from a few of the entities where they begin; return (U,) the edges looked at from one.

    What degrees promise is more than what is looked at: nothing goes beyond the cap of a long body.
    """
    random, starts = np.random.default_rng(seed), np.empty((len(bodies), heads), np.int32)
    for body, some in zip(bodies[:, 0].tolist(), starts, strict=True):
        some[:] = random.choice(graph.facts(body)[0], heads)
    trail = make_trail(graph.n_entities, LONG_CAP)
    found: NDArray[np.float64] = _follow_some(
        graph.stepped, graph.n_relations, bodies, (bodies >= 0).sum(1), starts, trail
    )
    return found


@compiled
def _follow_some(
    g: Stepped, relations: int, bodies: Ids, lengths: NDArray[np.int64], starts: Ids, trail: Trail
) -> NDArray[np.float64]:
    edges = np.zeros(len(bodies))
    for b in range(len(bodies)):
        before = trail.state[SEEN]
        for start in starts[b]:
            reset_trail(trail)
            follow_body(g, relations, start, NOTHING, NOTHING, bodies[b], lengths[b], trail)
        edges[b] = (trail.state[SEEN] - before) / starts.shape[1]
    return edges


@compiled
def _take_step_along_path(
    facts: Facts,
    relations: int,
    relation: int,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    reached: Ids,
    n_reached: int,
) -> int:
    """Count the paths that end at each entity after one more step; return the number of entities.

    before: (E,) paths so far, or (0,) for one path from every entity. after, reached, n_reached: are overwritten.
    """
    for i in range(n_reached):
        after[reached[i]] = 0
    source = relation % relations
    low, high = facts.offsets[source], facts.offsets[source + 1]
    stride, size = (high - low) // facts.most + 1, 0
    for fact in range(low, high, stride):
        here, there = facts.heads[fact], facts.tails[fact]
        if relation >= relations:
            here, there = there, here
        paths = stride * (before[here] if len(before) else 1.0)
        if paths > 0:
            if after[there] == 0:
                reached[size] = there
                size += 1
            after[there] += paths
    return size


@compiled
def _estimate_last_step_of_path(
    g: Stepped, relation: int, ways: NDArray[np.float64], reached: Ids, n_reached: int, most: float
) -> float:
    """Return the number of edges that one more step follows, plus one for each entity before it."""
    cost = 0.0
    for i in range(n_reached):
        low, high = find_relation_edges(g, reached[i], relation)
        cost += min(ways[reached[i]], most) * (high - low + 1)
    return cost


@compiled
def _estimate_path_costs(
    g: Stepped,
    facts: Facts,
    relations: int,
    bodies: Ids,
    lengths: NDArray[np.int64],
    owners: NDArray[np.int64],
) -> NDArray[np.float64]:
    entities = len(g.offsets) - 1
    everywhere = np.empty(0)
    after_one, after_two, odd, even = (np.zeros(entities), np.zeros(entities), np.zeros(entities), np.zeros(entities))
    one, two = np.empty(entities, np.int32), np.empty(entities, np.int32)
    at_odd, at_even = np.empty(entities, np.int32), np.empty(entities, np.int32)
    n_one, n_two, n_odd, n_even = 0, 0, 0, 0
    first, second = -1, -1
    costs = np.zeros(len(bodies))
    for b in range(len(bodies)):
        body, length = bodies[b], lengths[b]
        if body[0] != first:
            n_one = _take_step_along_path(facts, relations, body[0], everywhere, after_one, one, n_one)
            first, second = body[0], -1
        if length == 1:
            costs[b] = facts.offsets[body[0] % relations + 1] - facts.offsets[body[0] % relations]
            continue
        if length == 2:
            costs[b] = _estimate_last_step_of_path(g, body[1], after_one, one, n_one, np.inf)
            continue
        if body[1] != second:
            n_two = _take_step_along_path(facts, relations, body[1], after_one, after_two, two, n_two)
            second = body[1]
        if length == 3:
            costs[b] = _estimate_last_step_of_path(g, body[2], after_two, two, n_two, float(owners[body[0]]))
            continue
        n_odd = _take_step_along_path(facts, relations, body[2], after_two, odd, at_odd, n_odd)
        cost = _estimate_last_step_of_path(g, body[2], after_two, two, n_two, np.inf)
        cost += _estimate_last_step_of_path(g, body[3], odd, at_odd, n_odd, np.inf)
        if length == 5:
            n_even = _take_step_along_path(facts, relations, body[3], odd, even, at_even, n_even)
            cost += _estimate_last_step_of_path(g, body[4], even, at_even, n_even, np.inf)
        costs[b] = min(cost, float(owners[body[0]]) * LONG_CAP)
    return costs
