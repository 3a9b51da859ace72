"""Where a body leads from an entity, by paths whose entities are distinct (object identity).

Up to length 3 paths are counted level by level, without walking each one. Leaving out the start and self-loops at
every step leaves one kind of path with a repeated entity, x -> a -> b -> a, and those are counted apart and taken off.
Longer bodies are enumerated, up to a cap.

Every function works on a scratch: `counts` (E,) is zero before and after, `found` (E,) lists where it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Adjacency
    from stablerule.graph.triples import Ids


@compiled
def edges_between(g: Adjacency, entity: int, relation: int) -> tuple[int, int]:
    """Find the edges of one relation at an entity: they stand at low..high."""
    low, end = g.offsets[entity], g.offsets[entity + 1]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if g.edge_relations[middle] < relation:
            low = middle + 1
        else:
            high = middle
    start, high = low, end
    # Most relations have few edges at an entity: look nearby first, then in growing steps.
    step = 1
    while low < high and g.edge_relations[min(low + step, high) - 1] == relation:
        low = min(low + step, high)
        step *= 2
    high = min(low + step, high)
    while low < high:
        middle = (low + high) >> 1
        if g.edge_relations[middle] <= relation:
            low = middle + 1
        else:
            high = middle
    return start, low


@compiled
def reach_one(g: Adjacency, start: int, relation: int, found: Ids) -> tuple[int, int]:
    """Take one step; returns how many entities were found and how many edges were looked at."""
    low, high = edges_between(g, start, relation)
    size = 0
    for edge in range(low, high):
        if g.edge_tails[edge] != start:
            found[size] = g.edge_tails[edge]
            size += 1
    return size, high - low


@compiled
def reach_next(
    g: Adjacency,
    start: int,
    relation: int,
    before: Ids,
    n_before: int,
    counts_before: NDArray[np.int64],
    found: Ids,
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Take one more step from all of `before`, with their path counts (none given: one path each)."""
    size, seen = 0, 0
    plain = len(counts_before) == 0
    for i in range(n_before):
        here = before[i]
        paths = np.int64(1) if plain else counts_before[here]
        low, high = edges_between(g, here, relation)
        seen += high - low + 1
        for edge in range(low, high):
            tail = g.edge_tails[edge]
            if tail != start and tail != here:
                if counts[tail] == 0:
                    found[size] = tail
                    size += 1
                counts[tail] += paths
    return size, seen


@compiled
def take_off_returns(
    g: Adjacency,
    start: int,
    second: int,
    third: int,
    relations: int,
    firsts: Ids,
    n_firsts: int,
    counts: NDArray[np.int64],
) -> int:
    """Take the paths start -> a -> b -> a off the count of a, for each a; returns the edges looked at."""
    seen = 0
    back = (third + relations) % (2 * relations)
    for i in range(n_firsts):
        first = firsts[i]
        if counts[first] == 0:
            continue
        # b must be reached from a by `second`, and a from b by `third`: both lists are sorted.
        one, one_end = edges_between(g, first, second)
        two, two_end = edges_between(g, first, back)
        seen += one_end - one + two_end - two
        while one < one_end and two < two_end:
            a, b = g.edge_tails[one], g.edge_tails[two]
            if a == b:
                if a != start and a != first:
                    counts[first] -= 1
                one += 1
                two += 1
            elif a < b:
                one += 1
            else:
                two += 1
    return seen


@compiled
def reach_by_enumeration(
    g: Adjacency,
    start: int,
    body: Ids,
    length: int,
    cap: int,
    found: Ids,
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Walk every path of a body with distinct entities, up to `cap` edges; more than that ends the count early."""
    at = np.empty(length + 1, np.int64)  # the next edge to take from each entity of the path
    end = np.empty(length + 1, np.int64)
    path = np.empty(length + 1, np.int32)
    path[0] = start
    at[0], end[0] = edges_between(g, start, body[0])
    depth, size, seen = 0, 0, 0
    while depth >= 0 and seen < cap:
        if at[depth] == end[depth]:
            depth -= 1
            continue
        tail = g.edge_tails[at[depth]]
        at[depth] += 1
        seen += 1
        again = False
        for i in range(depth + 1):
            if path[i] == tail:
                again = True
        if again:
            continue
        if depth + 1 == length:
            if counts[tail] == 0:
                found[size] = tail
                size += 1
            counts[tail] += 1
        else:
            depth += 1
            path[depth] = tail
            at[depth], end[depth] = edges_between(g, tail, body[depth])
    return size, seen
