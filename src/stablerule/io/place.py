"""Where rows come from, so that an error can say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stablerule.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl


@dataclass(frozen=True)
class Place:
    """Finds a row of a frame in what was read: a line of text, a row of a frame or list, or only the file.

    >>> str(Place("facts.tsv", lines=[3, 5]).error("expected a tail", 1))
    'facts.tsv, line 5: expected a tail.'
    >>> str(Place("polars frame", first_row=0).error("expected a tail", 1))
    'polars frame: expected a tail (row 1).'
    """

    path: str | Path
    lines: Sequence[int] | None = None
    first_line: int | None = None
    first_row: int | None = None

    def error(self, problem: str, row: int) -> ReadError:
        """Word an error about one row."""
        if self.lines is not None:
            return ReadError(f"{problem}.", path=self.path, line=self.lines[row])
        if self.first_line is not None:
            return ReadError(f"{problem}.", path=self.path, line=self.first_line + row)
        where = "" if self.first_row is None else f" (row {self.first_row + row:,})"
        return ReadError(f"{problem}{where}.", path=self.path)

    def name(self, row: int) -> str:
        """Say the line or the row, for a message that names two of them."""
        if self.lines is not None or self.first_line is not None:
            return f"line {(self.lines[row] if self.lines is not None else (self.first_line or 0) + row):,}"
        return f"row {(self.first_row or 0) + row:,}"


@dataclass(frozen=True)
class Part:
    """Some rows as a frame of names, and where they stand."""

    frame: pl.DataFrame
    place: Place
