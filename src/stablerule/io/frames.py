"""Polars and pandas frames, Parquet files and lists of tuples as frames of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import ReadError
from stablerule.io.layout import find_layout
from stablerule.io.options import TRIPLE
from stablerule.io.values import typed_extras

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from stablerule.io.options import ReadOptions

PARQUET_ROWS = 1 << 20


def is_pandas(source: object) -> bool:
    """Tell a pandas frame without importing pandas."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas"


def read_tuples(rows: Iterable[Sequence[str]], where: str = "list of triples") -> pl.DataFrame:
    """Rows of (head, relation, tail) -> a frame; each part must be a non-empty string."""
    rows = list(rows)
    for number, row in enumerate(rows):
        if isinstance(row, str) or len(row) != 3:
            raise ReadError(f"row {number} must be (head, relation, tail), got {row!r}.", path=where)
        for role, name in zip(TRIPLE, row, strict=True):
            if not isinstance(name, str) or not name:
                raise ReadError(f"the {role} of row {number} must be a non-empty string, got {name!r}.", path=where)
    if not rows:
        raise ReadError("no triples in it.", path=where)
    return pl.DataFrame([tuple(row) for row in rows], schema=dict.fromkeys(TRIPLE, pl.String), orient="row")


def read_parquet(path: Path, options: ReadOptions) -> Iterator[pl.DataFrame]:
    """Read a Parquet file a million rows at a time."""
    try:
        table = pl.scan_parquet(path)
        names = table.collect_schema().names()
        rows = table.select(pl.len()).collect().item()
        for start in range(0, max(rows, 1), PARQUET_ROWS):
            columns = _columns_of(names, options, path)
            part = table.slice(start, PARQUET_ROWS).select(columns.values()).collect()
            yield read_frame(part, options, where=path, first_row=start)
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise ReadError("no such file.", path=path) from error
        raise ReadError(f"not a Parquet file, or a damaged one ({error}).", path=path) from error


def read_pandas(source: Any, options: ReadOptions, where: str = "pandas frame") -> pl.DataFrame:
    """Take the needed columns of a pandas frame, without the package that polars would need for all of it."""
    labels = {str(label): label for label in source.columns}
    columns = {}
    for name in _columns_of(list(labels), options, where).values():
        values = source[labels[name]]
        missing = values.isna()
        as_list = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
        try:
            columns[name] = pl.Series(name, as_list)
        except TypeError as error:
            raise ReadError(f"column {name!r} mixes types: names must be text or whole numbers.", path=where) from error
    return read_frame(pl.DataFrame(columns), options, where=where)


def read_frame(
    source: pl.DataFrame, options: ReadOptions, where: str | Path = "polars frame", first_row: int = 0
) -> pl.DataFrame:
    """Take the asked columns of a polars frame as names; empty or missing names are an error with their row."""
    if not len(source):
        raise ReadError("no triples in it.", path=where)
    places = _columns_of(source.columns, options, where)
    frame = source.select(pl.col(column).alias(role) for role, column in places.items())
    for role in (r for r in places if r not in ("weight", "time")):
        values = frame[role]
        if not (values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum)):
            raise ReadError(
                f"column {places[role]!r} must hold names (text or whole numbers), got {values.dtype}.", path=where
            )
        names = values.cast(pl.String)
        empty = names.is_null() | (names == "").fill_null(value=True)
        if empty.any():
            raise ReadError(
                f"expected a {role}, found nothing (row {first_row + int(empty.arg_true()[0])}).", path=where
            )
        frame = frame.with_columns(names)
    return typed_extras(frame, path=where, first_line=first_row)


def _columns_of(names: list[str], options: ReadOptions, where: str | Path) -> dict[str, str]:
    """Role -> name of the column. A frame always has a header."""
    layout = find_layout(names, options, path=where, line=0)
    return {role: names[place] for role, place in layout.places.items()}
