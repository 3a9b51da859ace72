"""What a model must do to be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from stablerule.graph import Graph, Triples
    from stablerule.reasoning.ranks import Ranks


@runtime_checkable
class Ranker(Protocol):
    """Whatever can say where the right answers stand. `ByScores` makes one of a function that scores."""

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank the answer of each query among its rivals; one row of `Ranks` for each query, in the same order.

        queries: rows of (head, relation, answer); a relation of R or more is an inverse. They come in several parts,
        sorted by relation and head.
        graph: what may be used to answer.
        known: facts that are true. Another tail that it has for (head, relation) is no rival; the answer stays.
        Both graphs have the same vocabulary, of which the ids of the queries are.
        """
        ...
