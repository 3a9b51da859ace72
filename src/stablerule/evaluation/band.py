"""From scores to the band of a rank: how many rivals are better, how many are level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import InputError
from stablerule.paths.compiling import compiled
from stablerule.reasoning.ranks import Rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from stablerule.graph.triples import Ids, Offsets


class Rivals(NamedTuple):
    """How many entities, known ones left out, are better than the answer, level with it, above the floor, or NaN."""

    better: int
    level: int
    above: int
    broken: int


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


def as_scores(given: Any, what: str) -> NDArray[Any]:
    """Return scores in a type that kernels are compiled for, with no tie made or broken on the way."""
    try:
        scores = np.asarray(given)
    except Exception as error:  # a tensor that is still being learned, or whatever else a foreign model returns
        cure = " Return tensor.detach().cpu(), of bfloat16 its .float() too." if hasattr(given, "detach") else ""
        said = str(error).rstrip(".")
        raise InputError(f"{what} must be an array of numbers, got {type(given).__name__} ({said}).{cure}") from error
    if scores.dtype.kind not in "fiub":
        raise InputError(f"{what} must be an array of numbers, got {scores.dtype}.")
    if scores.dtype == np.float16:
        scores = scores.astype(np.float32)
    elif scores.dtype.kind in "ib":
        scores = scores.astype(np.int64, copy=False)
    elif scores.dtype != np.float32:
        scores = scores.astype(np.float64, copy=False)
    return np.ascontiguousarray(scores)


@compiled
def count_rivals(scores: NDArray[Any], answer: int, known: Ids, floor: float, floored: bool) -> Rivals:
    """Count over all entities at first, then take the known ones off: the long loop stays without a branch."""
    own = scores[answer]
    better, level, above, broken = 0, -1, 0, 0  # the answer is level with itself
    for score in scores:
        better += score > own
        level += score == own
        above += not floored or score > floor
        broken += np.isnan(score)
    for entity in known:
        if entity != answer:
            better -= scores[entity] > own
            level -= scores[entity] == own
            above -= not floored or scores[entity] > floor
    return Rivals(better, level, above, broken)


@compiled
def rank_rows(
    scores: NDArray[Any],
    rows: Offsets,
    queries: Ids,
    offsets: Offsets,
    edge_relations: Ids,
    edge_tails: Ids,
    floor: float,
    floored: bool,
    best: Offsets,
    worst: Offsets,
    covered: NDArray[np.bool_],
    candidates: Offsets,
) -> int:
    """Rank queries (q, 3) by scores (p, E), where the scores of query i stand in row rows[i].

    offsets, edge_relations and edge_tails are those of the graph of known facts; the last four are filled. Returns the
    first query whose scores hold NaN, or -1.
    """
    for i in range(len(queries)):
        head, relation, answer = queries[i, 0], queries[i, 1], queries[i, 2]
        low, high = offsets[head], offsets[head + 1]
        begin = low + np.searchsorted(edge_relations[low:high], relation)
        end = low + np.searchsorted(edge_relations[low:high], relation, side="right")
        row = scores[rows[i]]
        better, level, above, broken = count_rivals(row, answer, edge_tails[begin:end], floor, floored)
        if broken:
            return i
        best[i] = 1 + better
        worst[i] = 1 + better + level
        covered[i] = not floored or row[answer] > floor
        candidates[i] = above
    return -1
