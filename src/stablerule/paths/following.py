"""Scores of entities by the paths that bodies lead along: the forward chaining of the paper's appendix C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.compiling import compiled
from stablerule.paths.firing import LONG_CAP
from stablerule.paths.reach import reach_by_enumeration, reach_next, reach_one, take_off_returns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Adjacency, Graph
    from stablerule.graph.triples import Ids


def follow(graph: Graph, head: int, bodies: Ids, weights: NDArray[np.float64]) -> tuple[Ids, NDArray[np.float64]]:
    """Sum weight * number of paths over bodies, for every entity that one of them reaches from a head.

    bodies: (n, L), filled with -1 at the end, in any order; weights: (n,). Paths have distinct entities. Entities come
    sorted by id.
    """
    order = np.lexsort(bodies.T[::-1])  # bodies that begin alike stand together, and share their beginnings
    bodies = np.ascontiguousarray(bodies[order], dtype=np.int32)
    lengths = (bodies >= 0).sum(1)
    scores = _follow(graph.adjacency, graph.n_relations, head, bodies, lengths, weights[order], LONG_CAP)
    reached = np.flatnonzero(scores).astype(np.int32)
    return reached, scores[reached]


@compiled
def _follow(
    g: Adjacency,
    relations: int,
    start: int,
    bodies: Ids,
    lengths: NDArray[np.int64],
    weights: NDArray[np.float64],
    cap: int,
) -> NDArray[np.float64]:
    entities = len(g.offsets) - 1
    scores = np.zeros(entities)
    first, second, last = np.empty(entities, np.int32), np.empty(entities, np.int32), np.empty(entities, np.int32)
    second_counts, last_counts = np.zeros(entities, np.int64), np.zeros(entities, np.int64)
    no_counts = np.empty(0, np.int64)
    n_first, n_second, now_first, now_second = 0, 0, -1, -1
    for body in range(len(bodies)):
        length, weight = lengths[body], weights[body]
        if length > 3:
            n_last, _ = reach_by_enumeration(g, start, bodies[body], length, cap, last, last_counts)
        else:
            if bodies[body, 0] != now_first:
                now_first, now_second = bodies[body, 0], -1
                n_first, _ = reach_one(g, start, now_first, first)
            if length == 1:
                for i in range(n_first):
                    scores[first[i]] += weight
                continue
            if bodies[body, 1] != now_second:
                for i in range(n_second):
                    second_counts[second[i]] = 0
                now_second = bodies[body, 1]
                n_second, _ = reach_next(g, start, now_second, first, n_first, no_counts, second, second_counts)
            if length == 2:
                for i in range(n_second):
                    scores[second[i]] += weight * second_counts[second[i]]
                continue
            third = bodies[body, 2]
            n_last, _ = reach_next(g, start, third, second, n_second, second_counts, last, last_counts)
            take_off_returns(g, start, now_second, third, relations, first, n_first, last_counts)
        for i in range(n_last):
            scores[last[i]] += weight * last_counts[last[i]]
            last_counts[last[i]] = 0
    return scores
