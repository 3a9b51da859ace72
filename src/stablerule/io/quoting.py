"""The cells of one CSV record, quoted or not.

The csv module reads a record that ends in its line. The others are read here: it can't be asked whether a record goes
on in the next line, and its limit for the size of a field is one for the whole process.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from stablerule.io.lines import without_line_end

if TYPE_CHECKING:
    from collections.abc import Callable

# A quotation longer than this is one that nobody closed; the rest of the file would be read into memory as one cell.
LONGEST_QUOTATION = 16 << 20


class QuotingError(ValueError):
    """A record that is not CSV."""


def read_record(line: str, more: Callable[[], str | None], separator: str) -> list[str]:
    r"""Split a record into cells; `more` gives the next line while a quotation is open.

    A quote encloses a cell where it is the cell's first character, and is a character like any other elsewhere.

    >>> read_record('5" disk,is,"a ""floppy"" one"\n', lambda: None, ",")
    ['5" disk', 'is', 'a "floppy" one']
    """
    if '"' not in line:
        return _plain_cells(line, separator)
    return _usual(line, separator) or _unusual(line, more, separator)


def _plain_cells(line: str, separator: str) -> list[str]:
    text = without_line_end(line)
    if "\r" in text:
        raise QuotingError("a carriage return inside of a line; lines must end with LF or CRLF")
    return text.split(separator)


def _usual(line: str, separator: str) -> list[str] | None:
    """Let the csv module split a record that ends in its line, which is fast; None where it refuses it, or may err."""
    text = without_line_end(line)
    if "\r" in text:
        return None
    try:
        return next(csv.reader((text,), delimiter=separator, strict=True))
    except csv.Error:
        return None


def _unusual(line: str, more: Callable[[], str | None], separator: str) -> list[str]:
    cells, at = list[str](), 0
    while line.find('"', at) >= 0:
        if not line.startswith('"', at):
            end = line.find(separator, at)
            if end < 0:
                break
            cells += _plain_cells(line[at:end], separator)
            at = end + 1
            continue
        cell, line, at = _quotation(line, at + 1, more)
        cells.append(cell)
        if not without_line_end(line[at : at + 2]):
            return cells
        if line[at] != separator:
            raise QuotingError(f"expected {separator!r} after a closing quote, found {line[at]!r}")
        at += 1
    return cells + _plain_cells(line[at:], separator)


def _quotation(line: str, at: int, more: Callable[[], str | None]) -> tuple[str, str, int]:
    """Read up to the closing quote: the cell, the line in which it ends, and the position behind it."""
    parts, size = list[str](), 0
    while True:
        end = line.find('"', at)
        if end >= 0 and line.startswith('"', end + 1):
            parts.append(line[at : end + 1])
            at = end + 2
            continue
        if end >= 0:
            return "".join([*parts, line[at:end]]), line, end + 1
        parts.append(line[at:])
        size += len(line) - at
        following = more() if size <= LONGEST_QUOTATION else None
        if following is None:
            raise QuotingError("a quotation begins here that does not end")
        line, at = following, 0
