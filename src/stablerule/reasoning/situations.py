"""The situation of a candidate fact: whether its head, and its tail, already has a fact of the relation.

How often a candidate is correct depends on this as much as on its score. A person with a known birthplace has no second
one; a person without has one somewhere. An entity of another kind, such as a currency for `born_in`, has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids

OTHER, LACKING, HAVING = range(3)  # of another kind; of the right kind, without a fact; with a fact
SITUATIONS = ("none, none", "none, some", "some, none", "some, some")  # facts of the head, of the tail
NOWHERE = -1  # a candidate with an end of another kind


class Situations:
    """The situations of candidates, by number; graph: all known facts."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def states(self, relation: int) -> NDArray[np.int8]:
        """Return (E,): for a relation or inverse, whether each entity is HAVING a fact, LACKING one, or OTHER."""
        states = np.where(self.graph.kinds.alike(relation), LACKING, OTHER).astype(np.int8)
        states[self.graph.facts(relation)[0]] = HAVING
        return states

    def of(self, relation: int, heads: Ids, tails: Ids) -> NDArray[np.int8]:
        """Return the situation of each candidate (n,) of a relation or inverse."""
        back = self.graph.inverse(relation)
        return number_situations(self.states(relation)[heads], self.states(back)[tails])

    def of_hidden(self, relation: int, heads: Ids, tails: Ids) -> NDArray[np.int8]:
        """Return the situations (n,) that facts of the graph would have if the graph lacked them."""
        return number_situations(
            *(self._without_one(*end) for end in ((relation, heads), (self.graph.inverse(relation), tails)))
        )

    def _without_one(self, relation: int, ends: Ids) -> NDArray[np.int8]:
        counts = np.bincount(self.graph.facts(relation)[0], minlength=self.graph.n_entities)
        rest = np.where(self.graph.kinds.alike(relation), LACKING, OTHER)
        return np.where(counts > 1, HAVING, rest).astype(np.int8)[ends]


def number_situations(heads: NDArray[np.int8], tails: NDArray[np.int8]) -> NDArray[np.int8]:
    """Number the situations (n,) of candidates from the states of their ends.

    >>> number_situations(np.array([2, 1, 1, 0]), np.array([2, 2, 1, 2])).tolist()
    [3, 1, 0, -1]
    """
    known = (heads != OTHER) & (tails != OTHER)
    return np.where(known, 2 * (heads == HAVING) + (tails == HAVING), NOWHERE).astype(np.int8)
