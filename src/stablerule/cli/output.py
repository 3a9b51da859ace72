"""What people and machines get to see."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

console = Console()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """For machines: plain JSON on standard output, whatever the terminal is."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """For people: a table without vertical lines; the columns named in `right` are numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), collapse_padding=True)
    for column in columns:
        made.add_column(
            column, justify="right" if column in right else "left", overflow="fold", no_wrap=column == "name"
        )
    return made


def size(count: float) -> str:
    """Bytes as people say them.

    >>> size(1_500_000)
    '1.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def plain(text: str) -> str:
    """Text that rich prints as it is: a name may look like markup."""
    return escape(text)
