"""The record of one paper, the same for all versions."""

from __future__ import annotations

from typing import NamedTuple

EXPECTED = (
    "Expected a dump of AMiner's citation network: text with lines such as #*title, #@authors and #index, or JSON "
    "with an object for each paper"
)


class Line(NamedTuple):
    """A line of a file; `broken` describes damaged bytes, if there are any."""

    number: int
    text: str
    broken: str = ""


class Author(NamedTuple):
    """An author of a paper. Older versions have no ids, and many papers no affiliations."""

    name: str
    id: str = ""
    affiliations: tuple[str, ...] = ()


class Venue(NamedTuple):
    """The venue of a paper; `raw` is the spelling of the paper, `name` may be a cleaner one."""

    name: str
    id: str = ""
    raw: str = ""


class Record(NamedTuple):
    """One paper, with the number of its first line."""

    line: int
    id: str
    authors: tuple[Author, ...] = ()
    venue: Venue | None = None
    year: int | None = None
    references: tuple[str, ...] = ()
    unaligned: bool = False  # it has affiliations, but not one for each author


class Damage(NamedTuple):
    """A damaged record: its first line, and the problem."""

    line: int
    problem: str


def year_of(text: str) -> int | None:
    """Return a year, or None if the text is not one.

    >>> year_of("2005"), year_of("-1"), year_of("")
    (2005, None, None)
    """
    return int(text) if text.isdecimal() and 1000 <= int(text[:6]) <= 9999 else None
