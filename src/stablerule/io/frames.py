"""Polars and pandas frames and Parquet files as frames of names.

Columns are always taken by their position: polars reads `*` and `^...$` as patterns where it is given names, and two
labels of a pandas frame may look the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import ReadError
from stablerule.io.files import open_bytes, reason_of
from stablerule.io.layout import find_layout
from stablerule.io.place import Part, Place
from stablerule.io.values import typed_extras

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stablerule.io.options import ReadOptions

PARQUET_ROWS = 1 << 20
PARQUET_MAGIC = b"PAR1"
POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def is_pandas(source: object) -> bool:
    """Tell a pandas frame, or one of a class made from it, without importing pandas."""
    return any(k.__name__ == "DataFrame" and k.__module__.split(".")[0] == "pandas" for k in type(source).__mro__)


def read_parquet(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read a Parquet file a million rows at a time."""
    with open_bytes(path) as stream:
        if stream.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise ReadError("not a Parquet file.", path=path)
    try:
        # Absolute, and not as a pattern: a file may be called f[1].parquet or ~f.parquet.
        table = pl.scan_parquet(path.absolute(), glob=False, hive_partitioning=False)
        names = table.collect_schema().names()
        rows = table.select(pl.len()).collect().item()
    except (*POLARS_ERRORS, OSError) as error:
        raise _damaged(path, error) from error
    places = find_layout(names, options, path=path).places
    for start in range(0, max(rows, 1), PARQUET_ROWS):
        try:
            wanted = [pl.nth(place).alias(role) for role, place in places.items()]
            part = table.slice(start, PARQUET_ROWS).select(wanted).collect()
        except (*POLARS_ERRORS, OSError) as error:
            raise _damaged(path, error) from error
        yield _checked(part, Place(path, first_row=start))


def read_pandas(source: Any, options: ReadOptions, where: str = "pandas frame") -> Part:
    """Take the needed columns of a pandas frame, without the package that polars would need for all of it."""
    names = [str(label) for label in source.columns]
    columns = {}
    for role, place in find_layout(names, options, path=where).places.items():
        values = source.iloc[:, place]
        as_list = [None if gone else value for value, gone in zip(values.tolist(), values.isna(), strict=True)]
        try:
            columns[role] = pl.Series(role, as_list)
        except (TypeError, ValueError, OverflowError, *POLARS_ERRORS) as error:
            raise ReadError(
                f"column {names[place]!r} mixes types, or holds what is no text: names must be text or whole numbers.",
                path=where,
            ) from error
    return _checked(pl.DataFrame(columns), Place(where, first_row=0))


def read_frame(source: pl.DataFrame, options: ReadOptions, where: str = "polars frame") -> Part:
    """Take the asked columns of a polars frame as names; empty or missing names are an error with their row."""
    places = find_layout(source.columns, options, path=where).places
    frame = pl.DataFrame([source.to_series(place).alias(role) for role, place in places.items()])
    return _checked(frame, Place(where, first_row=0))


def _checked(frame: pl.DataFrame, place: Place) -> Part:
    """Make names of the columns of a frame and check each."""
    if not len(frame):
        raise ReadError("no triples in it.", path=place.path)
    for role in (r for r in frame.columns if r not in ("weight", "time")):
        values = frame[role]
        if values.dtype == pl.Null:
            raise place.error(f"expected a {role}, found nothing", 0)
        if not (values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum)):
            raise ReadError(
                f"the column of the {role} must hold names (text or whole numbers), got {values.dtype}.",
                path=place.path,
            )
        names = values.cast(pl.String)
        empty = names.is_null() | (names == "").fill_null(value=True)
        if empty.any():
            raise place.error(f"expected a {role}, found nothing", int(empty.arg_true()[0]))
        frame = frame.with_columns(names)
    return Part(typed_extras(frame, place), place)


def _damaged(path: Path, error: BaseException) -> ReadError:
    what = reason_of(error) if isinstance(error, Exception) else "its data make no sense"
    return ReadError(f"a damaged Parquet file ({what}). Copy or make it again.", path=path)
