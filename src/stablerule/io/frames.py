"""Read frames of polars and pandas, Parquet files and lists of tuples as frames of names.

Columns are always selected by position, because polars reads names such as `*` and `^...$` as patterns, and two labels
of a pandas frame may be equal.
"""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import OptionError, ReadError, shorten_system_error
from stablerule.io.columns import Part, RowPlace, find_table_layout, type_optional_columns
from stablerule.io.files import open_bytes
from stablerule.io.options import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from stablerule.io.options import ReadOptions

# Damage may be an error of polars, or a panic, which is not an Exception.
POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
STDERR = 2
PARQUET_ROWS = 1 << 20
PARQUET_MAGIC = b"PAR1"
HOW = "Number the columns from 0: columns={'head': 0, 'relation': 1, 'tail': 2, 'weight': 3}."


def is_pandas_frame(source: object) -> bool:
    """Return whether an object is a pandas frame, including subclasses, without importing pandas."""
    return any(k.__name__ == "DataFrame" and k.__module__.split(".")[0] == "pandas" for k in type(source).__mro__)


def read_parquet(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read a Parquet file a million rows at a time."""
    with open_bytes(path) as stream:
        if stream.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise ReadError("not a Parquet file.", path=path)
    with expect_damage(path):
        # Absolute, and not as a pattern: a file may be named f[1].parquet or ~f.parquet.
        table = pl.scan_parquet(_name_for_polars(path), glob=False, hive_partitioning=False)
        names = table.collect_schema().names()
        rows = table.select(pl.len()).collect().item()
    places = find_table_layout(names, options, path=path).places
    for start in range(0, max(rows, 1), PARQUET_ROWS):
        with expect_damage(path):
            wanted = [pl.nth(place).alias(role) for role, place in places.items()]
            part = table.slice(start, PARQUET_ROWS).select(wanted).collect()
        yield _check_frame_names(part, RowPlace(path, first_row=start))


def _name_for_polars(path: Path) -> Path | io.BytesIO:
    """Return an absolute path, or the content of a file whose name is not valid Unicode, which polars needs."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return io.BytesIO(path.read_bytes())
    return path.absolute()


def read_pandas(source: Any, options: ReadOptions, where: str = "pandas frame") -> Part:
    """Read the needed columns of a pandas frame, without the package that polars needs for a whole one."""
    names = [str(label) for label in source.columns]
    columns = {}
    for role, place in find_table_layout(names, options, path=where).places.items():
        values = source.iloc[:, place]
        as_list = [None if gone else value for value, gone in zip(values.tolist(), values.isna(), strict=True)]
        try:
            columns[role] = pl.Series(role, as_list)
        except (TypeError, ValueError, OverflowError, *POLARS_ERRORS) as error:
            raise ReadError(
                f"column {names[place]!r} has mixed or other types; names must be strings or whole numbers.",
                path=where,
            ) from error
    return _check_frame_names(pl.DataFrame(columns), RowPlace(where, first_row=0))


def read_frame(source: pl.DataFrame, options: ReadOptions, where: str = "polars frame") -> Part:
    """Read the needed columns of a polars frame as names; an empty or missing name is an error with its row."""
    places = find_table_layout(source.columns, options, path=where).places
    frame = pl.DataFrame([source.to_series(place).alias(role) for role, place in places.items()])
    return _check_frame_names(frame, RowPlace(where, first_row=0))


def _check_frame_names(frame: pl.DataFrame, place: RowPlace) -> Part:
    """Convert the columns of a frame to names, and check them."""
    if not len(frame):
        raise ReadError("no triples.", path=place.path)
    for role in (r for r in frame.columns if r not in ("weight", "time")):
        values = frame[role]
        if values.dtype == pl.Null:
            raise place.make_error(f"expected a {role}, found nothing", 0)
        if not (values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum)):
            raise ReadError(
                f"the {role} column must be names (strings or whole numbers), got {values.dtype}.",
                path=place.path,
            )
        names = values.cast(pl.String)
        empty = names.is_null() | (names == "").fill_null(value=True)
        if empty.any():
            raise place.make_error(f"expected a {role}, found nothing", int(empty.arg_true()[0]))
        frame = frame.with_columns(names)
    return Part(type_optional_columns(frame, place), place)


