"""How far a confidence that was measured on some heads may be from the one on all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from stablerule.rules.scored import PESSIMISM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Places = NDArray[np.int64]

LEVEL = 0.95


def bound_confidence(
    support: Numbers, pairs: Numbers, pairs_squared: Numbers, tried: Places, possible: Places
) -> tuple[Numbers, Numbers]:
    """Return the 95% interval of the confidence on all heads, from those that were tried; (n,) each, as the results.

    support, pairs: what was seen. pairs_squared: the pairs of each head, squared and added up.

    Pairs of one head may all be right or all be wrong together, so they count as no more than one observation: n pairs
    are worth n ** 2 / (sum of squares) independent ones (Kish). That number is larger where few heads are left to try
    (finite population). Wilson's interval for so many is no point where all agree; Student's quantile pays for few
    heads. Its lower end is pulled down by as many pairs as there may be at least, as the confidence is.

    >>> one = np.ones(1)
    >>> tried, possible = np.array([10]), np.array([60])
    >>> low, high = bound_confidence(7 * one, 7 * one, 7 * one, tried, possible)  # 7 of 7 pairs, one of each head
    >>> low.round(2).tolist(), high.tolist()
    ([0.49], [1.0])
    """
    unseen = (possible - tried) / np.maximum(possible, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = support / pairs
        independent = pairs**2 / pairs_squared
        z = stdtrit(np.maximum(independent - 1, 1), (1 + LEVEL) / 2)
        worth = independent / unseen
        middle = rate + z**2 / (2 * worth)
        half = z * np.sqrt(rate * (1 - rate) / worth + z**2 / (4 * worth**2))
        low, high = ((middle - half) / (1 + z**2 / worth), (middle + half) / (1 + z**2 / worth))
        spread = np.maximum(pairs_squared - pairs**2 / tried, 0) / np.maximum(tried - 1, 1)
        all_pairs = possible * (pairs / tried)
        at_least = np.maximum(pairs, all_pairs - 2 * possible * np.sqrt(spread / tried * unseen))
    nothing = (pairs <= 0) | (tried <= 0)
    low = np.where(nothing, 0.0, np.clip(low, 0, 1) * at_least / (at_least + PESSIMISM))
    high = np.where(nothing, 1.0, np.clip(high, 0, 1))
    seen, complete = support / (pairs + PESSIMISM), tried == possible
    return np.where(complete, seen, np.minimum(low, seen)), np.where(complete, seen, high)
