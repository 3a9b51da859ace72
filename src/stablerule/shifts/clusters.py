"""Clusters of equal size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.shifts.extras import need_balanced_clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

STARTS, STEPS = 3, 30
MOST_TO_FIT = 4000  # more points than that are assigned to the centres of so many of them


def balanced_clusters(points: NDArray[np.float64], k: int, seed: int) -> NDArray[np.int64]:
    """Give each of n points one of k clusters whose sizes differ by at most one: balanced k-means.

    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> len(set(balanced_clusters(points, 3, seed=0)[[0, 2, 4]]))
    3
    """
    n = len(points)
    if k == 1 or n < k:
        return np.arange(n, dtype=np.int64) % k
    need_balanced_clusters("Making groups of equal size")
    from k_means_constrained import KMeansConstrained  # noqa: PLC0415  # an extra

    random = np.random.default_rng(seed)
    some = points if n <= MOST_TO_FIT else points[random.choice(n, MOST_TO_FIT, replace=False)]
    model = KMeansConstrained(
        k,
        size_min=len(some) // k,
        size_max=-(-len(some) // k),
        n_init=STARTS,
        max_iter=STEPS,
        random_state=int(random.integers(2**31)),
    ).fit(some)
    labels: NDArray[np.int64] = np.asarray(
        model.labels_ if some is points else model.predict(points, size_min=n // k, size_max=-(-n // k)), np.int64
    )
    return labels
