"""What it costs to count the pairs that a body links, estimated from degrees before anything is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import compiled
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.trail import LONG_CAP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Stepped
    from stablerule.graph.triples import Ids, Offsets


class Facts(NamedTuple):
    """The facts of a graph by relation, inverses not counted; `most` of each are looked at."""

    offsets: Offsets
    heads: Ids
    tails: Ids
    most: int


def count_relation_heads(graph: Graph) -> NDArray[np.int64]:
    """(2R,): how many entities have a fact of each relation and inverse."""
    first_blocks = np.append(graph.steps.step_ranks[:, :1].ravel(), len(graph.steps.step_starts) - 1)
    return np.diff(first_blocks).astype(np.int64)


def estimate_body_costs(graph: Graph, bodies: Ids, most_facts: int = 10_000) -> NDArray[np.float64]:
    """Estimate how many edges the last step of each body looks at, from all entities where the body begins.

    bodies: (U, L), filled with -1 at the end, sorted so that bodies that begin alike follow each other: the steps
    before the last are shared and cost less. Up to length 3 an entity is reached from each beginning once; longer
    bodies are enumerated, path by path. Degrees decide, and no chance: a sample whose size depends on its cost is not
    biased by it.

    most_facts: of a relation with as many facts or more, every second one is looked at, every third one, ...
    """
    if not len(bodies):
        return np.zeros(0)
    facts = Facts(graph.fact_offsets, graph.fact_heads, graph.fact_tails, most_facts)
    lengths, owners = (bodies >= 0).sum(1), count_relation_heads(graph)
    found: NDArray[np.float64] = _estimate_costs(graph.stepped, facts, graph.n_relations, bodies, lengths, owners)
    return found


@compiled
def _take_step(
    facts: Facts,
    relations: int,
    relation: int,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    reached: Ids,
    n_reached: int,
) -> int:
    """Count the paths that end at each entity after one more step; returns how many entities there are.

    before: (E,) paths so far, or (0,) for one path from everywhere. after, reached, n_reached: what is overwritten.
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
def _cost_last_step(
    g: Stepped, relation: int, ways: NDArray[np.float64], reached: Ids, n_reached: int, most: float
) -> float:
    """Edges that one more step looks at, and one for each entity that it is taken from."""
    cost = 0.0
    for i in range(n_reached):
        low, high = find_relation_edges(g, reached[i], relation)
        cost += min(ways[reached[i]], most) * (high - low + 1)
    return cost


@compiled
def _estimate_costs(
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
            n_one = _take_step(facts, relations, body[0], everywhere, after_one, one, n_one)
            first, second = body[0], -1
        if length == 1:
            costs[b] = facts.offsets[body[0] % relations + 1] - facts.offsets[body[0] % relations]
            continue
        if length == 2:
            costs[b] = _cost_last_step(g, body[1], after_one, one, n_one, np.inf)
            continue
        if body[1] != second:
            n_two = _take_step(facts, relations, body[1], after_one, after_two, two, n_two)
            second = body[1]
        if length == 3:
            costs[b] = _cost_last_step(g, body[2], after_two, two, n_two, float(owners[body[0]]))
            continue
        n_odd = _take_step(facts, relations, body[2], after_two, odd, at_odd, n_odd)
        cost = _cost_last_step(g, body[2], after_two, two, n_two, np.inf)
        cost += _cost_last_step(g, body[3], odd, at_odd, n_odd, np.inf)
        if length == 5:
            n_even = _take_step(facts, relations, body[3], odd, even, at_even, n_even)
            cost += _cost_last_step(g, body[4], even, at_even, n_even, np.inf)
        costs[b] = min(cost, float(owners[body[0]]) * LONG_CAP)
    return costs
