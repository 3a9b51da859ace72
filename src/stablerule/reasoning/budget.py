"""What ends a run early: the time that it may use, and Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def check_minutes(minutes: float) -> None:
    """Refuse a budget that is none.

    >>> check_minutes(-1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'minutes' must be a number from 0 on, got -1.
    """
    if not (math.isfinite(minutes) and minutes >= 0):
        raise OptionError(f"Argument 'minutes' must be a number from 0 on, got {minutes:g}.")


class Budget:
    """A budget of minutes from now on; None is as long as it takes.

    It remembers whether anything was cut short because of it, or because of a part of it.

    >>> Budget(None).passed, Budget(60).left > 3500, Budget(0).passed
    (False, True, True)
    >>> whole = Budget(60)
    >>> whole.take_part(0).passed, whole.passed, whole.cut_short
    (True, False, True)
    """

    def __init__(self, minutes: float | None, whole: Budget | None = None) -> None:
        self._end = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self._whole = whole or self
        self.cut_short = False

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
        """Whether it is time to come to an end. To be asked where something would go on: a yes is remembered."""
        if self.left > 0:
            return False
        self.cut()
        return True

    def cut(self) -> None:
        """Remember that less was done than without a budget."""
        self._whole.cut_short = True

    def take_part(self, share: float) -> Budget:
        """A deadline for a part of what is left."""
        return Budget(share * self.left / 60 if self.limited else None, self._whole)


@contextmanager
def interrupt_later() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C while the block runs, so that a step is finished first; what is yielded tells whether it came.

    A second Ctrl-C interrupts at once. Only the main thread can listen to signals: elsewhere nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = False

    def note(*_: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
