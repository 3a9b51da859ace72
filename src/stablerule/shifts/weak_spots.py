"""Find the current queries that a model will answer badly: by relation, by degree, by the best rule that applies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.evaluation.evaluation import DEGREE_NAMES, DEGREES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.shifts.profile import Profile, Profiler

FEWEST = 10  # queries; smaller spots are not listed
MOST_OF_A_KIND = 6


@dataclass(frozen=True)
class WeakSpot:
    """A kind of current queries, their expected MRR, and the measured one if they have answers."""

    kind: str
    name: str
    n: int
    share: float
    expected_mrr: float
    measured_mrr: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def find_weak_spots(
    current: Profile, each: NDArray[np.float64], measured: NDArray[np.float64] | None, profiler: Profiler
) -> list[WeakSpot]:
    """Return the spots below the overall mean, weakest of each kind first. each: (n,), expected reciprocal ranks."""
    words = profiler.graph.vocabulary
    relations = [words.relation_name(int(relation)) for relation in current.relations]
    degrees = [f"degree {DEGREE_NAMES[place]}" for place in np.searchsorted(DEGREES, current.degrees)]
    found = []
    for kind, names in (
        ("relation", relations),
        ("degree", degrees),
        ("signature", name_strongest_bodies(current, profiler)),
    ):
        spots = _list_spots(kind, names, each, measured)
        weak = [spot for spot in spots if spot.expected_mrr < float(each.mean()) or len(spots) == 1]
        found += sorted(weak, key=lambda spot: spot.expected_mrr)[:MOST_OF_A_KIND]
    return found


def name_strongest_bodies(current: Profile, profiler: Profiler) -> list[str]:
    """Return the best rule that applies to each query, by name."""
    names = []
    fires = current.fires
    for row in range(fires.shape[0]):
        bodies = fires.indices[fires.indptr[row] : fires.indptr[row + 1]]
        names.append(
            profiler.body_name(int(bodies[np.argmax(profiler.trust[bodies])])) if len(bodies) else "no rule applies"
        )
    return names


def _list_spots(
    kind: str, names: list[str], each: NDArray[np.float64], measured: NDArray[np.float64] | None
) -> list[WeakSpot]:
    found, places = np.unique(np.asarray(names, object), return_inverse=True)
    spots = []
    for place, name in enumerate(found.tolist()):
        rows = places == place
        n = int(rows.sum())
        if n < FEWEST:
            continue
        known = None if measured is None or np.isnan(measured[rows]).all() else float(np.nanmean(measured[rows]))
        spots.append(WeakSpot(kind, name, n, n / len(names), float(each[rows].mean()), known))
    return spots
