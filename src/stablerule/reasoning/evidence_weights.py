"""The weights of `learned`: softmax regression of the correct answer among its competing candidates.

That orders the candidates of one query. To make scores comparable across queries, the weights of a relation are then
scaled, with an intercept, until a score is the log odds that a candidate is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from stablerule.paths.compiling import compiled
from stablerule.paths.threads import run_in_threads
from stablerule.reasoning.scoring.score import ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.reasoning.evidence_examples import Examples

Weights: TypeAlias = dict[str, tuple[float, ...]]  # (columns of evidence,) for each relation by name

MOST_COMMON = 3000  # queries that the weights common to all relations are fitted to
COMMON_RIDGE = 1e-3
STEPS, HALVINGS = 30, 20
CLOSE = 1e-5  # a query: nothing more to gain
NO_SHARE = 1e-9
LEAST_SLOPE = 0.01  # the order of candidates is not to turn round


@dataclass(frozen=True, eq=False)
class FoldedWeights:
    """Weights for each relation, fitted without each of the folds in turn, and to all queries.

    table: (2R, folds + 1, columns), the last for all queries, and common (folds + 1, columns): those of relations
    without examples. They order candidates, and are no log odds yet.
    """

    table: NDArray[np.float64]
    common: NDArray[np.float64]

    def rank(self, examples: Examples, folds: NDArray[np.int64], missed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the reciprocal rank of each answer (n,) by the weights that were fitted without its fold.

        missed: (n,) that of an answer which no rule reaches.
        """
        scores = score_examples(examples, self.table[examples.relations, folds])
        ahead = ((scores > scores[:, :1]) + 0.5 * (scores == scores[:, :1])) * examples.stand_for
        return np.where(examples.stand_for[:, 0] > 0, 1 / (1 + ahead[:, 1:].sum(1)), missed)


def fit_weights_by_folds(
    examples: Examples, folds: NDArray[np.int64], n_relations: int, ridges: Sequence[float], seed: int = 0
) -> list[FoldedWeights]:
    """Fit weights to all queries and, without each fold in turn, by one more step of Newton's; for each ridge.

    folds: (n,) from 0 on. The step begins where the fit to all queries ended, with what the other folds give there.
    """
    count, columns = int(folds.max(initial=0)) + 1, examples.rows.shape[2]
    useful = examples.useful
    scale = _measure_evidence_spread(examples, useful) if len(useful) else np.ones(columns)
    nothing, common = np.zeros(columns), np.zeros((count + 1, columns))
    some = _draw_common_examples(useful, seed)
    if len(some):
        ridge = COMMON_RIDGE * len(some)
        found = _minimise_softmax_loss(examples, _part_by_fold(some, folds, count), scale, nothing, nothing, ridge)
        common[count] = found.weights
        for fold in range(count):
            common[fold] = found.without(fold, nothing, ridge)
    tables = np.tile(common, (len(ridges), n_relations, 1, 1))

    def fit(relation: int) -> None:
        parts = _part_by_fold(useful[examples.relations[useful] == relation], folds, count)
        own = common[count]
        for ridge in sorted(ridges, reverse=True):  # a weaker one leads a little further from the common weights
            found = _minimise_softmax_loss(examples, parts, scale, common[count], own, ridge)
            table = tables[ridges.index(ridge), relation]
            table[count] = own = found.weights
            for fold in range(count):
                table[fold] = found.without(fold, common[fold], ridge)

    run_in_threads(fit, np.unique(examples.relations[useful]).tolist())
    return [FoldedWeights(table / scale, common / scale) for table in tables]


