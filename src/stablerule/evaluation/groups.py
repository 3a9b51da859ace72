"""Metrics over groups: the mean, the spread compared with chance, and the worst group."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.evaluation.metrics import METRICS, Figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.evaluation.metrics import Resampling

DEALS = 500  # random groupings for the spread by chance
BEYOND = 0.95


def make_group_sort_key(name: str) -> list[str | int]:
    """Return a sort key for group names that sorts numbers in them as numbers.

    >>> sorted(["degree 10 to 1,200", "degree 2", "degree 3 to 9"], key=make_group_sort_key)
    ['degree 2', 'degree 3 to 9', 'degree 10 to 1,200']
    """
    parts = re.split(r"([0-9][0-9,]*)", name)  # text and numbers alternate
    return [int(part.replace(",", "")) if place % 2 else part for place, part in enumerate(parts)]


class Worst(NamedTuple):
    """The group with the lowest value."""

    group: str
    value: float


class ByChance(NamedTuple):
    """The standard deviation over random groups of the same sizes: its mean, and its 95% point."""

    mean: float
    high: float


@dataclass(frozen=True)
class GroupFigures:
    """The metrics of each group, and over groups, which all have the same weight.

    The standard deviation divides by the number of groups: they are all the groups, not a sample. Finite groups differ
    by chance alone; `by_chance` has the expected deviation for each metric. intervals: for each group and metric, over
    resamples of its queries.

    >>> rows = {"a": dict.fromkeys(METRICS, 0.75), "b": dict.fromkeys(METRICS, 0.25)}
    >>> over = GroupFigures({name: Figures(5, metrics, 1.0) for name, metrics in rows.items()})
    >>> over.mean["mrr"], over.std["mrr"], over.worst["mrr"]
    (0.5, 0.25, Worst(group='b', value=0.25))
    """

    groups: Mapping[str, Figures]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    by_chance: Mapping[str, ByChance] = field(default_factory=dict)

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
        """The worst group for each metric; of several, the first by name."""
        lowest = {metric: min(self.groups, key=lambda name: (self.groups[name][metric], name)) for metric in METRICS}
        return {metric: Worst(name, self.groups[name][metric]) for metric, name in lowest.items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a results file."""
        names = {
            name: figures.to_json()
            | {"intervals": {metric: list(bounds) for metric, bounds in self.intervals.get(name, {}).items()}}
            for name, figures in self.groups.items()
        }
        return {
            "names": names,
            "mean": self.mean,
            "std": self.std,
            "std_by_chance": {metric: chance._asdict() for metric, chance in self.by_chance.items()},
            "worst": {metric: worst._asdict() for metric, worst in self.worst.items()},
        }


def measure_chance_spread(
    values: NDArray[np.float64], groups: NDArray[np.int64], seed: int, deals: int = DEALS
) -> dict[str, ByChance]:
    """Measure the deviation over random groups of the same sizes, by assigning facts at random many times.

    values: (n, 4), the metrics of each fact, averaged over its queries. groups: (n,).

    >>> found = measure_chance_spread(np.ones((10, 4)), np.arange(10) % 2, seed=0)
    >>> found["mrr"]
    ByChance(mean=0.0, high=0.0)
    """
    random = np.random.default_rng([seed, len(values)])
    sizes = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])[:-1]])
    spreads = np.empty((deals, values.shape[1]))
    for deal in range(deals):
        sums = np.add.reduceat(values[random.permutation(len(values))], starts, axis=0)
        spreads[deal] = (sums / sizes[sizes > 0][:, None]).std(0)
    high = np.quantile(spreads, BEYOND, axis=0)
    return {
        metric: ByChance(float(mean), float(most))
        for metric, mean, most in zip(METRICS, spreads.mean(0), high, strict=True)
    }


def measure_group_intervals(
    names: list[str], values: NDArray[np.float64], groups: NDArray[np.int64], resampling: Resampling
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the bootstrap interval of each metric in each group; values (n, 4), groups (n,) as indices of names."""
    found = {}
    for place, name in enumerate(names):
        low, high = resampling.compute_interval(resampling.draw_means(values[groups == place]))
        found[name] = {
            metric: (float(a), float(b)) for metric, a, b in zip(METRICS, low.tolist(), high.tolist(), strict=True)
        }
    return found
