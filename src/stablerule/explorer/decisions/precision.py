"""How many of the decided candidates were right, beside how many were predicted to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.graph.behaviour import bound_behaviour_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.explorer.decisions.store import Store

EDGES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
FEWEST = 10  # decisions before a share says anything


@dataclass(frozen=True)
class PrecisionBin:
    """The decided candidates with a probability from `least` to `most`, or all.

    measured: the share that was accepted, of those that were accepted or rejected, with its 95% interval (Wilson's).
    predicted: the mean of their probabilities.
    """

    least: float
    most: float
    accepted: int
    rejected: int
    measured: float | None
    low: float | None
    high: float | None
    predicted: float | None


@dataclass(frozen=True)
class Precision:
    """All decided candidates, and the same by their probability; enough: whether there are enough to say something."""

    whole: PrecisionBin
    bins: list[PrecisionBin]
    enough: bool


def measure_precision(store: Store, *, model: str | None = None) -> Precision:
    """Compare the decisions with the probabilities that the candidates had at that time.

    model: only decisions about candidates of one model. A queue sorted by probability measures the precision of
    the best candidates, one in random order that of all.
    """
    where, values = ("AND model = ?", [model]) if model else ("", [])
    question = f"SELECT verdict = 'accept', probability FROM verdicts WHERE verdict != 'unsure' {where}"
    rows = store.read(question, *values)
    right = np.array([row[0] for row in rows], bool)
    chances = np.array([np.nan if row[1] is None else row[1] for row in rows], float)
    place = np.clip(np.searchsorted(EDGES, chances, side="right") - 1, 0, len(EDGES) - 2)
    bins = []
    for i in range(len(EDGES) - 1):
        here = (place == i) & ~np.isnan(chances)
        if here.any():
            bins.append(_measure(right[here], chances[here], EDGES[i], EDGES[i + 1]))
    return Precision(_measure(right, chances, 0.0, 1.0), bins, len(rows) >= FEWEST)


def _measure(right: NDArray[np.bool_], chances: NDArray[np.float64], least: float, most: float) -> PrecisionBin:
    n, accepted = len(right), int(right.sum())
    some = chances[~np.isnan(chances)]
    low = float(bound_behaviour_share(np.array([accepted]), np.array([n]))[0])
    high = 1 - float(bound_behaviour_share(np.array([n - accepted]), np.array([n]))[0])
    return PrecisionBin(
        least=least,
        most=most,
        accepted=accepted,
        rejected=n - accepted,
        measured=accepted / n if n else None,
        low=low if n else None,
        high=high if n else None,
        predicted=float(some.mean()) if len(some) else None,
    )
