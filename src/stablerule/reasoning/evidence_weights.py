"""The weights of `learned`: softmax regression of the right answer among its rivals, from the evidence for each.

That orders the candidates of one query. So that scores can be held against each other across queries, the weights of a
relation are then stretched, and given a beginning, until a score is the log odds that a candidate is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from stablerule.paths.compiling import compiled
from stablerule.paths.threads import run_in_threads
from stablerule.reasoning.scoring.evidence import CHAINS, COLUMNS, NO_TRAITS
from stablerule.reasoning.scoring.query_kernels import EVERYBODY, GATHER, Wanted, make_query_results, run_queries
from stablerule.reasoning.scoring.score import ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.scoring.query_kernels import Asked, Desk

Weights: TypeAlias = dict[str, tuple[float, ...]]  # (columns of evidence,) for each relation by name

MOST_COMMON = 3000  # queries that the weights common to all relations are fitted to
COMMON_RIDGE = 1e-3
STEPS, HALVINGS = 30, 20
CLOSE = 1e-5  # a query: nothing more to gain
NO_SHARE = 1e-9
LEAST_SLOPE = 0.01  # the order of candidates is not to turn round


@dataclass(frozen=True, eq=False)
class Examples:
    """Evidence for n queries whose answer is known: rows (n, k, columns), the answer's first.

    stand_for: (n, k) how many rivals a row stands for, 0 where there is none; relations: (n,).
    """

    rows: NDArray[np.float32]
    stand_for: NDArray[np.float32]
    relations: Ids

    @property
    def useful(self) -> NDArray[np.int64]:
        """Queries whose answer some rule reaches, with a rival: only those say anything about weights."""
        return np.flatnonzero((self.stand_for[:, 0] > 0) & (self.stand_for[:, 1] > 0))

    def take(self, which: NDArray[np.int64]) -> Examples:
        """Return some of them."""
        return Examples(self.rows[which], self.stand_for[which], self.relations[which])

    def by_chains_alone(self) -> Examples:
        """What is left without rules with constants: other columns are empty, and rivals that only these reach go."""
        rows = self.rows.copy()
        rows[:, :, list(NO_TRAITS)] = list(NO_TRAITS.values())
        reached = rows[:, :, CHAINS] > 0
        gone = ~reached
        gone[:, 0] = False  # the answer stays in front
        order = np.argsort(gone, axis=1, kind="stable")
        stand_for = np.take_along_axis(np.where(reached, self.stand_for, 0), order, 1)
        return Examples(np.take_along_axis(rows, order[:, :, None], 1), stand_for, self.relations)

    def __len__(self) -> int:
        return len(self.relations)


def collect_weight_examples(
    search: RuleSearcher, heads: Ids, relations: Ids, answers: Ids, known: Graph, k: int, *, hidden: bool = False
) -> Examples:
    """Return the evidence for the answer of each query and for its rivals, k rows a query.

    Rivals that are `known` to be true are left out. hidden: the answers are facts of the graph, asked for as if it did
    not have them.
    """
    rows, stand_for = np.zeros((len(heads), k, len(COLUMNS)), np.float32), np.zeros((len(heads), k), np.float32)

    def part(asked: Asked, at: NDArray[np.int64], desk: Desk) -> None:
        some, counts = np.zeros((len(at), k, len(COLUMNS)), np.float32), np.zeros((len(at), k), np.float32)
        wanted = Wanted(GATHER, hidden, False, 0, known.stepped, EVERYBODY)
        run_queries(asked, heads[at], answers[at], wanted, desk, make_query_results(rows=some, stand_for=counts))
        rows[at], stand_for[at] = some, counts

    search.run_in_parts(relations, heads, part)
    return Examples(rows, stand_for, relations)


def fit_evidence_weights(examples: Examples, graph: Graph, ridges: Sequence[float], seed: int = 0) -> list[Weights]:
    """Fit weights for each relation, drawn towards those common to all relations by a ridge, by name; for each ridge.

    A relation without examples has the common ones, which stand at "*".
    """
    useful = examples.useful
    columns = examples.rows.shape[2]
    if not len(useful):
        return [{ELSEWHERE: (0.0,) * columns} for _ in ridges]
    scale = _measure_evidence_spread(examples, useful)
    some = np.random.default_rng(seed).permutation(useful)[:MOST_COMMON]
    nothing = np.zeros(columns)
    common = _minimise_softmax_loss(examples, some, scale, nothing, nothing, COMMON_RIDGE * len(some))
    usual = _fit_log_odds_line(examples, some, common / scale, np.array([1.0, 0.0]))
    relations = np.unique(examples.relations[useful]).tolist()

    def fit(relation: int) -> list[tuple[float, ...]]:
        which, own, found = useful[examples.relations[useful] == relation], common, {}
        for ridge in sorted(ridges, reverse=True):  # a weaker one leads a little further from the common weights
            own = _minimise_softmax_loss(examples, which, scale, common, own, ridge)
            found[ridge] = _stretch_weights(own / scale, _fit_log_odds_line(examples, which, own / scale, usual))
        return [found[ridge] for ridge in ridges]

    fitted = run_in_threads(fit, relations)
    names = [graph.vocabulary.relation_name(relation) for relation in relations]
    everywhere = {ELSEWHERE: _stretch_weights(common / scale, usual)}
    return [everywhere | {name: own[i] for name, own in zip(names, fitted, strict=True)} for i in range(len(ridges))]


def rank_weight_examples(examples: Examples, graph: Graph, weights: Weights) -> float:
    """How well weights order examples that they were not fitted to, among the rivals that the examples have."""
    some = examples.take(examples.useful)
    if not len(some):
        return 0.0
    relations, which = np.unique(some.relations, return_inverse=True)
    names = map(graph.vocabulary.relation_name, relations.tolist())
    table = np.array([weights.get(name, weights[ELSEWHERE]) for name in names])
    scores = np.einsum("qrc,qc->qr", some.rows, table[which])
    ahead = (scores > scores[:, :1]) + 0.5 * (scores == scores[:, :1])
    return float((1 / (1 + (ahead * some.stand_for)[:, 1:].sum(1))).mean())


def _stretch_weights(weights: NDArray[np.float64], line: NDArray[np.float64]) -> tuple[float, ...]:
    """Weights for slope * score + beginning; the beginning is the weight of the last column, which is always 1."""
    return (*(weights[:-1] * line[0]).tolist(), float(line[1]))


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
    """The spread of each column, from the answers and their strongest rivals; 1 where a column never varies."""
    some = which[:MOST_COMMON]
    spread = examples.rows[some][examples.stand_for[some] > 0].std(axis=0, dtype=np.float64)
    return np.where(spread > 1e-6, spread, 1.0)


def _minimise_softmax_loss(
    examples: Examples,
    which: NDArray[np.int64],
    scale: NDArray[np.float64],
    centre: NDArray[np.float64],
    start: NDArray[np.float64],
    ridge: float,
) -> NDArray[np.float64]:
    """Minimise the sum of -log softmax(answer) + ridge * |w - centre|^2 over w, for columns divided by their scale.

    Newton's method with halved steps: the sum is convex, and few rivals have a share that matters for its curvature.
    """
    w, size = start, len(centre)

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
