"""What answers queries by id on one graph, whatever it answers by."""

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
    """The best answers to n queries: entities (n, k), -1 where there are no more, scores (n, k), and their reasons.

    reasons: of the n * k answers, row by row; None where nobody asked for them, or where no rule gave the scores.
    """

    entities: Ids
    scores: NDArray[np.float64]
    reasons: Reasons | None = None


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
        *,
        reasons: int = 0,
    ) -> Found:
        """Return entities (n, k), -1 where there are no more, and their scores; `allowed` limits them by relation.

        reasons: at most so many for each answer, if there are rules to give any.
        """
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

    def name_reasons(self, heads: Ids, relations: Ids, tails: Ids, reasons: Reasons) -> list[tuple[Explanation, ...]]:
        """Return the reasons of n answers in names."""
        ...

    def tabulate_reasons(self, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
        """Return columns rule and path of facts of one relation, for the rule behind each; none without rules."""
        ...
