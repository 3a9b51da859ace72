"""Which bodies lead anywhere at all from an entity: what a query shows of itself before its answer is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.compiling import NOTHING, compiled
from stablerule.paths.threads import run_in_threads
from stablerule.paths.trail import Trail, follow_body, make_trail, reset_trail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Stepped
    from stablerule.graph.triples import Ids, Offsets

CHUNK = 1024  # queries that a thread takes at a time


def find_leading_bodies(
    graph: Graph, heads: Ids, relations: Ids, bodies: Ids, starts: Offsets, *, threads: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each query (n,) try the bodies of its relation; return the pairs of query and body that lead somewhere.

    bodies: (B, L), filled with -1, sorted within a relation; those of relation r stand at starts[r]:starts[r + 1].
    """
    lengths = (bodies >= 0).sum(1)

    def run(first: int) -> NDArray[np.int64]:
        some = slice(first, first + CHUNK)
        trail = make_trail(graph.n_entities)
        found = _find_leading(
            graph.stepped, graph.n_relations, heads[some], relations[some], bodies, lengths, starts, trail
        )
        found[0] += first
        return found

    parts = run_in_threads(run, range(0, max(len(heads), 1), CHUNK), threads=threads)
    pairs = np.concatenate(parts, axis=1)
    return pairs[0], pairs[1]


@compiled
def _find_leading(
    g: Stepped,
    relations: int,
    heads: Ids,
    asked: Ids,
    bodies: Ids,
    lengths: NDArray[np.int64],
    starts: Offsets,
    trail: Trail,
) -> NDArray[np.int64]:
    found = np.empty((2, 1024), np.int64)
    size = 0
    for query in range(len(heads)):
        reset_trail(trail)
        for body in range(starts[asked[query]], starts[asked[query] + 1]):
            length = lengths[body]
            n = follow_body(g, relations, heads[query], NOTHING, NOTHING, bodies[body], length, trail)
            leads = n > 0
            if length >= 3 and leads:
                leads = False
                for i in range(n):
                    if trail.last_counts[trail.last[i]] > 0:
                        leads = True
                        break
            if leads:
                if size == found.shape[1]:
                    larger = np.empty((2, 2 * size), np.int64)
                    larger[:, :size] = found
                    found = larger
                found[0, size], found[1, size] = query, body
                size += 1
    reset_trail(trail)
    return found[:, :size]
