"""JSON read into dataclasses: the declared types are the schema, and an error names the file and the field.

Fields that a class does not declare are skipped, so that a file of an older version may have some that are gone. What
a class demands of its values (`__post_init__`) is checked as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from stablerule.errors import InputError, ReadError

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
MOST_DIGITS = 18  # of a whole number: it must fit into 64 bits
DEEPEST = 20  # of values whose types nobody declares
SHOWN = 60  # characters of a wrong value
TYPES: dict[type, str] = {list: "a list", dict: "an object"}


class _Wrong(Exception):
    """A value that does not have its declared type; `field` leads there from the top."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem)
        self.problem, self.field = problem, field

    def within(self, part: str) -> _Wrong:
        joined = part if not self.field else f"{part}{'' if self.field.startswith('[') else '.'}{self.field}"
        return _Wrong(self.problem, joined)


def parse_json(raw: bytes, path: Path) -> Any:
    """Return the value of a JSON text; what is none is a ReadError."""
    try:
        return json.loads(raw, parse_int=_parse_whole_number)
    except RecursionError as error:
        raise ReadError("nested too deep.", path=path) from error
    except json.JSONDecodeError as error:
        raise ReadError(f"no JSON: {error.msg} in line {error.lineno:,}.", path=path) from error
    except ValueError as error:
        raise ReadError(f"no JSON: {error}.", path=path) from error


def make_record(kind: type[T], value: Any, path: Path) -> T:
    """Make a value of a dataclass from a JSON value; the first field that does not fit is a ReadError.

    >>> from dataclasses import dataclass
    >>> from pathlib import Path
    >>> @dataclass
    ... class Point:
    ...     x: float
    ...     tags: list[str]
    >>> make_record(Point, {"x": 1, "tags": ["a"]}, Path("p.json"))
    Point(x=1.0, tags=['a'])
    >>> make_record(Point, {"x": 1, "tags": ["a", 2]}, Path("p.json"))
    Traceback (most recent call last):
    ...
    stablerule.errors.ReadError: p.json: field 'tags[1]' must be text, found 2.
    """
    try:
        made: T = _read(kind, value)
    except _Wrong as wrong:
        where = f"field {wrong.field!r}" if wrong.field else "it"
        raise ReadError(f"{where} {wrong.problem}.", path=path) from wrong
    return made


def _parse_whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _read(kind: Any, value: Any) -> Any:
    """Return the value in its declared type."""
    origin, arguments = get_origin(kind), get_args(kind)
    match origin:
        case _ if kind is Any:
            made = _check_plain(value)
        case _ if is_dataclass(kind):
            made = _read_dataclass(kind, value)
        case _ if origin in (Union, UnionType):
            made = _read_one_of(arguments, value)
        case _ if origin in (list, tuple):
            made = origin(_read_part(arguments[0], one, f"[{n}]") for n, one in enumerate(_of_type(list, value)))
        case _ if origin in (dict, Mapping):
            entries = _of_type(dict, value).items()
            made = {_read_part(str, name, name): _read_part(arguments[1], one, name) for name, one in entries}
        case _ if origin is Literal:
            if not isinstance(value, str | int | None) or value not in arguments:
                raise _expected(f"one of {', '.join(map(repr, arguments))}", value)
            made = value
        case _:
            made = _read_simple(kind, value)
    return made


def _of_type(kind: type[list[Any] | dict[str, Any]], value: Any) -> Any:
    if not isinstance(value, kind):
        raise _expected(TYPES[kind], value)
    return value


def _read_part(kind: Any, value: Any, part: str) -> Any:
    try:
        return _read(kind, value)
    except _Wrong as wrong:
        raise wrong.within(part) from wrong


def _read_simple(kind: type, value: Any) -> Any:
    match kind, value:
        case _ if kind is NoneType and value is None:
            return None
        case _ if kind is bool and isinstance(value, bool):
            return value
        case _ if kind is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        case _ if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case _ if kind is str and isinstance(value, str) and _is_unicode(value):
            return value
    names = {NoneType: "null", bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    raise _expected(names[kind], value)


def _read_one_of(kinds: tuple[Any, ...], value: Any) -> Any:
    """Read a value that may be of several types; of several dataclasses, the first whose fields are all there."""
    if value is None and NoneType in kinds:
        return None
    records = [kind for kind in kinds if is_dataclass(kind)]
    if isinstance(value, dict) and records:
        fitting = [kind for kind in records if _needed(kind) <= set(value)]
        return _read((fitting or records)[0], value)
    wrong: _Wrong | None = None
    for kind in kinds:
        try:
            return _read(kind, value)
        except _Wrong as error:
            wrong = error if wrong is None or error.field else wrong
    assert wrong is not None  # noqa: S101  # a union has members
    raise wrong


def _read_dataclass(kind: Any, value: Any) -> Any:
    missing = sorted(_needed(kind) - set(_of_type(dict, value)))
    if missing:
        raise _Wrong("is missing", missing[0])
    hints = _hints(kind)
    given = {f.name: _read_part(hints[f.name], value[f.name], f.name) for f in fields(kind) if f.name in value}
    try:
        return kind(**given)
    except InputError as error:
        raise _Wrong(f"makes no sense: {str(error).rstrip('.')}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _needed(kind: Any) -> set[str]:
    return {f.name for f in fields(kind) if f.init and f.default is MISSING and f.default_factory is MISSING}


def _check_plain(value: Any, depth: int = 0) -> Any:
    """Return a value whose types nobody declares; it must not be nested so deep that others stumble over it."""
    if depth > DEEPEST:
        raise _Wrong("is nested too deep")
    match value:
        case dict():
            for name, one in value.items():
                _read_simple(str, name)
                _check_plain(one, depth + 1)
        case list():
            for one in value:
                _check_plain(one, depth + 1)
        case str():
            _read_simple(str, value)
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _expected(what: str, value: Any) -> _Wrong:
    found = TYPES.get(type(value)) or json.dumps(value)
    return _Wrong(f"must be {what}, found {found[:SHOWN]}{'...' if len(found) > SHOWN else ''}")
