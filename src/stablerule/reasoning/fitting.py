"""The weights of `learned`: softmax regression of the right answer among its rivals, from the evidence for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.compiling import compiled
from stablerule.paths.threads import in_threads
from stablerule.reasoning.aggregation import ELSEWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.reasoning.evidence import Examples

MOST_COMMON = 3000  # queries that the weights common to all relations are fitted to
COMMON_RIDGE = 1e-3
STEPS, HALVINGS = 30, 20
CLOSE = 1e-5  # a query: nothing more to gain
NO_SHARE = 1e-9


def fit_weights(examples: Examples, graph: Graph, ridge: float, seed: int = 0) -> dict[str, tuple[float, ...]]:
    """Fit weights for each relation, drawn towards those common to all relations by a ridge, by name.

    A relation without examples has the common ones, which stand at "*".
    """
    useful = examples.useful
    columns = examples.rows.shape[2]
    if not len(useful):
        return {ELSEWHERE: (0.0,) * columns}
    scale = _scale(examples, useful)
    some = np.random.default_rng(seed).permutation(useful)[:MOST_COMMON]
    common = _minimise(examples, some, scale, np.zeros(columns), COMMON_RIDGE * len(some))
    weights = {ELSEWHERE: tuple((common / scale).tolist())}
    relations = np.unique(examples.relations[useful]).tolist()

    def fit(relation: int) -> NDArray[np.float64]:
        return _minimise(examples, useful[examples.relations[useful] == relation], scale, common, ridge)

    for relation, own in zip(relations, in_threads(fit, relations), strict=True):
        weights[graph.vocabulary.relation_name(relation)] = tuple((own / scale).tolist())
    return weights


def _scale(examples: Examples, which: NDArray[np.int64]) -> NDArray[np.float64]:
    """The spread of each column, from the answers and their strongest rivals; 1 where a column never varies."""
    some = which[:MOST_COMMON]
    spread = examples.rows[some][examples.stand_for[some] > 0].std(axis=0, dtype=np.float64)
    return np.where(spread > 1e-6, spread, 1.0)


def _minimise(
    examples: Examples,
    which: NDArray[np.int64],
    scale: NDArray[np.float64],
    centre: NDArray[np.float64],
    ridge: float,
) -> NDArray[np.float64]:
    """Minimise the sum of -log softmax(answer) + ridge * |w - centre|^2 over w, for columns divided by their scale.

    Newton's method with halved steps: the sum is convex, and few rivals have a share that matters for its curvature.
    """
    w, size = centre.copy(), len(centre)

    def look(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        slope, curvature, away = np.zeros(size), np.zeros((size, size)), at - centre
        value = softmax_loss(examples.rows, examples.stand_for, which, at / scale, slope, curvature)
        curvature += curvature.T - np.diag(np.diag(curvature))  # only one half was filled
        value += ridge * float(away @ away)
        return value, slope / scale + 2 * ridge * away, curvature / np.outer(scale, scale) + 2 * ridge * np.eye(size)

    value, slope, curvature = look(w)
    for _ in range(STEPS):
        step = -np.linalg.solve(curvature, slope)
        gain = -float(slope @ step)  # what a quadratic would gain, twice
        if gain < CLOSE * len(which):
            break
        for _ in range(HALVINGS):
            found = look(w + step)
            if found[0] < value:
                break
            step /= 2
        else:
            break
        w = w + step
        value, slope, curvature = found
    return w


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

    A row that stands for m rivals counts m times. curvature: (columns, columns), the half above the diagonal.
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
        top, answer = scores[:n].max(), scores[0]
        together = 0.0
        for i in range(n):
            scores[i] = stand_for[q, i] * np.exp(scores[i] - top)
            together += scores[i]
        total += np.log(together) + top - answer
        mean[:] = 0
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
