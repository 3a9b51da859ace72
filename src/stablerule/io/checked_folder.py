"""Read the files of a folder that this package wrote: regular files only, compared with their checksums.

A folder may come from an untrusted source. So links, devices and FIFOs are refused, and no number reaches compiled code
unchecked. A checksum detects damage, but not intent: whoever makes a file can also make its checksum.

JSON is read into dataclasses. The declared types are the schema, and an error names the file and the field. Unknown
fields are skipped, so that files of older versions may have fields that no longer exist. `__post_init__` checks the
values.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from stablerule.errors import InputError, ReadError
from stablerule.io.files import make_read_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

T = TypeVar("T")
MOST_DIGITS = 18  # of a whole number, which must fit into 64 bits
DEEPEST = 20  # nesting of values without a declared type
SHOWN = 60  # characters of a wrong value in a message
TYPES: dict[type, str] = {list: "a list", dict: "an object"}
NPY_MAGIC = b"\x93NUMPY\x01\x00"  # np.save writes plain arrays in format 1.0
BLOCK = 1 << 22
# Not every system has all of these.
SAFELY = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class CheckedFolder:
    """A folder and the known checksums of its files.

    cure: the advice in case of damage, as the end of an error message.
    """

    path: Path
    cure: str
    checksums: Mapping[str, str] = field(default_factory=dict)

    def with_checksums(self, checksums: Mapping[str, str]) -> CheckedFolder:
        """Return the folder with the checksums from its index."""
        return CheckedFolder(self.path, self.cure, checksums)

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._open(name) as stream:
            raw = stream.read()
        self._compare(name, raw)
        return raw

    def read_json(self, name: str) -> Any:
        """Return the value of a JSON file."""
        raw = self.read_bytes(name)
        try:
            return parse_json(raw, self.path / name)
        except ReadError as error:
            raise self.make_damage_error(name, error.problem) from error

    def make_record(self, kind: type[T], value: Any, name: str) -> T:
        """Make a value of a dataclass from the value of a JSON file; an error names the file and the field."""
        try:
            return make_record(kind, value, self.path / name)
        except ReadError as error:
            raise self.make_damage_error(name, error.problem) from error

    def map_array(self, name: str, kind: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
        """Map the array of an .npy file into memory; another type or shape is an error.

        The header is compared, not parsed, so it can't influence what is read.
        """
        dtype = np.dtype(kind).newbyteorder("<")
        with self._open(name) as stream:
            begin = stream.read(len(NPY_MAGIC) + 2)
            length = int.from_bytes(begin[len(NPY_MAGIC) :], "little")
            header = stream.read(length).decode("latin-1").strip()
            expected = str({"descr": dtype.str, "fortran_order": False, "shape": shape}).replace("}", ", }")
            size = len(begin) + length + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            if not begin.startswith(NPY_MAGIC) or header != expected:
                raise self.make_damage_error(name, f"not an array of {_spell_shape(shape)} values of type {dtype.name}")
            if os.fstat(stream.fileno()).st_size != size:
                raise self.make_damage_error(name, f"wrong length for {_spell_shape(shape)} values")
            array = np.memmap(stream, dtype, mode="r", offset=len(begin) + length, shape=shape)
            self._compare(name, np.memmap(stream, np.uint8, mode="r"))
        return np.asarray(array)

    def make_damage_error(self, name: str, problem: str) -> ReadError:
        """Make the error for a damaged file."""
        return ReadError(f"damaged ({problem.rstrip('.')}). {self.cure}", path=self.path / name)

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        path = self.path / name
        try:
            handle = os.open(path, SAFELY)
        except FileNotFoundError as error:
            raise self.make_damage_error(name, "it is missing") from error
        except (OSError, ValueError) as error:
            raise (
                self._make_special_file_error(name, "a link") if path.is_symlink() else make_read_error(path, error)
            ) from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise self._make_special_file_error(name, "not a regular file")
        try:
            with os.fdopen(handle, "rb") as stream:
                yield stream
        except OSError as error:
            raise make_read_error(path, error) from error

    def _make_special_file_error(self, name: str, what: str) -> ReadError:
        problem = f"is {what}, but only regular files are read. Replace it by a copy."
        return ReadError(problem, path=self.path / name)

    def _compare(self, name: str, raw: bytes | NDArray[np.uint8]) -> None:
        wanted = self.checksums.get(name)
        if wanted is not None and _compute_checksum(raw) != wanted:
            raise self.make_damage_error(name, "its checksum is wrong")


def sum_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the checksums of files by name."""
    return {name: _sum_checked_file(folder / name) for name in sorted(names)}


def _sum_checked_file(path: Path) -> str:
    found = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            found = zlib.crc32(block, found)
    return f"{found:08x}"


def _compute_checksum(raw: bytes | NDArray[np.uint8]) -> str:
    """Return the CRC-32, which takes 0.1 s for 400 MB; SHA-256 takes four times as long."""
    return f"{zlib.crc32(raw):08x}"  # type: ignore[arg-type]  # arrays work like bytes


