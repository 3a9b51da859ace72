"""Lists of tuples as frames of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import OptionError, ReadError
from stablerule.io.options import TRIPLE
from stablerule.io.place import Part, Place
from stablerule.io.values import typed_extras

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.io.options import ReadOptions

HOW = "Say what the others are by their number, from 0: columns={'head': 0, 'relation': 1, 'tail': 2, 'weight': 3}."


def read_tuples(rows: Iterable[Any], options: ReadOptions, where: str = "list of triples") -> Part:
    """Rows of (head, relation, tail), or what `columns` numbers, -> a frame; each name must be a non-empty string."""
    places = _places(options)
    place = Place(where, first_row=0)
    cells = []
    for number, row in enumerate(rows):
        _check_length(row, places, options, number, where)
        _check_names(row, places, place, number)
        cells.append([row[at] for at in places.values()])
    if not cells:
        raise ReadError("no triples in it.", path=where)
    columns = dict(zip(places, zip(*cells, strict=True), strict=True))
    frame = pl.DataFrame({role: _series(role, values, place) for role, values in columns.items()})
    return Part(typed_extras(frame, place), place)


def _places(options: ReadOptions) -> dict[str, int]:
    wanted = options.wanted
    if wanted is None:
        return {role: place for place, role in enumerate(TRIPLE)}
    numbers = {role: column for role, column in wanted.items() if isinstance(column, int)}
    if len(numbers) < len(wanted):
        raise OptionError(f"A list has no names of columns, got columns={options.columns!r}. Number them from 0.")
    return numbers


def _check_length(row: Any, places: dict[str, int], options: ReadOptions, number: int, where: str) -> None:
    is_row = isinstance(row, tuple | list) or hasattr(row, "__array__")
    length = len(row) if is_row else 0
    if options.columns is None and length != len(TRIPLE):
        how = f" {HOW}" if length > len(TRIPLE) else ""
        raise ReadError(f"row {number:,} must be (head, relation, tail), got {row!r}.{how}", path=where)
    if length <= max(places.values()):
        raise ReadError(f"row {number:,} must have {max(places.values()) + 1} parts or more, got {row!r}.", path=where)


def _check_names(row: Any, places: dict[str, int], place: Place, number: int) -> None:
    for role, at in places.items():
        if role not in ("weight", "time") and (not isinstance(row[at], str) or not row[at]):
            raise place.error(f"the {role} must be a non-empty string, got {row[at]!r}", number)


def _series(role: str, values: tuple[Any, ...], place: Place) -> pl.Series:
    if role not in ("weight", "time"):
        try:
            return pl.Series(role, values, dtype=pl.String)
        except UnicodeEncodeError as error:
            row = next(i for i, name in enumerate(values) if not _is_text(name))
            raise place.error(f"the {role} {values[row]!r} is no text: it has half of a surrogate pair", row) from error
    try:
        return pl.Series(role, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ReadError(f"the values of {role} are not of one kind.", path=place.path) from error


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
