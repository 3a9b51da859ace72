"""Figures over groups: the mean, the spread, and the worst one by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.evaluation.metrics import METRICS, Figures

if TYPE_CHECKING:
    from collections.abc import Mapping


class Worst(NamedTuple):
    """The group with the lowest figure."""

    group: str
    value: float


@dataclass(frozen=True)
class GroupFigures:
    """Figures of each group, and over groups, each of which counts the same whatever its size.

    The standard deviation is that of these groups (divided by their number): they are all there are, not a sample.

    >>> rows = {"a": dict.fromkeys(METRICS, 0.75), "b": dict.fromkeys(METRICS, 0.25)}
    >>> over = GroupFigures({name: Figures(5, metrics, 1.0) for name, metrics in rows.items()})
    >>> over.mean["mrr"], over.std["mrr"], over.worst["mrr"]
    (0.5, 0.25, Worst(group='b', value=0.25))
    """

    groups: Mapping[str, Figures]

    @property
    def mean(self) -> dict[str, float]:
        """Mean over groups, for each metric."""
        return {metric: float(np.mean([f[metric] for f in self.groups.values()])) for metric in METRICS}

    @property
    def std(self) -> dict[str, float]:
        """Standard deviation over groups, for each metric."""
        return {metric: float(np.std([f[metric] for f in self.groups.values()])) for metric in METRICS}

    @property
    def worst(self) -> dict[str, Worst]:
        """The worst group by each metric; the first by name where several are."""
        lowest = {metric: min(self.groups, key=lambda name: (self.groups[name][metric], name)) for metric in METRICS}
        return {metric: Worst(name, self.groups[name][metric]) for metric, name in lowest.items()}

    def to_json(self) -> dict[str, Any]:
        """Return what a results file holds."""
        return {
            "names": {name: figures.to_json() for name, figures in self.groups.items()},
            "mean": self.mean,
            "std": self.std,
            "worst": {metric: worst._asdict() for metric, worst in self.worst.items()},
        }
