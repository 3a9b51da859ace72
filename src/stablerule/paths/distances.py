"""Measure distances between entities, up to three steps: an upper bound for what rules of that length can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import OptionError
from stablerule.paths.compiling import compiled
from stablerule.paths.threads import count_cores, run_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.graph import Adjacency, Graph, Triples
    from stablerule.graph.triples import Ids

FARTHEST = 3
FAR = np.int8(FARTHEST + 1)


def measure_pair_distances(
    graph: Graph, heads: Ids, tails: Ids, *, progress: Callable[[int], None] | None = None
) -> NDArray[np.int8]:
    """Return the length of the shortest path from each head to its tail, over edges in any direction; 4 for more than
    3.

    The entities of a shortest path are distinct, so this is also the length of the shortest rule body that can link the
    pair. A pair of an entity with itself has no such path, and gets 4.

    >>> from stablerule.graph import Dataset
    >>> chain = [("a", "r", "b"), ("c", "r", "b"), ("c", "r", "d"), ("e", "r", "d")]
    >>> graph = Dataset.from_names("chain", train=chain).graph
    >>> measure_pair_distances(graph, np.array([0, 0, 0, 0, 0]), np.array([1, 2, 3, 4, 0])).tolist()
    [1, 2, 3, 4, 4]

    progress: called with the number of pairs just done, from several threads.
    """
    if len(heads) != len(tails):
        raise OptionError(
            f"Arguments 'heads' and 'tails' must have the same length, got {len(heads)} and {len(tails)}."
        )
    result = np.full(len(heads), FAR, np.int8)
    # Process pairs with the same tail together, so that the neighbours of the tail are marked once.
    order = np.argsort(tails, kind="stable")
    parts = np.array_split(order, max(1, min(len(order) // 64, 8 * count_cores())))

    def run(part: NDArray[np.int64]) -> None:
        result[part] = _measure_distances(graph.adjacency, heads[part].astype(np.int32), tails[part].astype(np.int32))
        if progress:
            progress(len(part))

    run_in_threads(run, parts)
    return result


def count_pairs_within(
    graph: Graph, triples: Triples, *, progress: Callable[[int], None] | None = None
) -> dict[int, int]:
    """Return how many of these triples have head and tail within 1, 2 and 3 steps in the graph."""
    distances = measure_pair_distances(graph, triples.heads, triples.tails, progress=progress)
    return {steps: int((distances <= steps).sum()) for steps in range(1, FARTHEST + 1)}


@compiled
def _measure_distances(g: Adjacency, heads: Ids, tails: Ids) -> NDArray[np.int8]:
    """Return the distances (n,); edges are stored in both directions, so neighbours of the tail are marked first."""
    offsets, neighbours = g.offsets, g.link_tails
    near = np.full(len(offsets) - 1, np.int32(-1))  # the tail that an entity is a neighbour of
    result = np.full(len(heads), np.int8(4))
    marked = -1
    for i in range(len(heads)):
        head, tail = heads[i], tails[i]
        if head == tail:
            continue
        if tail != marked:
            for e in range(offsets[tail], offsets[tail + 1]):
                near[neighbours[e]] = tail
            marked = tail
        if near[head] == tail:
            result[i] = 1
            continue
        steps = 4
        for e in range(offsets[head], offsets[head + 1]):
            middle = neighbours[e]
            if near[middle] == tail:
                steps = 2
                break
        if steps > 2:
            for e in range(offsets[head], offsets[head + 1]):
                middle = neighbours[e]
                for f in range(offsets[middle], offsets[middle + 1]):
                    if near[neighbours[f]] == tail:
                        steps = 3
                        break
                if steps == 3:
                    break
        result[i] = steps
    return result
