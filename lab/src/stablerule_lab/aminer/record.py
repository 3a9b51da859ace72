"""What a dump says about one paper, whatever its version."""

from __future__ import annotations

from typing import NamedTuple

EXPECTED = (
    "Expected a dump of AMiner's citation network: text with lines such as #*title, #@authors and #index, or JSON "
    "with an object for each paper"
)


class Line(NamedTuple):
    """A line of a file; `broken` says what is wrong with its bytes, where something is."""

    number: int
    text: str
    broken: str = ""


class Author(NamedTuple):
    """An author as a paper names them; older versions know no ids, and many papers no affiliations."""

    name: str
    id: str = ""
    affiliations: tuple[str, ...] = ()


class Venue(NamedTuple):
    """Where a paper appeared; `raw` is how the paper spells it, and `name` may be a tidier spelling."""

    name: str
    id: str = ""
    raw: str = ""


class Record(NamedTuple):
    """One paper, and the line at which it begins."""

    line: int
    id: str
    authors: tuple[Author, ...] = ()
    venue: Venue | None = None
    year: int | None = None
    references: tuple[str, ...] = ()
    unaligned: bool = False  # there are affiliations, but not one for each author


class Damage(NamedTuple):
    """What can't be a record, where it begins, and why."""

    line: int
    problem: str


def year_of(text: str) -> int | None:
    """Read a year; what is none is not known.

    >>> year_of("2005"), year_of("-1"), year_of("")
    (2005, None, None)
    """
    return int(text) if text.isdecimal() and 1000 <= int(text[:6]) <= 9999 else None