def read_tuples(rows: Iterable[Any], options: ReadOptions, where: str = "list of triples") -> Part:
    """Read rows of (head, relation, tail), or as numbered by `columns`; each name must be a non-empty string."""
    places = _number_tuple_columns(options)
    place = RowPlace(where, first_row=0)
    cells = []
    for number, row in enumerate(rows):
        _check_tuple_length(row, places, options, number, where)
        _check_tuple_names(row, places, place, number)
        cells.append([row[at] for at in places.values()])
    if not cells:
        raise ReadError("no triples.", path=where)
    columns = dict(zip(places, zip(*cells, strict=True), strict=True))
    frame = pl.DataFrame({role: _make_tuple_column(role, values, place) for role, values in columns.items()})
    return Part(type_optional_columns(frame, place), place)


def _number_tuple_columns(options: ReadOptions) -> dict[str, int]:
    wanted = options.wanted
    if wanted is None:
        return {role: place for place, role in enumerate(TRIPLE)}
    numbers = {role: column for role, column in wanted.items() if isinstance(column, int)}
    if len(numbers) < len(wanted):
        raise OptionError(f"A list has no column names, got columns={options.columns!r}. Number them from 0.")
    return numbers


def _check_tuple_length(row: Any, places: dict[str, int], options: ReadOptions, number: int, where: str) -> None:
    is_row = isinstance(row, tuple | list) or hasattr(row, "__array__")
    length = len(row) if is_row else 0
    if options.columns is None and length != len(TRIPLE):
        how = f" {HOW}" if length > len(TRIPLE) else ""
        raise ReadError(f"row {number:,} must be (head, relation, tail), got {row!r}.{how}", path=where)
    if length <= max(places.values()):
        raise ReadError(f"row {number:,} must have at least {max(places.values()) + 1} items, got {row!r}.", path=where)


def _check_tuple_names(row: Any, places: dict[str, int], place: RowPlace, number: int) -> None:
    for role, at in places.items():
        if role not in ("weight", "time") and (not isinstance(row[at], str) or not row[at]):
            raise place.make_error(f"the {role} must be a non-empty string, got {row[at]!r}", number)


def _make_tuple_column(role: str, values: tuple[Any, ...], place: RowPlace) -> pl.Series:
    if role not in ("weight", "time"):
        try:
            return pl.Series(role, values, dtype=pl.String)
        except UnicodeEncodeError as error:
            row = next(i for i, name in enumerate(values) if not _is_unicode_text(name))
            raise place.make_error(
                f"the {role} {values[row]!r} is not valid Unicode: it has half a surrogate pair", row
            ) from error
    try:
        return pl.Series(role, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ReadError(f"the values of {role} have different types.", path=place.path) from error


def _is_unicode_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def expect_damage(path: Path) -> Iterator[None]:
    """Turn errors and panics of polars in the block into a ReadError, without the printed panic report."""
    with _hold_back_stderr() as forget:
        try:
            yield
        except (*POLARS_ERRORS, OSError) as error:
            forget()
            what = shorten_system_error(error) if isinstance(error, Exception) else "invalid data"
            raise ReadError(f"damaged Parquet file ({what}). Copy it or make it again.", path=path) from error


@contextmanager
def _hold_back_stderr() -> Iterator[Callable[[], object]]:
    """Hold back standard error during the block, and print it at the end; the yielded function discards it.

    Rust prints a panic there before it can be caught.
    """
    try:
        before = os.dup(STDERR)
    except OSError:  # it is closed
        yield lambda: None
        return
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), STDERR)
        try:
            yield held_back.truncate
        finally:
            os.dup2(before, STDERR)
            os.close(before)
            held_back.seek(0)
            with suppress(OSError):
                os.write(STDERR, held_back.read())
