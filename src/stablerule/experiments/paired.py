"""Differences of two methods, run by run with the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray


def over_seeds(gains: NDArray[np.float64]) -> dict[str, Any]:
    """The mean of differences, and its interval of 95% by Student's t where there are several seeds.

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
