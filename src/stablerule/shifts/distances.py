"""Distances between two sets of queries, each beside what two sets of the same kind would show by chance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from stablerule.shifts.sizes import degree_classes, jensen_shannon, one_hot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.shifts.profile import Profile

RESAMPLES = 200
BEYOND = 0.99


@dataclass(frozen=True)
class Distance:
    """One distance, 0 to 1. null: its mean where both sets are drawn from one pot; null_high: the 99% point of that;
    p: the share of such draws that are as far apart, never 0; is_shifted: beyond the 99% point, and large enough.
    """

    measure: str
    value: float
    null: float
    null_high: float
    p: float
    least: float

    @property
    def is_shifted(self) -> bool:
        """Whether it is more than chance gives, and large enough to matter."""
        return self.value > self.null_high and self.value - self.null > self.least

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "is_shifted": self.is_shifted}


def measure_distances(reference: Profile, current: Profile, *, least: float, seed: int) -> tuple[Distance, ...]:
    """Compare relation mix, degrees and the bodies that fire: Jensen-Shannon, with a resampled null each.

    Sets of different sizes are compared as if they had the same number of queries, so that the distance does not
    depend on how many there are.
    """
    random = np.random.default_rng(seed)
    relations = one_hot(np.concatenate([reference.relations, current.relations]))
    degrees = one_hot(degree_classes(np.concatenate([reference.degrees, current.degrees])))
    # A query where no body fires is a kind of query as well.
    fires = sparse.vstack([reference.fires, current.fires]).tocsr()
    silent = sparse.csr_matrix((np.asarray(fires.sum(1)).ravel() == 0).astype(float)[:, None])
    bodies = sparse.hstack([_row_shares(fires), silent]).tocsr()
    is_current = np.arange(len(reference) + len(current)) >= len(reference)
    return tuple(
        _distance(measure, values, is_current, least, random)
        for measure, values in (("relation mix", relations), ("degrees", degrees), ("bodies that fire", bodies))
    )


def _row_shares(fires: Any) -> Any:
    """Each query counts the same, however many bodies fire for it."""
    sums = np.asarray(fires.sum(1)).ravel()
    return sparse.diags(1 / np.maximum(sums, 1)) @ fires


def _distance(
    measure: str, values: Any, is_current: NDArray[np.bool_], least: float, random: np.random.Generator
) -> Distance:
    total = np.asarray(values.sum(0)).ravel()

    def apart(second: NDArray[np.bool_]) -> float:
        one = np.asarray(values[second].sum(0)).ravel()
        other = total - one
        return jensen_shannon(np.stack([one / max(one.sum(), 1e-12), other / max(other.sum(), 1e-12)]))

    found = apart(is_current)
    null = np.array([apart(random.permutation(is_current)) for _ in range(RESAMPLES)])
    p = (1 + int((null >= found).sum())) / (1 + RESAMPLES)
    return Distance(measure, found, float(null.mean()), float(np.quantile(null, BEYOND)), p, least)
