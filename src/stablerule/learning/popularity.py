"""Popularity: answer every query with the most frequent tails of the relation; the baseline for other methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from stablerule.reasoning import Learned, Reasoner
from stablerule.reasoning.score_searcher import ScoreSearcher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Dataset, Graph, Triples


class Popularity(Reasoner):
    """Score an entity by how many facts of the relation have it as tail. Nothing is learned.

    >>> from stablerule import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> model = Popularity().fit(Dataset.from_names("trip", train=facts).graph)
    >>> [answer.entity for answer in next(model.answer([("Paris", "in")]))]
    ['France', 'Germany']
    """

    method: ClassVar[str] = "popularity"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed  # unused; every learner has one

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Store the graph."""
        return self._end(self._begin(graph, valid, examples, minutes), Learned())

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Spell what `fit` would do."""
        return [f"counts the facts of {graph.n_relations:,} relations by tail"]

    def _searcher(self, graph: Graph) -> ScoreSearcher:
        def score(heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
            counts = {r: np.bincount(graph.facts(r)[1], minlength=graph.n_entities) for r in set(relations.tolist())}
            return np.array([counts[r] for r in relations.tolist()], np.float64).reshape(len(heads), graph.n_entities)

        return ScoreSearcher(graph, score, name=self.method, floor=0.0)
