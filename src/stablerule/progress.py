"""How long work says how far it is: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import ProgressColumn


class Advance(Protocol):
    """Say that so much more is done, and perhaps how it stands."""

    def __call__(self, amount: float, text: str = "") -> None:
        """Move the bar by `amount`."""


@contextmanager
def progress_bar(what: str, total: float | None, *, unit: str = "") -> Iterator[Advance]:
    """Show a bar on standard error while the block runs; call the result with the amount just done.

    unit: "bytes" shows sizes and speed.

    >>> with progress_bar("counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not sys.stderr.isatty():
        yield lambda amount, text="": None
        return
    # Imported here because most commands end before there is anything to show.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    amounts: list[ProgressColumn] = (
        [DownloadColumn(), TransferSpeedColumn()] if unit == "bytes" else [MofNCompleteColumn()]
    )
    how_it_stands = TextColumn("{task.fields[text]}")
    columns = [TextColumn("{task.description}"), BarColumn(), *amounts, TimeRemainingColumn(), how_it_stands]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total, text="")

        def advance(amount: float, text: str = "") -> None:
            bars.update(task, advance=amount)
            if text:
                bars.update(task, text=text)

        yield advance
