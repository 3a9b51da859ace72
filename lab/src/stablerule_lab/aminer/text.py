"""Read the text versions of the dump: blocks of lines, each with a mark for its field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stablerule_lab.aminer.record import Author, Damage, Line, Record, Venue, year_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ID, TITLE, AUTHORS, AFFILIATIONS, YEAR, VENUE, CITED, ABSTRACT, OTHER = range(9)
# Longer marks first: #conf also begins with #c.
MARKS = {
    "#citation": OTHER,
    "#arnetid": OTHER,
    "#index": ID,
    "#year": YEAR,
    "#conf": VENUE,
    "#*": TITLE,
    "#@": AUTHORS,
    "#o": AFFILIATIONS,
    "#t": YEAR,
    "#c": VENUE,
    "#%": CITED,
    "#!": ABSTRACT,
}
UNKNOWN = "-"


def read_text(lines: Iterable[Line]) -> Iterator[Record | Damage]:
    """Read records from lines; a blank line or the first mark of the next record ends one.

    >>> lines = ["#*On Rules", "#@Ann Lee,Bo Chen", "#t2001", "#cKDD", "#index7", "#%3"]
    >>> record = next(read_text(Line(number, text) for number, text in enumerate(lines, 1)))
    >>> [author.name for author in record.authors], record.id, record.year, record.references
    (['Ann Lee', 'Bo Chen'], '7', 2001, ('3',))
    """
    block, first = _Block(), True
    for line in lines:
        text = line.text.strip()
        if first and text:
            first = False
            if text.isdecimal():  # some files start with the number of records
                continue
        mark = next((known for known in MARKS if text.startswith(known)), None)
        if not text or (mark and block.begins_next(MARKS[mark])):
            yield from block.finish()
            block = _Block()
        if text:
            block.add(line, mark, text)
    yield from block.finish()


@dataclass
class _Block:
    """The lines of one record."""

    begin: int = 0
    problem: str = ""
    fields: dict[int, list[str]] = field(default_factory=dict)
    last: int = OTHER

    def begins_next(self, kind: int) -> bool:
        """Tell whether a line belongs to the next record: a second id or title does."""
        return kind in (ID, TITLE) and kind in self.fields

    def add(self, line: Line, mark: str | None, text: str) -> None:
        self.begin = self.begin or line.number
        if line.broken:
            self.problem = self.problem or line.broken
        elif mark:
            self.last = MARKS[mark]
            self.fields.setdefault(self.last, []).append(text.removeprefix(mark).strip())
        elif not (self.fields and self.last in (TITLE, ABSTRACT)):  # these may continue on the next line
            self.problem = self.problem or f"line {line.number:,} has none of the marks, found {text[:60]!r}"

    def finish(self) -> Iterator[Record | Damage]:
        if not self.begin:
            return
        ids = [text for text in self.fields.get(ID, ()) if text]
        if self.problem or not ids:
            yield Damage(self.begin, self.problem or "the record has no #index, the id of the paper")
            return
        names = self._names()
        affiliations = self._affiliations(len(names))
        pairs = zip(names, affiliations or [()] * len(names), strict=True)
        venue = self._first(VENUE)
        yield Record(
            line=self.begin,
            id=ids[0],
            authors=tuple(Author(name, "", found) for name, found in pairs if name),
            venue=Venue(venue, raw=venue) if venue else None,
            year=year_of(self._first(YEAR)),
            references=tuple(text for text in self.fields.get(CITED, ()) if text),
            unaligned=affiliations is None,
        )

    def _first(self, kind: int) -> str:
        found = self.fields.get(kind, [""])[0]
        return "" if found == UNKNOWN else found

    def _names(self) -> list[str]:
        """Split authors at semicolons; versions without affiliations may use commas."""
        text = self._first(AUTHORS)
        commas = ";" not in text and AFFILIATIONS not in self.fields
        return _split(text, "," if commas else ";")

    def _affiliations(self, authors: int) -> list[tuple[str, ...]] | None:
        """Return the affiliation of each author, or None if the numbers differ."""
        found = _split(self._first(AFFILIATIONS), ";")
        if not found:
            return [()] * authors
        return [(text,) if text else () for text in found] if len(found) == authors else None


def _split(text: str, separator: str) -> list[str]:
    """Split a list by position; an unknown item stays as an empty one, except at the end."""
    parts = [part.strip() for part in text.removesuffix(separator).split(separator)] if text else []
    return ["" if part == UNKNOWN else part for part in parts]
