"""Compare two models on the same queries: test whether the difference is larger than chance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError
from stablerule.evaluation.metrics import METRICS, Resampling, compute_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.evaluation.evaluation import Evaluation
    from stablerule.reasoning.ranks import Ties


@dataclass(frozen=True)
class Difference:
    """The first metric minus the second, the bounds of its interval, and its standard error."""

    difference: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True)
class Comparison:
    """The differences of two evaluations, first minus second, for each metric over the same n queries."""

    n: int
    ties: Ties
    resampling: Resampling
    differences: dict[str, Difference]

    @property
    def mrr(self) -> Difference:
        """The difference in mean reciprocal rank."""
        return self.differences["mrr"]

    def __getitem__(self, metric: str) -> Difference:
        return self.differences[metric]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a results file."""
        rows = {metric: asdict(difference) for metric, difference in self.differences.items()}
        return {**rows, "n": self.n, "options": {"ties": self.ties, **self.resampling.to_json()}}

    def __str__(self) -> str:
        """Spell the difference in MRR on one line."""
        share = f"{self.resampling.confidence:.4g}"
        return f"MRR {self.mrr.difference:+.4f}, {share} interval {self.mrr.low:+.4f} to {self.mrr.high:+.4f}"


def compare(
    a: Evaluation,
    b: Evaluation,
    *,
    ties: Ties = "realistic",
    seed: int = 0,
    resamples: int = 1000,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two evaluations of the same queries by paired bootstrap: each resample draws the same queries for both.

    Queries that are hard for one model are mostly hard for the other. Pairing removes this common part, so the interval
    of the difference is narrower than the two intervals suggest.
    """
    resampling = Resampling(seed, resamples, confidence)
    if a.data["sha256"] != b.data["sha256"]:
        raise InputError(
            f"These are evaluations on different data: {a.data['name']!r} (sha256 {a.data['sha256'][:12]}...) and "
            f"{b.data['name']!r} ({b.data['sha256'][:12]}...). Evaluate both models on the same data."
        )
    first, second = _sort_evaluated_queries(a), _sort_evaluated_queries(b)
    if not np.array_equal(a.queries.rows[first], b.queries.rows[second]):
        raise InputError(
            f"These are evaluations of different queries: {a.options['split']} with {a.n:,} and "
            f"{b.options['split']} with {b.n:,}. Evaluate both models on the same split."
        )
    gains = compute_metrics(a.ranks.form(ties))[first] - compute_metrics(b.ranks.form(ties))[second]
    means = resampling.draw_means(gains)
    columns = gains.mean(0), *resampling.compute_interval(means), means.std(0, ddof=1)
    rows = (Difference(*map(float, row)) for row in zip(*columns, strict=True))
    return Comparison(a.n, ties, resampling, dict(zip(METRICS, rows, strict=True)))


def _sort_evaluated_queries(evaluation: Evaluation) -> NDArray[np.intp]:
    """Return the order of the queries by id, since the same facts may have been read in another order."""
    rows = evaluation.queries.rows
    return np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
