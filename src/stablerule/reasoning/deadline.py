"""Time that may be used, and how much of it is left."""

from __future__ import annotations

import math
import time

from stablerule.errors import OptionError


def check_minutes(minutes: float) -> None:
    """Refuse a budget that is none.

    >>> check_minutes(-1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'minutes' must be a number from 0 on, got -1.
    """
    if not (math.isfinite(minutes) and minutes >= 0):
        raise OptionError(f"Argument 'minutes' must be a number from 0 on, got {minutes:g}.")


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
    def limited(self) -> bool:
        """Whether there is a budget at all."""
        return not math.isinf(self._end)

    @property
    def passed(self) -> bool:
        """Whether it is time to come to an end."""
        return self.left <= 0

    def part(self, share: float) -> Deadline:
        """A deadline for a part of what is left."""
        return Deadline(share * self.left / 60 if self.limited else None)
