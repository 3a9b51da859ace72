"""Fit curves from a score to the share of candidates that are missing facts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids

STEP = 10  # the least number of candidates behind one value of a curve
LET_PASS = 1.5  # missing facts per candidate, at most
ALIKE = 0.5  # a candidate counts as near a hidden fact from this share of its score


class ScoredCandidates(NamedTuple):
    """Candidates or facts (n,): relation, situation, score, and how many each one represents."""

    relations: Ids
    situations: NDArray[np.int8]
    scores: NDArray[np.float64]
    stand_for: NDArray[np.float64]

    def take(self, which: NDArray[Any]) -> ScoredCandidates:
        """Return the rows of an index or a mask."""
        return ScoredCandidates(*(column[which] for column in self))


@dataclass(frozen=True)
class Curve:
    """A curve that never falls: straight lines between points, constant beyond the first and the last.

    shares: missing facts per candidate at each score; above 1 if there are fewer candidates than assumed missing facts.
    counts: number of hidden facts behind each share.

    >>> Curve((0.2, 0.4), (0.1, 0.5), (30, 30)).at(np.array([0.0, 0.3, 0.9]))
    array([0.1, 0.3, 0.5])
    """

    scores: tuple[float, ...]
    shares: tuple[float, ...]
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        scores, shares, counts = self.scores, self.shares, self.counts
        rising = all(np.all(np.diff(values) >= 0) for values in (scores, (0, *shares)))
        sensible = all(map(math.isfinite, (*scores, *shares, *counts))) and min(counts, default=0) >= 0
        if not scores or not len(scores) == len(shares) == len(counts) or not rising or not sensible:
            raise OptionError("this is not a curve that rises from 0")

    def at(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares at many scores."""
        return self._between(scores, self.shares)

    def counts_at(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers of hidden facts behind the shares at many scores."""
        return self._between(scores, self.counts)

    def _between(self, scores: NDArray[np.float64], values: tuple[float, ...]) -> NDArray[np.float64]:
        x, y = np.asarray(self.scores), np.asarray(values)
        if len(x) == 1:
            return np.full(np.shape(scores), y[0])
        asked = np.clip(scores, x[0], x[-1])
        right = np.clip(np.searchsorted(x, asked, side="right"), 1, len(x) - 1)
        left = right - 1
        # By the share of a step, not by its slope, which is infinite where two scores are adjacent floats.
        part = (asked - x[left]) / np.where(x[right] > x[left], x[right] - x[left], 1.0)
        low, high = np.minimum(y[left], y[right]), np.maximum(y[left], y[right])
        found: NDArray[np.float64] = np.clip(y[left] + part * (y[right] - y[left]), low, high)
        return found


def fit_curve(hidden: ScoredCandidates, found: ScoredCandidates) -> Curve | None:
    """Fit missing facts per candidate by isotonic regression on the score; return None without candidates."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # takes a moment to import

    if not len(found.scores):
        return None
    n, hidden = len(found.scores), hidden.take(_has_candidates(hidden.scores, np.sort(found.scores)))
    scores = np.concatenate([found.scores, hidden.scores])
    candidates = np.concatenate([found.stand_for, np.zeros(len(hidden.scores))])
    facts: NDArray[np.float64] = np.concatenate([np.zeros(n), hidden.stand_for])
    is_candidate = np.arange(len(scores)) < n
    order = np.argsort(-scores, kind="stable")
    scores, candidates, facts, is_candidate = scores[order], candidates[order], facts[order], is_candidate[order]
    # Equal scores share a value. Steps of several candidates keep the value at the top from being pure chance.
    first = np.concatenate([[True], scores[1:] != scores[:-1]])
    before: NDArray[np.int64] = np.cumsum(is_candidate) - is_candidate
    step = np.maximum.accumulate(np.where(first, np.minimum(before, n - 1) // STEP, 0))
    starts = np.flatnonzero(np.diff(step, prepend=-1))
    total, wanted = np.add.reduceat(candidates, starts), np.add.reduceat(facts, starts)
    counted = np.add.reduceat(~is_candidate, starts).astype(np.float64)
    total = np.maximum(total, 1e-9)
    fitted = isotonic_regression(wanted / total, weights=total, increasing=False)
    values = np.clip(fitted.x, 0, _measure_room_for_candidates(fitted.x, total, wanted))[::-1]
    counts = np.repeat(np.add.reduceat(counted, fitted.blocks[:-1]), np.diff(fitted.blocks))[::-1]
    highest, lowest = scores[starts], scores[np.append(starts[1:], len(scores)) - 1]
    # Keep only the points where a level begins and ends, from the lowest score to the highest.
    new = np.flatnonzero(np.diff(values, prepend=-1))
    begin, end = lowest[::-1][new], highest[::-1][np.append(new[1:], len(values)) - 1]
    points = np.stack([begin, end], axis=1).ravel()
    kept = np.append(True, np.diff(points) > 0)
    shares, behind = (np.repeat(column[new], 2)[kept] for column in (values, counts))
    return Curve(tuple(points[kept].tolist()), tuple(shares.tolist()), tuple(behind.tolist()))


def _measure_room_for_candidates(
    shares: NDArray[np.float64], total: NDArray[np.float64], wanted: NDArray[np.float64]
) -> float:
    """Return the upper limit of a share: 1, or less if there are far fewer candidates than assumed missing facts.

    In that case the graph lacks fewer facts than assumed, and it is unknown which. Hidden facts do not count the
    missing ones exactly, so somewhat more of them than candidates are allowed.
    """
    full = shares >= 1
    return min(1.0, LET_PASS * float(total[full].sum()) / float(wanted[full].sum())) if full.any() else 1.0


def _has_candidates(scores: NDArray[np.float64], candidates: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which scores (n,) have a candidate with the same or a slightly lower score; candidates (m,) are sorted.

    Facts with other scores can't be missing from the graph, since they would be candidates. They are ignored.
    """
    place = np.searchsorted(candidates, scores, side="right")
    near: NDArray[np.bool_] = (place > 0) & (candidates[np.maximum(place - 1, 0)] >= ALIKE * scores)
    return near
