"""Name what changed between two sets of queries: the relations, degrees and bodies whose share moved most."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.shifts.profile import Profile, Profiler

DEGREES = (0, 1, 3, 10, 30, 100)
MOST_OF_A_KIND = 5
SURE = 3.0  # standard errors


@dataclass(frozen=True)
class ShiftCause:
    """A kind of query whose share changed from `before` in the reference to `now`.

    standard_error: of the change. kind: "relation", "degree", or "body" for the queries that a rule's body applies to.
    """

    kind: str
    name: str
    before: float
    now: float
    standard_error: float

    @property
    def change(self) -> float:
        """The increase of the share."""
        return self.now - self.before

    def __str__(self) -> str:
        """Spell it in a sentence.

        >>> print(ShiftCause("degree", "about entities of degree 3 or less", 0.18, 0.61, 0.01))
        61% of the queries are about entities of degree 3 or less (before: 18%)
        >>> print(ShiftCause("body", "nationality <- born_in, city_of", 0.48, 0.91, 0.01))
        the rule nationality <- born_in, city_of applies to 91% of the queries for its relation (before: 48%)
        """
        if self.kind == "body":
            what = f"the rule {self.name} applies to {self.now:.0%} of the queries for its relation"
        else:
            what = f"{self.now:.0%} of the queries are {self.name}"
        return f"{what} (before: {self.before:.0%})"

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with the sentence."""
        return {**asdict(self), "text": str(self)}


def name_shift_causes(reference: Profile, current: Profile, profiler: Profiler) -> list[ShiftCause]:
    """Return the shares that moved by over three standard errors and at least two points, the largest change first."""
    words = profiler.graph.vocabulary
    relations = np.unique(np.concatenate([reference.relations, current.relations]))
    found = _keep_largest_causes(
        [
            _make_share_cause(
                "relation",
                f"for {words.relation_name(int(relation))}",
                reference.relations == relation,
                current.relations == relation,
            )
            for relation in relations
        ]
    )
    found += _keep_largest_causes(
        [
            _make_share_cause(
                "degree",
                f"about entities of degree {degree} or less" if degree else "about entities without facts",
                reference.degrees <= degree,
                current.degrees <= degree,
            )
            for degree in DEGREES
        ]
    )[:2]
    found += _keep_largest_causes(_find_body_causes(reference, current, profiler))
    return sorted(found, key=lambda cause: -abs(cause.change))


def _find_body_causes(reference: Profile, current: Profile, profiler: Profiler) -> list[ShiftCause]:
    """Compare each body among the queries of its relation: otherwise a more frequent relation would move all bodies."""
    found = []
    for relation in np.intersect1d(reference.relations, current.relations):
        old, new = np.flatnonzero(reference.relations == relation), np.flatnonzero(current.relations == relation)
        columns = np.flatnonzero(profiler.body_relations == relation)
        if not len(columns):
            continue
        columns = _keep_distinct_bodies(columns, reference.fires[old], current.fires[new], profiler)
        before = np.asarray(reference.fires[old][:, columns].mean(0)).ravel()
        now = np.asarray(current.fires[new][:, columns].mean(0)).ravel()
        for place, column in enumerate(columns.tolist()):
            error = _estimate_standard_error(before[place], len(old), now[place], len(new))
            name = profiler.body_name(column)
            found.append(ShiftCause("body", name, float(before[place]), float(now[place]), error))
    return found


def _keep_distinct_bodies(columns: NDArray[np.int64], before: Any, now: Any, profiler: Profiler) -> NDArray[np.int64]:
    """Keep the shortest of all bodies that fire for exactly the same queries."""
    found: dict[bytes, int] = {}
    lengths = (profiler.bodies[columns] >= 0).sum(1)
    for column in columns[np.argsort(lengths, kind="stable")].tolist():
        pattern = np.concatenate([fires[:, [column]].toarray().ravel() > 0 for fires in (before, now)])
        found.setdefault(pattern.tobytes(), column)
    return np.sort(np.array(list(found.values()), np.int64))


def _make_share_cause(kind: str, name: str, before: NDArray[np.bool_], now: NDArray[np.bool_]) -> ShiftCause:
    old, new = float(before.mean()), float(now.mean())
    return ShiftCause(kind, name, old, new, _estimate_standard_error(old, len(before), new, len(now)))


def _estimate_standard_error(before: float, n_before: int, now: float, n_now: int) -> float:
    """Return the standard error of the difference of two shares, under the hypothesis that they are equal."""
    share = (before * n_before + now * n_now) / max(n_before + n_now, 1)
    share = min(share, 1.0)  # the mean of ones may be rounded above 1
    return float(np.sqrt(share * (1 - share) * (1 / max(n_before, 1) + 1 / max(n_now, 1))))


def _keep_largest_causes(causes: list[ShiftCause]) -> list[ShiftCause]:
    sure = [c for c in causes if abs(c.change) > SURE * c.standard_error and abs(c.change) >= 0.02]
    return sorted(sure, key=lambda cause: -abs(cause.change))[:MOST_OF_A_KIND]
