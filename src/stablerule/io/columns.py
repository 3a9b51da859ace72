"""Columns of facts: where head, relation and tail stand, what the optional ones hold, where each row comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from stablerule.errors import ReadError, closest
from stablerule.io.headers import Header, judge_header_line, read_header_words
from stablerule.io.options import TRIPLE, ReadOptions, spell_read_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

Kind: TypeAlias = Literal["header", "fact", "unsure"]  # of a first line; unsure is read as a fact
# In the order in which they are tried; the first that reads every value is the one.
TIME_TYPES: tuple[pl.DataType, ...] = (pl.Int64(), pl.Date(), pl.Datetime("us"))
TIME_KINDS = {"int64": "a whole number", "datetime64[D]": "a date", "datetime64[us]": "a date with the time of day"}


@dataclass(frozen=True)
class Place:
    """Finds a row of a frame in what was read: a line of text, a row of a frame or list, or only the file.

    >>> str(Place("facts.tsv", lines=[3, 5]).error("expected a tail", 1))
    'facts.tsv, line 5: expected a tail.'
    >>> str(Place("polars frame", first_row=0).error("expected a tail", 1))
    'polars frame: expected a tail (row 1).'
    """

    path: str | Path
    lines: Sequence[int] | None = None
    first_line: int | None = None
    first_row: int | None = None

    def error(self, problem: str, row: int) -> ReadError:
        """Word an error about one row."""
        if self.lines is not None:
            return ReadError(f"{problem}.", path=self.path, line=self.lines[row])
        if self.first_line is not None:
            return ReadError(f"{problem}.", path=self.path, line=self.first_line + row)
        where = "" if self.first_row is None else f" (row {self.first_row + row:,})"
        return ReadError(f"{problem}{where}.", path=self.path)

    def name(self, row: int) -> str:
        """Say the line or the row, for a message that names two of them."""
        if self.lines is not None or self.first_line is not None:
            return f"line {(self.lines[row] if self.lines is not None else (self.first_line or 0) + row):,}"
        return f"row {(self.first_row or 0) + row:,}"


@dataclass(frozen=True)
class Part:
    """Some rows as a frame of names, and where they stand."""

    frame: pl.DataFrame
    place: Place


@dataclass(frozen=True)
class Layout:
    """The number of columns of a table, the place of those that are read, and what the first line is taken for."""

    width: int
    places: dict[str, int]
    first_line: Kind

    @property
    def has_header(self) -> bool:
        """Whether the first line is none of the rows."""
        return self.first_line == "header"


def find_table_layout(
    first: Sequence[str],
    options: ReadOptions,
    *,
    path: str | Path,
    line: int | None = None,
    rows: Callable[[], Iterable[Sequence[str]]] | None = None,
    csv: bool = False,
) -> Layout:
    """Find the columns of a table by the options and by its first line, which in a file may be a header or a fact.

    rows: the rows that follow the first line of a file; None for what has names of columns anyway.

    >>> find_table_layout(["object", "subject", "predicate"], ReadOptions(), path="x.csv", line=1).places
    {'head': 1, 'relation': 2, 'tail': 0}
    """
    wanted, header = options.wanted, read_header_words(first)
    if wanted is not None and not any(isinstance(column, int) for column in wanted.values()):
        return Layout(len(first), _find_named_columns(first, wanted, path, line), "header")
    if wanted is not None:
        header = Header({role: column for role, column in wanted.items() if isinstance(column, int)}, header.named)
        if (last := max(header.places.values())) >= len(first):
            raise ReadError(
                f"column {last} was asked for, but there are {len(first)} columns (numbered from 0).",
                path=path,
                line=line,
            )
    elif len(first) != len(TRIPLE) and (header.named < len(TRIPLE) or options.header is False):
        raise ReadError(_describe_wrong_width(first, options), path=path, line=line)
    if options.header is not None or rows is None:
        kind: Kind = "fact" if options.header is False else "header"
    else:
        kind = judge_header_line(first, header, rows(), csv=csv)
    if wanted is None and kind != "header":
        header = Header(dict(zip(TRIPLE, range(3), strict=True)), 0)
    return Layout(len(first), header.places, kind)


def _find_named_columns(
    first: Sequence[str], wanted: dict[str, str | int], path: str | Path, line: int | None
) -> dict[str, int]:
    places = {}
    for role, column in wanted.items():
        if column not in first:
            raise ReadError(
                f"no column {column!r} in the header ({', '.join(map(repr, first))}).{closest(str(column), first)}",
                path=path,
                line=line,
            )
        if list(first).count(str(column)) > 1:
            raise ReadError(
                f"two columns are called {column!r}. "
                f"Say which to read by number, from 0: {spell_read_option('columns')}.",
                path=path,
                line=line,
            )
        places[role] = list(first).index(str(column))
    return places


def _describe_wrong_width(first: Sequence[str], options: ReadOptions) -> str:
    found = f"expected 3 columns (head, relation, tail), found {len(first)}"
    if len(first) > 3:
        return f"{found}. Say which to read with {spell_read_option('columns')}, by name or by number."
    for separator, name in (("\t", "tab"), (",", "comma"), (";", "semicolon"), (" ", "space"), ("|", "bar")):
        if separator != options.separator and any(cell.count(separator) == 2 for cell in first):
            return f"{found}. It looks as if a {name} separates them: pass {spell_read_option('separator', separator)}."
    return f"{found}: {' | '.join(first)[:80]!r}."


def type_optional_columns(frame: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Give weight and time their types; a value that is none is an error that says where it stands."""
    if "weight" in frame.columns:
        weight = _parse_weight_column(frame["weight"])
        bad = weight.is_null() | ~weight.is_finite().fill_null(value=False) | (weight < 0).fill_null(value=True)
        if bad.any():
            row = int(bad.arg_true()[0])
            raise place.error(
                f"expected a number of at least 0 as weight, found {_show_column_cell(frame['weight'], row)}", row
            )
        frame = frame.with_columns(weight)
    if "time" in frame.columns:
        frame = frame.with_columns(_parse_time_column(frame["time"], place))
    return frame


