"""End a run early: by its time budget, or by Ctrl-C."""

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
    """Raise an error unless a time budget is a finite number of at least 0.

    >>> check_minutes(-1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'minutes' must be a number of at least 0, got -1.
    """
    if not (math.isfinite(minutes) and minutes >= 0):
        raise OptionError(f"Argument 'minutes' must be a number of at least 0, got {minutes:g}.")


class Budget:
    """A time budget that starts now; None is no limit.

    It records whether anything was cut short because of it, or because of a part of it, and what, in `skipped`.

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
        self.skipped: list[str] = []

    @property
    def left(self) -> float:
        """Seconds left, infinite without a limit."""
        return max(0.0, self._end - time.monotonic())

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return not math.isinf(self._end)

    @property
    def passed(self) -> bool:
        """Whether the time is over. If so, this is recorded as cutting work short: ask only before more work."""
        if self.left > 0:
            return False
        self.cut()
        return True

    def cut(self, what: str | None = None) -> None:
        """Record that work was cut short, and in words which."""
        self._whole.cut_short = True
        if what is not None:
            self._whole.skipped.append(what)

    def take_part(self, share: float) -> Budget:
        """Return a budget for a share of the time left."""
        return Budget(share * self.left / 60 if self.limited else None, self._whole)


@contextmanager
def interrupt_later() -> Iterator[Callable[[], bool]]:
    """Delay Ctrl-C while the block runs, so that it can finish a step; yield a function that says whether it was
    pressed.

    A second Ctrl-C interrupts at once. Only the main thread receives signals: in other threads nothing changes.
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
