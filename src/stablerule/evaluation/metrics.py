"""From ranks to figures: mean reciprocal rank and Hits@k, for all queries or for each of several kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

HITS = (1, 3, 10)
METRICS = ("mrr", *(f"hits@{k}" for k in HITS))


@dataclass(frozen=True)
class Figures:
    """What came out for n queries: a mean for each metric, and the share of answers above the floor.

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
    """Ranks (n,) -> what each query adds to each metric (n, 4), in the order of METRICS.

    >>> compute_metrics(np.array([1.0, 3.5]))
    array([[1.        , 1.        , 1.        , 1.        ],
           [0.28571429, 0.        , 0.        , 1.        ]])
    """
    return np.stack([1.0 / ranks, *(ranks <= k for k in HITS)], axis=1)


def average_metrics(values: NDArray[np.float64], covered: NDArray[np.bool_]) -> Figures:
    """Mean over all queries, (n, 4) and (n,); there must be at least one."""
    metrics = dict(zip(METRICS, values.mean(0).tolist(), strict=True))
    return Figures(len(values), metrics, float(covered.mean()))


def average_metrics_by_kind(
    kinds: NDArray[np.integer[Any]], names: Sequence[str], values: NDArray[np.float64], covered: NDArray[np.bool_]
) -> dict[str, Figures]:
    """Mean over the queries of each kind; kinds (n,) are places in `names`. A kind without queries is left out."""
    order = np.argsort(kinds, kind="stable")
    present, starts = np.unique(kinds[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {
        names[kind]: average_metrics(values[part], covered[part]) for kind, part in zip(present, parts, strict=True)
    }
