"""Compute metrics from ranks: mean reciprocal rank and Hits@k, over all queries or by kind.

Bootstrap intervals show how much a mean would vary with other queries of the same kind.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

HITS = (1, 3, 10)
METRICS = ("mrr", *(f"hits@{k}" for k in HITS))
# Draws at once, over all resamples of a block.
DRAWN_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Figures:
    """The metrics of n queries: the mean of each, and the share of answers above the floor.

    >>> figures = Figures(n=4, metrics={"mrr": 0.5, "hits@1": 0.25, "hits@3": 0.75, "hits@10": 1.0}, coverage=0.75)
    >>> figures.mrr, figures["hits@3"]
    (0.5, 0.75)
    """

    n: int
    metrics: dict[str, float]
    coverage: float

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank."""
        return self.metrics["mrr"]

    def __getitem__(self, metric: str) -> float:
        return self.metrics[metric]

    def to_json(self) -> dict[str, Any]:
        """Return one flat row."""
        return {"n": self.n, **self.metrics, "coverage": self.coverage}


def compute_metrics(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the metrics of each query (n, 4), in the order of METRICS, from ranks (n,).

    >>> compute_metrics(np.array([1.0, 3.5]))
    array([[1.        , 1.        , 1.        , 1.        ],
           [0.28571429, 0.        , 0.        , 1.        ]])
    """
    return np.stack([1.0 / ranks, *(ranks <= k for k in HITS)], axis=1)


def average_metrics(values: NDArray[np.float64], covered: NDArray[np.bool_]) -> Figures:
    """Return the means over all queries, from (n, 4) and (n,); there must be at least one."""
    metrics = dict(zip(METRICS, values.mean(0).tolist(), strict=True))
    return Figures(len(values), metrics, float(covered.mean()))


def average_metrics_by_kind(
    kinds: NDArray[np.integer[Any]], names: Sequence[str], values: NDArray[np.float64], covered: NDArray[np.bool_]
) -> dict[str, Figures]:
    """Return the means over the queries of each kind; kinds (n,) are indices of `names`. Empty kinds are skipped."""
    order = np.argsort(kinds, kind="stable")
    present, starts = np.unique(kinds[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {
        names[kind]: average_metrics(values[part], covered[part]) for kind, part in zip(present, parts, strict=True)
    }


@dataclass(frozen=True)
class Resampling:
    """The options of a bootstrap: the number of resamples, and the confidence of its intervals."""

    seed: int = 0
    resamples: int = 1000
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("resamples", 2)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise OptionError(f"Argument {name!r} must be a whole number of at least {least}, got {value!r}.")
            object.__setattr__(self, name, int(value))
        if not isinstance(self.confidence, int | float) or not 0 < self.confidence < 1:
            raise OptionError(f"Argument 'confidence' must be between 0 and 1, got {self.confidence!r}.")

    def draw_means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means of resampled queries: values (n, m) -> (resamples, m). They depend on the seed alone."""
        rng, n = np.random.default_rng(self.seed), len(values)
        counts = np.empty((min(self.resamples, max(1, DRAWN_AT_ONCE // n)), n))
        found = np.empty((self.resamples, values.shape[1]))
        for begin in range(0, self.resamples, len(counts)):
            block = counts[: self.resamples - begin]
            for row in block:
                # Count how often each query is drawn, so that a matrix product gives the means of all metrics at once.
                row[:] = np.bincount(rng.integers(n, size=n), minlength=n)
            found[begin : begin + len(block)] = block @ values / n
        return found

    def compute_interval(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return low and high for each column, (2, m): the middle `confidence` of the resampled means."""
        tail = (1 - self.confidence) / 2
        bounds: NDArray[np.float64] = np.quantile(means, [tail, 1 - tail], axis=0)
        return bounds

    def to_json(self) -> dict[str, Any]:
        """Return the options."""
        return asdict(self)