def _parse_time_column(values: pl.Series, place: Place) -> pl.Series:
    attempts = [_parse_times_as(values, dtype) for dtype in TIME_TYPES]
    for attempt in attempts:
        if not attempt.null_count():
            return attempt
    unread = pl.Series([True] * len(values))
    for attempt in attempts:
        unread &= attempt.is_null()
    if unread.any():
        row = int(unread.arg_true()[0])
        found = _show_column_cell(values, row)
        raise place.error(f"expected a whole number or an ISO date such as 2024-05-31 as time, found {found}", row)
    # Each value is good, but they are not of one kind: name the first, and the first that differs from it.
    usual = next(attempt for attempt in attempts if attempt[0] is not None)
    row = int(usual.is_null().arg_true()[0])
    found, before = _show_column_cell(values, row), _show_column_cell(values, 0)
    raise place.error(f"time must be of one kind throughout, found {found} after {before} in {place.name(0)}", row)


def _show_column_cell(values: pl.Series, row: int) -> str:
    return repr(values.slice(row, 1).to_list()[0])


def _parse_weight_column(values: pl.Series) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal() or values.dtype == pl.Object:
        return pl.Series(values.name, [None] * len(values), pl.Float64)
    return values.cast(pl.Float64, strict=False)


def _parse_times_as(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read values as one type of time, null where they are none."""
    if isinstance(values.dtype, pl.Datetime):
        if values.dtype.time_zone:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        values = values.dt.cast_time_unit("us")
    if values.dtype == dtype:
        return values
    if values.dtype.is_temporal() or values.dtype.is_nested() or values.dtype == pl.Object:
        return pl.Series(values.name, [None] * len(values), dtype)
    text = values.cast(pl.String)
    if dtype == pl.Int64():
        return text.cast(pl.Int64, strict=False)
    if dtype == pl.Date():
        return text.str.to_date("%Y-%m-%d", strict=False)
    text = text.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    return text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
