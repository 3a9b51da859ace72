"""Differences of two methods, paired by seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class Change(NamedTuple):
    """The change from one method to another; `whole` is the mean of the first. One seed has no interval (95%)."""

    seeds: int
    difference: float
    whole: float
    interval: tuple[float, float] | None

    @property
    def share(self) -> float:
        """The difference as a share of the whole."""
        return self.difference / self.whole

    @property
    def half(self) -> float | None:
        """Half of the interval."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0."""
        return None if self.half is None else abs(self.difference) > self.half


def change(own: Mapping[int, float], other: Mapping[int, float]) -> Change | None:
    """Return the change from the other method to this one over their shared seeds; None without any.

    >>> change({0: 0.75, 1: 0.9}, {0: 0.5})
    Change(seeds=1, difference=0.25, whole=0.5, interval=None)
    """
    shared = sorted(set(own) & set(other))
    if not shared:
        return None
    found = over_seeds(np.array([own[seed] - other[seed] for seed in shared]))
    whole = float(np.mean([other[seed] for seed in shared]))
    ends = found.get("seeds")
    return Change(len(shared), found["difference"], whole, (ends[0], ends[1]) if ends else None)


def over_seeds(gains: NDArray[np.float64]) -> dict[str, Any]:
    """Return the mean of differences and, with several seeds, its 95% interval by Student's t.

    >>> over_seeds(np.array([0.5]))
    {'difference': 0.5}
    >>> found = over_seeds(np.array([1.0, 2.0, 3.0]))
    >>> found["difference"], [round(end, 2) for end in found["seeds"]]
    (2.0, [-0.48, 4.48])
    """
    found: dict[str, Any] = {"difference": float(gains.mean())}
    if len(gains) > 1:
        half = float(stats.t.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)))
        found["seeds"] = [float(gains.mean()) - half, float(gains.mean()) + half]
    return found
