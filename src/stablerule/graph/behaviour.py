"""How relations behave: one-valued, one-to-one, symmetric; read off the facts of a graph by a stated test.

A relation is **one-valued** when an entity has at most one tail of it, such as a birthplace. A graph may have a few
exceptions and lacks facts, so it is a test of the share of heads with exactly one tail: the lower bound of its 95%
interval (Wilson's) must be at least `ONE_VALUED`. With no exception that takes 73 heads; fewer prove nothing. An
inverse is one-valued when each tail has one head, as a capital has one country; a relation that is one-valued both ways
is **one-to-one**. A relation is **symmetric** when the same bound of the share of facts whose reverse is a fact too is
at least `SYMMETRIC`: facts that a split holds out take reverses away, and other relations have next to none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.graph.triples import Triples, read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.graph import Graph

ONE_VALUED, SYMMETRIC = 0.95, 0.5  # least shares
Z = 1.959964  # of a 95% interval


@dataclass(frozen=True, eq=False)
class Behaviour:
    """How the relations of a graph behave, by id.

    one_valued: (2R,) of relations and inverses. symmetric: (R,).
    """

    one_valued: NDArray[np.bool_]
    symmetric: NDArray[np.bool_]

    @property
    def one_to_one(self) -> NDArray[np.bool_]:
        """(R,): one-valued from both ends."""
        size = len(self.symmetric)
        both: NDArray[np.bool_] = self.one_valued[:size] & self.one_valued[size:]
        return both


def find_behaviour(graph: Graph) -> Behaviour:
    """Test how each relation of a graph behaves.

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
        one_valued=read_only(bound_share(with_one, heads) >= ONE_VALUED),
        symmetric=read_only(bound_share(both, np.bincount(facts.relations, minlength=size)) >= SYMMETRIC),
    )


def bound_share(hits: NDArray[np.int64], trials: NDArray[np.int64], z: float = Z) -> NDArray[np.float64]:
    """Return the lower bounds of Wilson's intervals of the shares hits / trials, 0 without trials.

    >>> bound_share(np.array([73, 72, 0]), np.array([73, 72, 0])).round(4)
    array([0.95  , 0.9493, 0.    ])
    """
    n = np.maximum(trials, 1)
    share = hits / n
    spread = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    bound: NDArray[np.float64] = np.where(trials > 0, (share + z**2 / (2 * n) - spread) / (1 + z**2 / n), 0.0)
    return bound
