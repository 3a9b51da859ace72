"""Which entities are of the kind that has a relation: those that lack it, but look like its heads by what they have.

How much an entity looks like a head of a relation r is read off its other relations s: the share of the entities with
s that have r as well, the entity itself not counted, in the mean over all s that it has. That is what r's own heads
would look like if their facts of r were missing. So an entity that lacks r is **of the kind** when it looks at least as
much like a head as nine of ten heads do. Whatever the graph, nine of ten heads whose facts of r are missing are found
again. A city without a country is of the kind of `city_in`; most cities are of that of `capital_of`, since its heads
look like other cities; a currency is of neither kind.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.graph import Graph
    from stablerule.graph.triples import Ids

MISSED = 0.1  # the share of heads that look less like one than what is of the kind
ROOM = 1 << 26  # bytes
TIE = 1e-9  # means of the same shares may differ by their last digits
PESSIMISM = 5  # entities that are counted as lacking a relation, so that few owners tell little


class EntityKinds:
    """The kinds of a graph's entities, by the relations and inverses that they have.

    >>> from stablerule.graph import Dataset
    >>> people = [fact for i in range(9) for fact in ((f"p{i}", "born_in", "Rome"), (f"p{i}", "works_as", "cook"))]
    >>> dataset = Dataset.from_names("people", train=[*people, ("Ann", "works_as", "cook")])
    >>> alike, words = dataset.graph.kinds.alike(0), dataset.vocabulary  # of born_in
    >>> [bool(alike[words.entity_id(name)]) for name in ("p0", "Ann", "Rome")]
    [True, True, False]
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # One pass over the graph for each relation: kept, as far as there is room.
        self.alike = lru_cache(max(8, ROOM // max(graph.n_entities, 1)))(self._find_alike)

    def _find_alike(self, relation: int) -> NDArray[np.bool_]:
        """Return (E,): whether each entity looks like a head of a relation or inverse by what else it has."""
        heads = np.unique(self.graph.facts(relation)[0])
        likeness = self._likeness(relation)
        if not len(heads):
            return np.zeros(len(likeness), bool)
        least = np.partition(likeness[heads], int(MISSED * len(heads)))[int(MISSED * len(heads))]
        alike: NDArray[np.bool_] = (likeness >= least - TIE) & (likeness > 0)
        return alike

    @cached_property
    def _pairs(self) -> tuple[Ids, Ids]:
        """Which entity has which relation or inverse (p,), sorted by entity, each once."""
        entities = np.repeat(np.arange(self.graph.n_entities, dtype=np.int32), self.graph.degrees)
        relations = self.graph.edge_relations
        new = np.ones(len(entities), bool)
        new[1:] = (np.diff(entities) != 0) | (np.diff(relations) != 0)
        return entities[new], relations[new]

    def _likeness(self, relation: int) -> NDArray[np.float64]:
        """Return for each entity (E,) how much it looks like a head of a relation or inverse, 0 to 1."""
        entities, relations = self._pairs
        size, found = 2 * self.graph.n_relations, np.zeros(self.graph.n_entities)
        if not len(entities):
            return found
        is_head = np.zeros(self.graph.n_entities, bool)
        is_head[self.graph.facts(relation)[0]] = True
        owners = np.bincount(relations, minlength=size)
        heads = np.bincount(relations[is_head[entities]], minlength=size)
        share = (heads[relations] - is_head[entities]) / (owners[relations] + PESSIMISM)
        share[relations == relation] = 0
        starts = np.flatnonzero(np.diff(entities, prepend=-1))
        counts = np.add.reduceat(np.where(relations == relation, 0, 1), starts)
        found[entities[starts]] = np.add.reduceat(share, starts) / np.maximum(counts, 1)
        return found
