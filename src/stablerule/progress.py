"""Show the progress of long work on a terminal: stage, share done and time left."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

A_WHILE = 3.0  # seconds before a time left is shown, and for which estimates must agree
SILENT = 2.0  # seconds of compiling before it is announced
COMPILING = "Compiling (first run only); this takes about 15 seconds."
STEADY = 1.3  # the largest ratio of two estimates of the total time that agree


class Advance(Protocol):
    """Report that more is done, optionally with a text."""

    def __call__(self, amount: float, text: str = "") -> None:
        """Move the bar by `amount`."""


class TimeLeft:
    """Estimate the time left, only while estimates of the total time agree: one that jumps is no help.

    >>> left = TimeLeft()
    >>> [left.update(second, share) for second, share in ((1, 0.1), (4, 0.4), (5, 0.5))]
    [None, 6.0, 5.0]
    >>> left.update(9, 0.55)  # it got slower: wait until that is steady
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []  # seconds, and the total time estimated then

    def update(self, seconds: float, share: float) -> float | None:
        """Record the share done after some seconds; return the seconds left, None if they can't be estimated."""
        if share <= 0:
            return None
        began = seconds - max(A_WHILE, seconds / 4)
        before = [one for one in self._seen if one[0] < began]  # the last of them counts, however long ago it was
        self._seen = [*before[-1:], *self._seen[len(before) :], (seconds, seconds / share)]
        wholes = [whole for _, whole in self._seen]
        steady = max(wholes) <= STEADY * min(wholes)
        return max(wholes[-1] - seconds, 0.0) if seconds >= A_WHILE and steady else None


class _Shown:
    """The bar on the screen, if there is one, and the function that prints a line otherwise."""

    bars: Any = None
    task: Any = None
    announce: Callable[[str], None] | None = None


def announce_by(print_message: Callable[[str], None]) -> None:
    """Set the function that prints messages when no bar is shown, such as that kernels are being compiled."""
    _Shown.announce = print_message


class CompilingNotice:
    """Announce the compiling of kernels, which takes seconds on the first run only.

    Prints one line once it has taken two seconds in all. A bar also shows how many parts are compiled so far.
    """

    def __init__(self) -> None:
        self.parts, self.depth, self.seconds = 0, 0, 0.0
        self._began = 0.0
        self._said = False

    def begin(self) -> None:
        """Record that compiling a kernel, or a part of one, begins."""
        if not self.depth:
            self._began = time.monotonic()
        self.depth, self.parts = self.depth + 1, self.parts + 1
        if not self._said and self.seconds + time.monotonic() - self._began > SILENT:
            self._said = True
            if _Shown.bars is not None:
                _Shown.bars.console.print(COMPILING)
            elif _Shown.announce is not None:
                _Shown.announce(COMPILING)
        if _Shown.bars is not None:
            _Shown.bars.update(_Shown.task, text=f"compiling, {self.parts} parts")

    def end(self) -> None:
        """Record that compiling it has ended."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.monotonic() - self._began
            if _Shown.bars is not None:
                _Shown.bars.update(_Shown.task, text="")


COMPILING_NOW = CompilingNotice()


@contextmanager
def progress_bar(what: str, total: float | None, *, unit: str = "") -> Iterator[Advance]:
    """Show a bar on standard error while the block runs; call the result with the amount just done.

    total: None if unknown. unit: "bytes" shows sizes and speed. Inside another bar, it shows its name in that one.

    >>> with progress_bar("counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not sys.stderr.isatty():
        yield lambda amount, text="": None
        return
    if _Shown.bars is not None:
        bars, task = _Shown.bars, _Shown.task
        done = 0.0

        def advance_inside(amount: float, text: str = "") -> None:
            nonlocal done
            done += amount
            share = f" {min(done / total, 1):.0%}" if total else ""
            bars.update(task, text=f"{what}{share} {text}".rstrip())

        advance_inside(0)
        try:
            yield advance_inside
        finally:
            bars.update(task, text="")
        return
    # Imported here because most commands end before a bar is shown.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415

    size = [DownloadColumn(), TransferSpeedColumn()] if unit == "bytes" else [TextColumn("{task.fields[share]}")]
    words = TextColumn("{task.fields[left]}"), TextColumn("{task.fields[text]}")
    columns = [TextColumn("{task.description}"), BarColumn(bar_width=24), *size, *words]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total, text="", share="", left="")
        _Shown.bars, _Shown.task = bars, task
        time_left = TimeLeft()

        def advance(amount: float, text: str = "") -> None:
            bars.update(task, advance=amount)
            if text:
                bars.update(task, text=text)
            now = bars.tasks[0]
            if total:
                share = min(now.completed / total, 1.0)
                left = time_left.update(now.elapsed or 0.0, share)
                bars.update(task, share=f"{share:4.0%}", left="" if left is None else f"{spell_seconds(left)} left")

        try:
            yield advance
        finally:
            _Shown.bars = _Shown.task = None


def spell_seconds(seconds: float) -> str:
    """Spell a time left, rounded to what the estimate is worth.

    >>> spell_seconds(4.2), spell_seconds(75), spell_seconds(4000)
    ('4 s', '1 min 15 s', '67 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds / 5) * 5, 60)
    return f"{minutes} min {rest} s" if minutes < 10 else f"{round(seconds / 60)} min"
