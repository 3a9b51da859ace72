"""Numbers to places along a horizontal scale, as percentages: a figure keeps its text size at every width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

STEPS = {0.05: 0.01, 0.1: 0.02, 0.2: 0.05, 0.5: 0.1, 1.0: 0.25}  # from the end of a scale to its steps
SMALLEST_SEGMENT = 0.008  # of the width: what is there can be seen


@dataclass(frozen=True)
class Tick:
    """A step of the scale: its place, what is written there, and which side of the text stands at the place."""

    place: str
    label: str
    anchor: str


@dataclass(frozen=True)
class Scale:
    """From 0 to `top`.

    >>> Scale(0.5).place(0.2), Scale(0.5).width(0.1, 0.2), Scale(1.0).place(1.0000000000000007)
    ('40%', '20%', '100%')
    """

    top: float = 1.0
    as_share: bool = False

    @classmethod
    def up_to(cls, values: Iterable[float], *, as_share: bool = False) -> Scale:
        """Return the shortest scale that has all values on it.

        >>> Scale.up_to([0.04, 0.3]).top
        0.5
        """
        largest = max(values, default=1.0)
        return cls(next((top for top in STEPS if largest <= top), 1.0), as_share)

    def place(self, value: float) -> str:
        """Say where a value stands; one beyond the scale stands at its end."""
        return _write_percentage(self._share(value))

    def width(self, start: float, end: float) -> str:
        """Say how wide a bar is."""
        return _write_percentage(self._share(end) - self._share(start))

    @property
    def ticks(self) -> list[Tick]:
        """The steps with their labels; the outer ones stay inside."""
        step = STEPS[self.top]
        values = [step * place for place in range(round(self.top / step) + 1)]
        return [
            Tick(
                self.place(value),
                f"{value:.0%}" if self.as_share else f"{value:g}",
                "start" if value == 0 else "end" if place == len(values) - 1 else "middle",
            )
            for place, value in enumerate(values)
        ]

    def _share(self, value: float) -> float:
        return min(max(value / self.top, 0.0), 1.0)


def stack_bars(counts: list[int]) -> list[tuple[str, str]]:
    """Put counts in a row: where each begins, and its width. A small one is wide enough to be seen.

    >>> stack_bars([3, 0, 1])
    [('0%', '75%'), ('75%', '0%'), ('75%', '25%')]
    """
    total = max(sum(counts), 1)
    shares = [max(count / total, SMALLEST_SEGMENT) if count else 0.0 for count in counts]
    whole = sum(shares) or 1.0
    found, start = [], 0.0
    for share in shares:
        found.append((_write_percentage(start), _write_percentage(share / whole)))
        start += share / whole
    return found


def _write_percentage(share: float) -> str:
    return f"{round(100 * share, 2):g}%"
