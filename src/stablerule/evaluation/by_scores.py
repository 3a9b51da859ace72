"""ByScores: evaluate any model that scores entities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.reasoning.ranks import Rank
from stablerule.reasoning.score_searcher import convert_model_scores, count_competitors, rank_by_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike, NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.reasoning.ranks import Ranks


class ByScores:
    """Make a `Ranker` from a function that scores.

    score: from heads (b,) and relations (b,), both int64, to the scores of all entities (b, E), the higher the better.
    Relations of R or more are inverses: (t, r + R, ?) asks for the heads of r. It is called once for each distinct
    (head, relation), in any order.
    floor: entities with a score above it count as candidates, such as those that a rule reaches; None: all entities.
    batch_size: number of queries for each call; None is as many as make four million scores.

    Infinite scores tie with each other. NaN is an error. `evaluate` does not pass its graph to the function, so the
    caller decides which facts the model uses.

    >>> import numpy as np
    >>> from stablerule.graph import Dataset
    >>> world = Dataset.from_names("tiny", train=[("a", "r", "b")], test=[("b", "r", "c")])
    >>> popular = np.array([0.0, 2.0, 1.0])
    >>> model = ByScores(lambda heads, relations: np.tile(popular, (len(heads), 1)), name="popularity")
    >>> model.rank(world.test, graph=world.graph, known=world.graph).best
    array([2])
    """

    def __init__(
        self,
        score: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
        floor: float | None = None,
        *,
        batch_size: int | None = None,
        name: str | None = None,
    ) -> None:
        self.score = score
        self.floor = floor
        self.batch_size = batch_size
        self.method = name or str(getattr(score, "__name__", type(score).__name__))

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank the answers, scoring each distinct (head, relation) once; see `Ranker.rank`."""
        self._check_options()
        return rank_by_scores(self.score, queries, known, floor=self.floor, at_once=self.batch_size, name=self.method)

    def _check_options(self) -> None:
        if not callable(self.score):
            raise OptionError(f"Argument 'score' of ByScores must be a function, got {self.score!r}.")
        if self.floor is not None and (not isinstance(self.floor, int | float) or math.isnan(self.floor)):
            raise OptionError(f"Argument 'floor' of ByScores must be a number or None, got {self.floor!r}.")
        if self.batch_size is not None and (not isinstance(self.batch_size, int) or self.batch_size < 1):
            raise OptionError(f"Argument 'batch_size' of ByScores must be at least 1 or None, got {self.batch_size!r}.")

    def __repr__(self) -> str:
        return f"ByScores({self.method!r})"


def filtered_rank(scores: ArrayLike, answer: int, known: Iterable[int] = ()) -> Rank:
    """Rank one answer among all entities, without other known answers.

    scores: (E,), the higher the better. answer: the id of an entity. known: ids of other correct answers.

    >>> filtered_rank([0.9, 0.5, 0.5, 0.1], answer=2)
    Rank(best=2, worst=3)
    >>> filtered_rank([0.9, 0.5, 0.5, 0.1], answer=2, known=[0, 2]).realistic
    1.5
    """
    row = convert_model_scores(scores, "Argument 'scores'")
    if row.ndim != 1:
        raise InputError(f"Argument 'scores' must have one score for each entity, got shape {row.shape}.")
    others = np.unique(np.array([*known, answer]))
    if others.dtype.kind not in "iu" or others[0] < 0 or others[-1] >= len(row):
        raise InputError(
            f"Arguments 'answer' and 'known' must be entities in 0..{len(row) - 1}, got {others.tolist()}."
        )
    better, level, _, broken = count_competitors(row, answer, others.astype(np.int32), 0.0, False)
    if broken:
        raise InputError(f"Argument 'scores' has NaN for entity {int(np.isnan(row).argmax())}. Replace it by a number.")
    return Rank(1 + better, 1 + better + level)
