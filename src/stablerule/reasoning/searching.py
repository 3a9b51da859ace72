"""What answers queries by id on one graph, whatever it answers by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.ranks import Ranks


class Searcher(Protocol):
    """A model that was made ready for a graph. Relations of R or more are inverses."""

    @property
    def graph(self) -> Graph:
        """The graph that it answers from."""
        ...

    def rank(self, heads: Ids, relations: Ids, answers: Ids, known: Graph) -> Ranks:
        """Rank the answer of each query (n,) among all entities, those `known` to be true left out."""
        ...

    def answer(
        self,
        heads: Ids,
        relations: Ids,
        k: int,
        known: Graph | None = None,
        allowed: Callable[[int], NDArray[np.bool_]] | None = None,
    ) -> tuple[Ids, NDArray[np.float64]]:
        """Return entities (n, k), -1 where there are no more, and their scores; `allowed` limits them by relation."""
        ...

    def score(self, heads: Ids, relations: Ids, tails: Ids) -> NDArray[np.float64]:
        """Return the score of each triple (n,)."""
        ...

    def at_once(self, k: int, most: int) -> int:
        """Say how many queries, of at most so many, have room together for k answers each."""
        ...

    def largest_score(self, relations: Sequence[int]) -> float:
        """The bound of all scores for some relations; infinite where there is none."""
        ...

    def reasons(self, relation: int, heads: Ids, tails: Ids) -> dict[str, pl.Series]:
        """Columns that say why, for facts of one relation: rule and path, or none."""
        ...
