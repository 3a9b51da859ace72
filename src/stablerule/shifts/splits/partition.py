"""The entities of a graph in parts, between which few facts run."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph

# An entity without facts is in no part.
NOWHERE = -1


def grow_parts(graph: Graph, sizes: tuple[int, ...], rng: np.random.Generator, regions: int = 1) -> NDArray[np.int64]:
    """Give each entity a part; part p has sizes[p] entities, and together they have all that have facts.

    The last part grows along the facts from a few entities chosen at random, its regions, one after the other; then
    the part before it among what is left; and part 0 is the rest.

    >>> from stablerule.graph import Dataset
    >>> rings = [(f"{side}{i}", "next", f"{side}{(i + 1) % 4}") for side in "ab" for i in range(4)]
    >>> graph = Dataset.from_names("rings", train=[*rings, ("a0", "next", "b0")]).graph
    >>> parts = grow_parts(graph, (4, 4), np.random.default_rng(0))
    >>> len(set(parts[:4])), len(set(parts[4:]))
    (1, 1)
    """
    growing = _Growing(graph, rng)
    for part in range(len(sizes) - 1, 0, -1):
        # The sizes of the regions differ by at most one.
        for size in np.diff(np.arange(regions + 1) * sizes[part] // regions).tolist():
            growing.add_region(part, size)
    return np.array(growing.parts, np.int64)


class _Growing:
    """Parts while they grow, in lists, because single values of arrays are slow to reach."""

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        has_facts = graph.degrees > 0
        self.parts: list[int] = np.where(has_facts, 0, NOWHERE).tolist()
        self.order: list[int] = rng.permutation(np.flatnonzero(has_facts)).tolist()
        self.place = {entity: at for at, entity in enumerate(self.order)}
        self.offsets, self.neighbours = graph.offsets.tolist(), graph.link_tails.tolist()
        self.degrees = graph.degrees.tolist()
        self.starts = iter(self.order)

    def add_region(self, part: int, size: int) -> None:
        """Let a part grow by entities that are in no other.

        What joins next is always the entity that has the largest share of its facts in the region already: first what
        belongs to nothing else, and last what has facts everywhere. Those with the most facts in it instead would be
        the hubs, and leave the other parts without.
        """
        inside: dict[int, int] = {}  # facts between an entity and the region
        waiting: list[tuple[float, int, int]] = []
        for _ in range(size):
            entity = self._next(waiting, inside)
            if entity is None:  # it begins, or nothing hangs together with it any more
                entity = next(start for start in self.starts if self.parts[start] == 0)
            self.parts[entity] = part
            for neighbour in self.neighbours[self.offsets[entity] : self.offsets[entity + 1]]:
                if self.parts[neighbour] == 0:
                    inside[neighbour] = inside.get(neighbour, 0) + 1
                    share = inside[neighbour] / self.degrees[neighbour]
                    heapq.heappush(waiting, (-share, self.place[neighbour], neighbour))

    def _next(self, waiting: list[tuple[float, int, int]], inside: dict[int, int]) -> int | None:
        """Take the entity with the largest share inside; entries from before its share grew are passed over."""
        while waiting:
            share, _, entity = heapq.heappop(waiting)
            if self.parts[entity] == 0 and -share == inside[entity] / self.degrees[entity]:
                return entity
        return None


def share_by_chance(graph: Graph, sizes: tuple[int, ...]) -> float:
    """Share of the facts that parts of these sizes keep on average, where entities are dealt out at random.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("pairs", train=[("a", "r", "b"), ("c", "r", "d")]).graph
    >>> round(share_by_chance(graph, (2, 2)), 3)
    0.333
    """
    n = sum(sizes)
    both_ends = sum(size * (size - 1) for size in sizes) / (n * (n - 1)) if n > 1 else 1.0
    loops = float((graph.fact_heads == graph.fact_tails).mean())
    return loops + (1 - loops) * both_ends
