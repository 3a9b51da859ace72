"""Read the JSON versions of the dump: an object for each paper, on its own line or in one huge array."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from stablerule.errors import ReadError
from stablerule_lab.aminer.record import Author, Damage, Line, Record, Venue, year_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

# A MongoDB tool wrote version 13; its numbers and ids are calls, which are not JSON.
CALLS = re.compile(r'(?:NumberInt|NumberLong)\(\s*"?(-?\d+)"?\s*\)')
OBJECT_IDS = re.compile(r'ObjectId\(\s*("\w*")\s*\)')
STRING_OR_BRACE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}]')
BETWEEN = re.compile(r"[\s,\[\]]*")
OF_A_PAPER = frozenset({"title", "authors", "references", "venue", "year"})
LONGEST_RECORD = 64 << 20  # characters; a longer record counts as damaged
DECODER = json.JSONDecoder()


class _WrongType(Exception):
    """A value has a type that its key never has."""


def read_objects(lines: Iterable[Line], where: str) -> Iterator[Record | Damage]:
    """Read records from lines; an object may fill a line, several lines or part of one, with or without brackets.

    >>> lines = ['[', '{"id": 7, "authors": [{"name": "Ann Lee", "id": 12}], "year" : NumberInt(2001)},', ']']
    >>> record = next(read_objects((Line(number, text) for number, text in enumerate(lines, 1)), "dump"))
    >>> record.id, record.authors[0].id, record.year
    ('7', '12', 2001)
    """
    open_record = _Open()
    for line in lines:
        if open_record.begin and not _is_paper(line):
            open_record.add(line)
            if open_record.length > LONGEST_RECORD:
                raise ReadError("the object that begins here has no end.", path=where, line=open_record.begin)
            if open_record.depth <= 0:
                yield from open_record.finish()
                open_record = _Open()
            continue
        if open_record.begin:
            yield Damage(open_record.begin, "the object has no end: the next one begins inside it")
            open_record = _Open()
        rest = yield from _whole_objects(line)
        if rest:
            open_record.add(Line(line.number, rest))
    if open_record.begin:
        yield Damage(open_record.begin, "the file ends inside this object; it may be cut off")


def _whole_objects(line: Line) -> Generator[Record | Damage, None, str]:
    """Yield the complete objects of a line, and return the text of an object that continues on the next line."""
    if line.broken:
        yield Damage(line.number, line.broken)
        return ""
    text = _plain_json(line.text)
    at = BETWEEN.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        try:
            found, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if text[at] == "{" and _depth(text[at:]) > 0:
                return text[at:]
            yield Damage(line.number, f"not JSON ({_reason(error)}), found {text[at : at + 60].rstrip()!r}")
            return ""
        yield record_of(found, line.number)
        at = BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    return ""


class _Open:
    """An object that continues on more lines. Strings never span lines, so braces can be counted."""

    def __init__(self) -> None:
        self.begin, self.depth, self.length, self.broken = 0, 0, 0, ""
        self.texts: list[str] = []

    def add(self, line: Line) -> None:
        text = _plain_json(line.text)
        self.begin = self.begin or line.number
        self.depth += _depth(text)
        self.length += len(text)
        self.broken = self.broken or line.broken
        self.texts.append(text)

    def finish(self) -> Iterator[Record | Damage]:
        """Read the lines as one object; a bracket may follow it and close the array."""
        if self.broken:
            yield Damage(self.begin, self.broken)
            return
        whole = Line(self.begin, "".join(self.texts))
        if (yield from _whole_objects(whole)):
            yield Damage(self.begin, "the object is not JSON")


def _plain_json(text: str) -> str:
    return OBJECT_IDS.sub(r"\1", CALLS.sub(r"\1", text)) if "(" in text else text


def _depth(text: str) -> int:
    """Count the open braces outside of strings."""
    tokens = STRING_OR_BRACE.findall(text)
    return tokens.count("{") - tokens.count("}")


def _is_paper(line: Line) -> bool:
    """Tell whether a line is a complete paper of its own."""
    text = line.text.strip().lstrip(",[").lstrip()
    if not text.startswith("{") or line.broken:
        return False
    try:
        found, _ = DECODER.raw_decode(_plain_json(text))
    except (ValueError, RecursionError):
        return False
    return not OF_A_PAPER.isdisjoint(found)


def _reason(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__


def record_of(found: Any, line: int) -> Record | Damage:
    """Return the record of an object, or the damage.

    >>> record_of({"id": "a", "authors": "Ann Lee"}, 3)
    Damage(line=3, problem="'authors' must be a list, found 'Ann Lee'")
    """
    if not isinstance(found, dict):
        return Damage(line, f"expected an object, found {str(found)[:60]!r}")
    try:
        paper = _id(found)
        if not paper:
            return Damage(line, "the object has no 'id', the id of the paper")
        return Record(
            line=line,
            id=paper,
            authors=tuple(_author(one) for one in _list(found, "authors") if one is not None),
            venue=_venue(found.get("venue")),
            year=year_of(_text(found, "year")),
            references=tuple(text for one in _list(found, "references") if (text := _as_text(one, "references"))),
        )
    except _WrongType as error:
        return Damage(line, str(error))


def _author(one: Any) -> Author:
    if not isinstance(one, dict):
        return Author(_as_text(one, "authors"))
    several = (_as_text(org, "orgs") for org in _list(one, "orgs"))
    distinct = dict.fromkeys(org for org in (_text(one, "org"), *several) if org)
    return Author(_text(one, "name"), _id(one), tuple(distinct))


def _venue(found: Any) -> Venue | None:
    if not isinstance(found, dict):
        name = _as_text(found, "venue")
        return Venue(name, raw=name) if name else None
    raw = _text(found, "raw")
    name, key = _text(found, "name_d") or raw, _id(found)
    return Venue(name, key, raw or name) if name or key else None


def _id(found: dict[str, Any]) -> str:
    return _text(found, "id") or _text(found, "_id")


def _list(found: dict[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise _WrongType(f"{key!r} must be a list, found {str(value)[:60]!r}")
    return value


def _text(found: dict[str, Any], key: str) -> str:
    return _as_text(found.get(key), key)


def _as_text(value: Any, key: str) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():  # some tools write whole numbers as floats
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _WrongType(f"{key!r} must be text or a whole number, found {str(value)[:60]!r}")
    return str(value).strip()
