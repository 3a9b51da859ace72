"""Ctrl-C at the end of a step instead of in the middle of one."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def interrupt_later() -> Iterator[Callable[[], bool]]:
    """While the block runs, Ctrl-C is only noted, and the result says so when asked; a second one interrupts at once.

    Only the main thread can listen to signals: elsewhere nothing changes.
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