def _part_by_fold(which: NDArray[np.int64], folds: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    return [which[folds[which] == fold] for fold in range(count)]


def stretch_weights(examples: Examples, fitted: FoldedWeights, graph: Graph, seed: int = 0) -> Weights:
    """Return the weights fitted to all queries by name, stretched to log odds."""
    useful = examples.useful
    if not len(useful):
        return {ELSEWHERE: (0.0,) * examples.rows.shape[2]}
    common = fitted.common[-1]
    usual = _fit_log_odds_line(examples, _draw_common_examples(useful, seed), common, np.array([1.0, 0.0]))

    def stretch(relation: int) -> tuple[float, ...]:
        which, own = useful[examples.relations[useful] == relation], fitted.table[relation, -1]
        return _stretch_weights(own, _fit_log_odds_line(examples, which, own, usual), examples.one)

    relations = np.unique(examples.relations[useful]).tolist()
    found = dict(zip(map(graph.vocabulary.relation_name, relations), run_in_threads(stretch, relations), strict=True))
    return {ELSEWHERE: _stretch_weights(common, usual, examples.one)} | found


def _draw_common_examples(useful: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(useful)[:MOST_COMMON]


def fit_evidence_weights(examples: Examples, graph: Graph, ridges: Sequence[float], seed: int = 0) -> list[Weights]:
    """Fit weights for each relation, drawn towards those common to all relations by a ridge, by name; for each ridge.

    A relation without examples has the common ones, which are at "*".
    """
    folds = np.zeros(len(examples), np.int64)
    fits = fit_weights_by_folds(examples, folds, 2 * graph.n_relations, list(ridges), seed)
    return [stretch_weights(examples, fitted, graph, seed) for fitted in fits]


def score_examples(examples: Examples, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of each row (n, k) under the weights of its query (n, columns)."""
    scores: NDArray[np.float64] = np.matmul(examples.rows, weights[:, :, None].astype(np.float32))[:, :, 0]
    return scores


def rank_weight_examples(examples: Examples, graph: Graph, weights: Weights) -> float:
    """Return the MRR of examples under weights, among the competing candidates that the examples have."""
    some = examples.take(examples.useful)
    if not len(some):
        return 0.0
    relations, which = np.unique(some.relations, return_inverse=True)
    names = map(graph.vocabulary.relation_name, relations.tolist())
    table = np.array([weights.get(name, weights[ELSEWHERE]) for name in names])
    scores = score_examples(some, table[which])
    ahead = (scores > scores[:, :1]) + 0.5 * (scores == scores[:, :1])
    return float((1 / (1 + (ahead * some.stand_for)[:, 1:].sum(1))).mean())


def _stretch_weights(weights: NDArray[np.float64], line: NDArray[np.float64], one: int) -> tuple[float, ...]:
    """Weights for slope * score + beginning; the beginning is the weight of the column that is always 1."""
    stretched = weights * line[0]
    stretched[one] = line[1]
    return tuple(stretched.tolist())


def _fit_log_odds_line(
    examples: Examples, which: NDArray[np.int64], weights: NDArray[np.float64], centre: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fit slope and beginning (2,) by logistic regression: is a row the answer? A ridge draws them to the centre."""
    scores = (examples.rows[which] @ weights).ravel()
    counts, is_answer = examples.stand_for[which].ravel(), np.zeros(examples.stand_for[which].shape)
    is_answer[:, 0] = 1
    there = counts > 0
    scores, counts, is_answer = scores[there].astype(np.float64), counts[there], is_answer.ravel()[there]
    line = centre.copy()
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(line[0] * scores + line[1], -30, 30)))
        wrong, bend = counts * (share - is_answer), counts * share * (1 - share)
        slope = np.array([wrong @ scores, wrong.sum()]) + 2 * (line - centre)
        across = bend @ scores
        curvature = np.array([[bend @ scores**2, across], [across, bend.sum()]]) + 2 * np.eye(2)
        step = np.linalg.solve(curvature, slope)
        line = line - step * min(1.0, 1 / max(np.abs(step).max(), 1e-12))  # at most 1 at a time
        line[0] = max(line[0], LEAST_SLOPE)
        if np.abs(step).max() < CLOSE:
            break
    return line


def _measure_evidence_spread(examples: Examples, which: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the deviation of each column over the answers and competing candidates; 1 where it never varies."""
    some = which[:MOST_COMMON]
    spread = examples.rows[some][examples.stand_for[some] > 0].std(axis=0, dtype=np.float64)
    return np.where(spread > 1e-6, spread, 1.0)


@dataclass(frozen=True, eq=False)
class _Minimum:
    """Weights with the least loss, and slope and curvature of the loss of each fold there, without the ridge."""

    weights: NDArray[np.float64]
    slopes: NDArray[np.float64]
    curvatures: NDArray[np.float64]

    def without(self, fold: int, centre: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
        """Return the weights without a fold, drawn to a centre: one step towards the minimum of the others."""
        others = np.arange(len(self.slopes)) != fold
        slope = self.slopes[others].sum(0) + 2 * ridge * (self.weights - centre)
        curvature = self.curvatures[others].sum(0) + 2 * ridge * np.eye(len(slope))
        found: NDArray[np.float64] = self.weights - np.linalg.solve(curvature, slope)
        return found


def _minimise_softmax_loss(
    examples: Examples,
    parts: Sequence[NDArray[np.int64]],
    scale: NDArray[np.float64],
    centre: NDArray[np.float64],
    start: NDArray[np.float64],
    ridge: float,
) -> _Minimum:
    """Minimise the sum of -log softmax(answer) + ridge * |w - centre|^2 over w, for columns divided by their scale.

    Newton's method with halved steps: the sum is convex, and few candidates matter for its curvature.
    parts: the queries of each fold.
    """
    w, size, n = start, len(centre), sum(map(len, parts))

    def look(at: NDArray[np.float64]) -> tuple[float, _Minimum]:
        slopes, curvatures, away = np.zeros((len(parts), size)), np.zeros((len(parts), size, size)), at - centre
        value, own = ridge * float(away @ away), at / scale
        for part, slope, curvature in zip(parts, slopes, curvatures, strict=True):
            value += softmax_loss(examples.rows, examples.stand_for, part, own, slope, curvature)
        curvatures += np.triu(curvatures, 1).swapaxes(1, 2)  # only one half was filled
        return value, _Minimum(at, slopes / scale, curvatures / np.outer(scale, scale))

    value, here = look(w)
    for _ in range(STEPS):
        slope = here.slopes.sum(0) + 2 * ridge * (w - centre)
        curvature = here.curvatures.sum(0) + 2 * ridge * np.eye(size)
        step = -np.linalg.solve(curvature, slope)
        gain = -float(slope @ step)  # what a quadratic would gain, twice
        if gain < CLOSE * n:
            break
        for _ in range(HALVINGS):
            found = look(w + step)
            if found[0] < value:
                break
            step /= 2
        else:
            break
        w = w + step
        value, here = found
    return here


@compiled
def softmax_loss(
    rows: NDArray[np.float32],
    stand_for: NDArray[np.float32],
    which: NDArray[np.int64],
    weights: NDArray[np.float64],
    slope: NDArray[np.float64],
    curvature: NDArray[np.float64],
) -> float:
    """Return the sum of -log softmax(row 0) over some queries; add its slope by the weights and its curvature.

    A row that stands for m candidates counts m times. curvature: (columns, columns), the half above the diagonal.
    """
    columns, total = len(weights), 0.0
    scores, mean = np.empty(rows.shape[1]), np.empty(columns)
    for q in which:
        n = 0
        while n < rows.shape[1] and stand_for[q, n] > 0:
            score = 0.0
            for column in range(columns):
                score += weights[column] * rows[q, n, column]
            scores[n] = score
            n += 1
        top, answer = scores[0], scores[0]
        for i in range(1, n):
            top = max(top, scores[i])
        together = 0.0
        for i in range(n):
            scores[i] = stand_for[q, i] * np.exp(scores[i] - top)
            together += scores[i]
        total += np.log(together) + top - answer
        for column in range(columns):
            mean[column] = 0
        for i in range(n):
            share = scores[i] / together
            if share < NO_SHARE:
                continue
            for column in range(columns):
                part = share * rows[q, i, column]
                mean[column] += part
                for other in range(column, columns):
                    curvature[column, other] += part * rows[q, i, other]
        for column in range(columns):
            slope[column] += mean[column] - rows[q, 0, column]
            for other in range(column, columns):
                curvature[column, other] -= mean[column] * mean[other]
    return total
