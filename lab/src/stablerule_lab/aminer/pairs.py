"""Turn records into pairs of numbers, one at a time; only names are kept of the text."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stablerule_lab.aminer.affiliations import country_of
from stablerule_lab.aminer.names import Identities, tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stablerule_lab.aminer.record import Record, Venue


@dataclass(frozen=True)
class Wanted:
    """The papers to keep: of these years (inclusive) and venues (in any case)."""

    from_year: int | None = None
    to_year: int | None = None
    venues: frozenset[str] | None = None

    def refuses(self, record: Record) -> str:
        """Return why a paper is skipped; an empty text if it is kept."""
        if self.from_year is not None or self.to_year is not None:
            if record.year is None:
                return "of no known year"
            if not (self.from_year or 0) <= record.year <= (self.to_year or record.year):
                return "of other years"
        if self.venues is not None and self.venues.isdisjoint(spellings(record.venue)):
            return "of other venues"
        return ""


def spellings(venue: Venue | None) -> set[str]:
    """Return the names of a venue in a form to compare."""
    return {tidy(name).casefold() for name in (venue.name, venue.raw)} - {""} if venue else set()


def folded(names: Iterable[str]) -> frozenset[str]:
    """Return venue names in the form of `spellings`."""
    return frozenset(tidy(name).casefold() for name in names)


@dataclass
class Gathering:
    """All that the graph needs, as numbers.

    Flat lists of pairs: wrote (author, paper), published_in (paper, venue), cites (paper, paper), homes (author,
    country). papers: all ids, cited ones included; `kept`: those with a record.
    """

    country: Callable[[str], str | None] | None = country_of
    papers: dict[str, int] = field(default_factory=dict)
    kept: bytearray = field(default_factory=bytearray)
    authors: Identities = field(default_factory=lambda: Identities("author"))
    venues: Identities = field(default_factory=lambda: Identities("venue"))
    countries: dict[str, int] = field(default_factory=dict)
    wrote: array[int] = field(default_factory=lambda: array("i"))
    published_in: array[int] = field(default_factory=lambda: array("i"))
    cites: array[int] = field(default_factory=lambda: array("i"))
    homes: array[int] = field(default_factory=lambda: array("i"))
    counts: Counter[str] = field(default_factory=Counter)
    first_damage: str = ""

    def knows(self, record: Record) -> bool:
        """Tell whether a paper with this id was added before."""
        number = self.papers.get(tidy(record.id))
        return number is not None and bool(self.kept[number])

    def add(self, record: Record) -> None:
        """Add a paper with its authors, venue and citations."""
        paper = self._paper(record.id)
        self.kept[paper] = True
        self.counts["papers"] += 1
        self._add_authors(record, paper)
        venue = record.venue and self.venues.number(record.venue.name, record.venue.id)
        if venue is None:
            self.counts["without venue"] += 1
        else:
            self.published_in.extend((paper, venue))
        for cited in record.references:
            self.cites.extend((paper, self._paper(cited)))

    def _paper(self, key: str) -> int:
        number = self.papers.setdefault(tidy(key), len(self.papers))
        if number == len(self.kept):
            self.kept.append(False)
        return number

    def _add_authors(self, record: Record, paper: int) -> None:
        self.counts["without authors"] += not record.authors
        self.counts["unaligned"] += record.unaligned
        for author in record.authors:
            number = self.authors.number(author.name, author.id)
            if number is None:
                self.counts["nameless"] += 1
                continue
            self.wrote.extend((number, paper))
            for affiliation in author.affiliations if self.country else ():
                self.counts["affiliations"] += 1
                home = self.country(affiliation) if self.country else None
                if home is not None:
                    self.homes.extend((number, self.countries.setdefault(home, len(self.countries))))
                else:
                    self.counts["unplaced"] += 1
