"""Test how relations behave (one-valued, one-to-one, symmetric), and which entities could have a relation.

A relation is **one-valued** if an entity has at most one tail of it, such as a birthplace. Since a graph may have
exceptions and missing facts, this is a test of the share of heads with exactly one tail: the lower bound of its 95%
interval (Wilson's) must be at least `ONE_VALUED`. Without exceptions this needs 73 heads. An inverse is one-valued if
each tail has one head, as a capital has one country. A relation that is one-valued in both directions is
**one-to-one**. A relation is **symmetric** if the same bound, for the share of facts whose reverse is also a fact, is
at least `SYMMETRIC`. The threshold is low because a split removes reverses, and other relations have almost none.

How much an entity looks like a head of a relation r is computed from its other relations s. For each s it is the share
of the entities with s that also have r, not counting the entity itself; the likeness is the mean over all s. So a head
of r is scored as if its facts of r were missing. An entity without r is **of the kind** of r if it scores at least as
high as nine of ten heads do; so nine of ten heads with missing facts of r are found again. A city without a country is
of the kind of `city_in`. Most cities are of the kind of `capital_of`, since its heads look like other cities. A
currency is of neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from stablerule.graph.triples import Triples, read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.graph import Graph
    from stablerule.graph.triples import Ids

ONE_VALUED, SYMMETRIC = 0.95, 0.5  # minimum shares
Z = 1.959964  # quantile of a 95% interval
MISSED = 0.1  # share of heads below the threshold of the kind
ROOM = 1 << 26  # bytes of the cache
TIE = 1e-9  # tolerance for rounding errors of equal means
PESSIMISM = 5  # added to the denominator, so that relations with few owners count little


@dataclass(frozen=True, eq=False)
class Behaviour:
    """The behaviour of the relations of a graph, by id.

    one_valued: (2R,) for relations and inverses. symmetric: (R,).
    """

    one_valued: NDArray[np.bool_]
    symmetric: NDArray[np.bool_]

    @property
    def one_to_one(self) -> NDArray[np.bool_]:
        """Whether each relation is one-valued in both directions (R,)."""
        size = len(self.symmetric)
        both: NDArray[np.bool_] = self.one_valued[:size] & self.one_valued[size:]
        return both


def find_behaviour(graph: Graph) -> Behaviour:
    """Test whether each relation of a graph is one-valued, in each direction, and symmetric.

    >>> from stablerule.graph import Dataset
    >>> born = [(f"p{i}", "born_in", f"c{i % 9}") for i in range(99)]
    >>> friends = [(f"p{i}", "friend_of", f"p{j}") for i in range(9) for j in range(9) if i != j]
    >>> graph = Dataset.from_names("people", train=born + friends).graph
    >>> found = find_behaviour(graph)
    >>> found.one_valued.tolist(), found.symmetric.tolist()  # born_in, friend_of and their inverses
    ([True, False, False, False], [False, True])
    """
    size = graph.n_relations
    starts = np.repeat(np.arange(graph.n_entities, dtype=np.int64), graph.degrees)
    _, first, counts = np.unique(
        starts * max(2 * size, 1) + graph.edge_relations, return_index=True, return_counts=True
    )
    relations = graph.edge_relations[first]
    heads = np.bincount(relations, minlength=2 * size)
    with_one = np.bincount(relations[counts == 1], minlength=2 * size)
    facts = graph.triples.take(graph.fact_heads != graph.fact_tails)
    turned = graph.contains(Triples(read_only(np.ascontiguousarray(facts.rows[:, ::-1]))))
    both = np.bincount(facts.relations[turned], minlength=size)
    return Behaviour(
        one_valued=read_only(bound_behaviour_share(with_one, heads) >= ONE_VALUED),
        symmetric=read_only(bound_behaviour_share(both, np.bincount(facts.relations, minlength=size)) >= SYMMETRIC),
    )


def bound_behaviour_share(hits: NDArray[np.int64], trials: NDArray[np.int64], z: float = Z) -> NDArray[np.float64]:
    """Return the lower bounds of Wilson's intervals of the shares hits / trials, 0 without trials.

    >>> bound_behaviour_share(np.array([73, 72, 0]), np.array([73, 72, 0])).round(4)
    array([0.95  , 0.9493, 0.    ])
    """
    n = np.maximum(trials, 1)
    share = hits / n
    spread = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    bound: NDArray[np.float64] = np.where(trials > 0, (share + z**2 / (2 * n) - spread) / (1 + z**2 / n), 0.0)
    return bound


class EntityKinds:
    """The kinds of a graph's entities, by their relations and inverses.

    >>> from stablerule.graph import Dataset
    >>> people = [fact for i in range(9) for fact in ((f"p{i}", "born_in", "Rome"), (f"p{i}", "works_as", "cook"))]
    >>> dataset = Dataset.from_names("people", train=[*people, ("Ann", "works_as", "cook")])
    >>> alike, words = dataset.graph.kinds.alike(0), dataset.vocabulary  # of born_in
    >>> [bool(alike[words.entity_id(name)]) for name in ("p0", "Ann", "Rome")]
    [True, True, False]
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # Each relation needs a pass over the graph, so results are cached within the limit of ROOM.
        self.alike = lru_cache(max(8, ROOM // max(graph.n_entities, 1)))(self._find_alike)

    def _find_alike(self, relation: int) -> NDArray[np.bool_]:
        """Return (E,): whether each entity looks like a head of a relation or inverse, by its other relations."""
        heads = np.unique(self.graph.facts(relation)[0])
        likeness = self._measure_likeness(relation)
        if not len(heads):
            return np.zeros(len(likeness), bool)
        least = np.partition(likeness[heads], int(MISSED * len(heads)))[int(MISSED * len(heads))]
        alike: NDArray[np.bool_] = (likeness >= least - TIE) & (likeness > 0)
        return alike

    @cached_property
    def _pairs(self) -> tuple[Ids, Ids]:
        """The distinct pairs of an entity and one of its relations or inverses (p,), sorted by entity."""
        entities = np.repeat(np.arange(self.graph.n_entities, dtype=np.int32), self.graph.degrees)
        relations = self.graph.edge_relations
        new = np.ones(len(entities), bool)
        new[1:] = (np.diff(entities) != 0) | (np.diff(relations) != 0)
        return entities[new], relations[new]

    def _measure_likeness(self, relation: int) -> NDArray[np.float64]:
        """Return how much each entity (E,) looks like a head of a relation or inverse, 0 to 1."""
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
