"""The interface of models prepared for one graph: they answer queries by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.answers import Explanation
    from stablerule.reasoning.ranks import Ranks
    from stablerule.reasoning.scoring.explain import Reasons


class Found(NamedTuple):
    """The best answers to n queries: entities (n, k), -1 for no more, scores (n, k), and their reasons.

    reasons: of the n * k answers, row by row; None if not asked for, or if the model has no rules.
    """

    entities: Ids
    scores: NDArray[np.float64]
    reasons: Reasons | None = None


class Searcher(Protocol):
    """A model prepared for a graph. Relations of R or more are inverses."""

    @property
    def graph(self) -> Graph:
        """The graph that it answers from."""
        ...

    def rank(self, heads: Ids, relations: Ids, answers: Ids, known: Graph) -> Ranks:
        """Rank the answer of each query (n,) among all entities, without other `known` answers."""
        ...

    def answer(
        self,
        heads: Ids,
        relations: Ids,
        k: int,
        known: Graph | None = None,
        allowed: Callable[[int], NDArray[np.bool_]] | None = None,
        *,
        reasons: int = 0,
    ) -> Found:
        """Return the k best entities (n, k), -1 for no more, and their scores; `allowed` limits them by relation.

        reasons: the most reasons for each answer, if the model has rules.
        """
        ...

    def score(self, heads: Ids, relations: Ids, tails: Ids) -> NDArray[np.float64]:
        """Return the score of each triple (n,)."""
        ...

    def at_once(self, k: int, most: int) -> int:
        """Return how many queries, at most `most`, fit into memory with k answers each."""
        ...

    def largest_score(self, relations: Sequence[int]) -> float:
        """Return an upper bound of the scores for some relations, infinite if there is none."""
        ...

    def name_reasons(self, heads: Ids, relations: Ids, tails: Ids, reasons: Reasons) -> list[tuple[Explanation, ...]]:
        """Return the reasons of n answers by name."""
        ...

    def tabulate_reasons(self, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
        """Return the columns rule and path for facts of one relation; no columns without rules."""
        ...