def _spell_shape(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{n:,}" for n in shape)


class _WrongJson(Exception):
    """A value does not have its declared type; `field` is its path from the top."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem)
        self.problem, self.field = problem, field

    def within(self, part: str) -> _WrongJson:
        joined = part if not self.field else f"{part}{'' if self.field.startswith('[') else '.'}{self.field}"
        return _WrongJson(self.problem, joined)


def parse_json(raw: bytes, path: Path) -> Any:
    """Parse a JSON text; invalid JSON is a ReadError."""
    try:
        return json.loads(raw, parse_int=_parse_whole_number)
    except RecursionError as error:
        raise ReadError("nested too deeply.", path=path) from error
    except json.JSONDecodeError as error:
        raise ReadError(f"not valid JSON: {error.msg} in line {error.lineno:,}.", path=path) from error
    except ValueError as error:
        raise ReadError(f"not valid JSON: {error}.", path=path) from error


def make_record(kind: type[T], value: Any, path: Path) -> T:
    """Make a value of a dataclass from a JSON value; the first field of another type is a ReadError.

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
    stablerule.errors.ReadError: p.json: field 'tags[1]' must be a string, found 2.
    """
    try:
        made: T = _read_checked_bytes(kind, value)
    except _WrongJson as wrong:
        where = f"field {wrong.field!r}" if wrong.field else "it"
        raise ReadError(f"{where} {wrong.problem}.", path=path) from wrong
    return made


def _parse_whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _read_checked_bytes(kind: Any, value: Any) -> Any:
    """Return the value in its declared type."""
    origin, arguments = get_origin(kind), get_args(kind)
    match origin:
        case _ if kind is Any:
            made = _check_plain_json(value)
        case _ if is_dataclass(kind):
            made = _read_json_dataclass(kind, value)
        case _ if origin in (Union, UnionType):
            made = _read_json_union(arguments, value)
        case _ if origin in (list, tuple):
            made = origin(
                _read_json_part(arguments[0], one, f"[{n}]") for n, one in enumerate(_check_json_type(list, value))
            )
        case _ if origin in (dict, Mapping):
            entries = _check_json_type(dict, value).items()
            made = {_read_json_part(str, name, name): _read_json_part(arguments[1], one, name) for name, one in entries}
        case _ if origin is Literal:
            if not isinstance(value, str | int | None) or value not in arguments:
                raise _name_expected_json(f"one of {', '.join(map(repr, arguments))}", value)
            made = value
        case _:
            made = _read_json_scalar(kind, value)
    return made


def _check_json_type(kind: type[list[Any] | dict[str, Any]], value: Any) -> Any:
    if not isinstance(value, kind):
        raise _name_expected_json(TYPES[kind], value)
    return value


def _read_json_part(kind: Any, value: Any, part: str) -> Any:
    try:
        return _read_checked_bytes(kind, value)
    except _WrongJson as wrong:
        raise wrong.within(part) from wrong


def _read_json_scalar(kind: type, value: Any) -> Any:
    match kind, value:
        case _ if kind is NoneType and value is None:
            return None
        case _ if kind is bool and isinstance(value, bool):
            return value
        case _ if kind is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        case _ if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case _ if kind is str and isinstance(value, str) and _is_unicode_json(value):
            return value
    names = {NoneType: "null", bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    raise _name_expected_json(names[kind], value)


def _read_json_union(kinds: tuple[Any, ...], value: Any) -> Any:
    """Read a value that may have several types; of several dataclasses, the first with all required fields present."""
    if value is None and NoneType in kinds:
        return None
    records = [kind for kind in kinds if is_dataclass(kind)]
    if isinstance(value, dict) and records:
        fitting = [kind for kind in records if _list_needed_json_fields(kind) <= set(value)]
        return _read_checked_bytes((fitting or records)[0], value)
    wrong: _WrongJson | None = None
    for kind in kinds:
        try:
            return _read_checked_bytes(kind, value)
        except _WrongJson as error:
            wrong = error if wrong is None or error.field else wrong
    assert wrong is not None  # noqa: S101  # a union is never empty
    raise wrong


def _read_json_dataclass(kind: Any, value: Any) -> Any:
    missing = sorted(_list_needed_json_fields(kind) - set(_check_json_type(dict, value)))
    if missing:
        raise _WrongJson("is missing", missing[0])
    hints = _list_json_fields(kind)
    given = {f.name: _read_json_part(hints[f.name], value[f.name], f.name) for f in fields(kind) if f.name in value}
    try:
        return kind(**given)
    except InputError as error:
        raise _WrongJson(f"is invalid: {str(error).rstrip('.')}") from error


@cache
def _list_json_fields(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _list_needed_json_fields(kind: Any) -> set[str]:
    return {f.name for f in fields(kind) if f.init and f.default is MISSING and f.default_factory is MISSING}


def _check_plain_json(value: Any, depth: int = 0) -> Any:
    """Return a value without a declared type, after checking that it is not nested too deeply."""
    if depth > DEEPEST:
        raise _WrongJson("is nested too deeply")
    match value:
        case dict():
            for name, one in value.items():
                _read_json_scalar(str, name)
                _check_plain_json(one, depth + 1)
        case list():
            for one in value:
                _check_plain_json(one, depth + 1)
        case str():
            _read_json_scalar(str, value)
    return value


def _is_unicode_json(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _name_expected_json(what: str, value: Any) -> _WrongJson:
    found = TYPES.get(type(value)) or json.dumps(value)
    return _WrongJson(f"must be {what}, found {found[:SHOWN]}{'...' if len(found) > SHOWN else ''}")
