"""Where head, relation and tail stand in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stablerule.errors import ReadError, closest
from stablerule.io.options import EXTRA, TRIPLE, ReadOptions, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# What people call the three columns. A first line with one of these is a header.
KNOWN_HEADERS = (
    TRIPLE,
    ("h", "r", "t"),
    ("subject", "predicate", "object"),
    ("s", "p", "o"),
    ("subject", "relation", "object"),
    ("head", "relationship", "tail"),
    ("source", "relation", "target"),
    ("from", "relation", "to"),
)


@dataclass(frozen=True)
class Layout:
    """The number of columns of a table and the place of those that are read."""

    width: int
    places: dict[str, int]
    has_header: bool


def find_layout(first: Sequence[str], options: ReadOptions, *, path: str | Path, line: int | None = None) -> Layout:
    """Read the first line of a table as header or as data, as the options and its words say.

    >>> find_layout(["object", "subject", "predicate"], ReadOptions(), path="x.csv", line=1).places
    {'head': 1, 'relation': 2, 'tail': 0}
    """
    wanted = options.wanted
    if wanted is None:
        known = known_header(first) if options.header is not False else None
        if known:
            return Layout(len(first), known, has_header=True)
        if len(first) != 3:
            raise ReadError(_wrong_width(first, options), path=path, line=line)
        return Layout(3, {"head": 0, "relation": 1, "tail": 2}, has_header=options.header is True)
    if any(isinstance(column, int) for column in wanted.values()):
        places = {role: column for role, column in wanted.items() if isinstance(column, int)}
        if max(places.values()) >= len(first):
            raise ReadError(
                f"column {max(places.values())} was asked for, but there are {len(first)} columns (numbered from 0).",
                path=path,
                line=line,
            )
        header = options.header if options.header is not None else known_header(first) is not None
        return Layout(len(first), places, has_header=header)
    return Layout(len(first), _named_places(first, wanted, path, line), has_header=True)


def known_header(first: Sequence[str]) -> dict[str, int] | None:
    """Return the places of head, relation and tail if these words are a header, else None."""
    words = [word.strip().casefold() for word in first]
    for names in KNOWN_HEADERS:
        if all(words.count(name) == 1 for name in names):
            places = {role: words.index(name) for role, name in zip(TRIPLE, names, strict=True)}
            extras = {e: words.index(e) for e in EXTRA if words.count(e) == 1 and words.index(e) not in places.values()}
            return places | extras
    return None


def _named_places(
    first: Sequence[str], wanted: dict[str, str | int], path: str | Path, line: int | None
) -> dict[str, int]:
    places = {}
    for role, column in wanted.items():
        if column not in first:
            raise ReadError(
                f"no column {column!r} in the header ({', '.join(map(repr, first))}).{closest(str(column), first)}",
                path=path,
                line=line,
            )
        if list(first).count(str(column)) > 1:
            raise ReadError(
                f"two columns are called {column!r}. Say which to read by number, from 0: {spelled('columns')}.",
                path=path,
                line=line,
            )
        places[role] = list(first).index(str(column))
    return places


def _wrong_width(first: Sequence[str], options: ReadOptions) -> str:
    found = f"expected 3 columns (head, relation, tail), found {len(first)}"
    if len(first) > 3:
        return f"{found}. Say which to read with {spelled('columns')}, by name or by number."
    for separator, name in (("\t", "tab"), (",", "comma"), (";", "semicolon"), (" ", "space"), ("|", "bar")):
        if separator != options.separator and any(cell.count(separator) == 2 for cell in first):
            return f"{found}. It looks as if a {name} separates them: pass {spelled('separator', separator)}."
    return f"{found}: {' | '.join(first)[:80]!r}."
