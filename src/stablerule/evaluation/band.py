"""The rank of one answer, from the scores of all entities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import InputError
from stablerule.reasoning.ranks import Rank
from stablerule.reasoning.score_ranks import as_scores, count_rivals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike


def filtered_rank(scores: ArrayLike, answer: int, known: Iterable[int] = ()) -> Rank:
    """Rank of `answer` among the entities not already known to be true.

    scores: (E,), the higher the better; answer: an entity's id; known: ids of other right answers.

    >>> filtered_rank([0.9, 0.5, 0.5, 0.1], answer=2)
    Rank(best=2, worst=3)
    >>> filtered_rank([0.9, 0.5, 0.5, 0.1], answer=2, known=[0, 2]).realistic
    1.5
    """
    row = as_scores(scores, "Argument 'scores'")
    if row.ndim != 1:
        raise InputError(f"Argument 'scores' must have one score for each entity, got shape {row.shape}.")
    others = np.unique(np.array([*known, answer]))
    if others.dtype.kind not in "iu" or others[0] < 0 or others[-1] >= len(row):
        raise InputError(
            f"Arguments 'answer' and 'known' must be entities in 0..{len(row) - 1}, got {others.tolist()}."
        )
    better, level, _, broken = count_rivals(row, answer, others.astype(np.int32), 0.0, False)
    if broken:
        raise InputError(f"Argument 'scores' holds NaN, for entity {int(np.isnan(row).argmax())}. Give it a number.")
    return Rank(1 + better, 1 + better + level)
