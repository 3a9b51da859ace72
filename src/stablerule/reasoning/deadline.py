"""Time that may be used, and how much of it is left."""

from __future__ import annotations

import math
import time


class Deadline:
    """A budget of minutes from now on; None is as long as it takes.

    >>> Deadline(None).passed, Deadline(60).left > 3500, Deadline(0).passed
    (False, True, True)
    """

    def __init__(self, minutes: float | None) -> None:
        self._end = math.inf if minutes is None else time.monotonic() + 60 * minutes

    @property
    def left(self) -> float:
        """Seconds that are left, infinite without a budget."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is time to come to an end."""
        return self.left <= 0

    def part(self, share: float) -> Deadline:
        """A deadline for a part of what is left."""
        return Deadline(None if math.isinf(self._end) else share * self.left / 60)
