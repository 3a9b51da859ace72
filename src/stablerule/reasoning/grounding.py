"""The concrete paths behind a chain: walked one by one, and only where they can still arrive."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.reach import reach_next

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids

MOST_EDGES = 200_000  # looked at for one rule, before the walk is content with what it has


class Stepping:
    """Steps from many entities at once, never back to where it began; room for one graph."""

    def __init__(self, graph: Graph, begin: int) -> None:
        self.graph, self.begin = graph, begin
        self._found = np.empty(graph.n_entities, np.int32)
        self._counts = np.zeros(graph.n_entities, np.int64)

    def step(self, entities: Ids, relation: int) -> Ids:
        """Return where a relation leads from any of them, sorted."""
        none = np.empty(0, np.int64)
        n, _ = reach_next(
            self.graph.stepped, self.begin, relation, entities, len(entities), none, self._found, self._counts
        )
        found = np.sort(self._found[:n])
        self._counts[found] = 0
        return found

    def follow(self, body: tuple[int, ...]) -> Iterator[Ids]:
        """Yield what is reached after each step of a body, as long as there is anything."""
        here = np.array([self.begin], np.int32)
        for relation in body:
            here = self.step(here, relation)
            if not len(here):
                return
            yield here


class Paths:
    """Paths from one entity to another whose entities are distinct.

    Where the rest of a body can still lead to the end is found first, from the end backwards and for all rules that
    end alike; so a walk has hardly any blind alleys, and even between two hubs the first paths come at once.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("tiny", train=[("a", "r", "b"), ("a", "r", "c"), ("b", "s", "d")]).graph
    >>> list(Paths(graph, 0, 3).along((0, 1), most=3))
    [(0, 1, 3)]
    """

    def __init__(self, graph: Graph, start: int, end: int) -> None:
        self.graph, self.start, self.end = graph, start, end
        self.looked_at = 0  # edges, in the last walk
        self._stepping = Stepping(graph, start)
        self._before: dict[tuple[int, ...], Ids] = {(): np.array([end], np.int32)}

    def along(self, body: tuple[int, ...], most: int) -> Iterator[tuple[int, ...]]:
        """Yield up to `most` paths along a body of relation ids."""
        self.looked_at = 0
        return islice(self._walk((self.start,), body), most)

    def _walk(self, path: tuple[int, ...], rest: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not rest:
            yield path
            return
        tails = self.graph.tails(path[-1], rest[0])
        self.looked_at += len(tails)
        for tail in tails[_among(tails, self._leading_to_the_end(rest[1:]))].tolist():
            if tail in path:
                continue
            yield from self._walk((*path, tail), rest[1:])
            if self.looked_at > MOST_EDGES:
                return

    def _leading_to_the_end(self, body: tuple[int, ...]) -> Ids:
        """Entities from which a body leads to the end, sorted."""
        if body not in self._before:
            found = self._stepping.step(self._leading_to_the_end(body[1:]), self.graph.inverse(body[0]))
            self._before[body] = found[found != self.end]
        return self._before[body]


def _among(some: Ids, entities: Ids) -> NDArray[np.bool_]:
    """Tell which of some are among the entities; both are sorted."""
    if not len(entities):
        return np.zeros(len(some), np.bool_)
    at = np.minimum(np.searchsorted(entities, some), len(entities) - 1)
    return entities[at] == some  # type: ignore[no-any-return]
