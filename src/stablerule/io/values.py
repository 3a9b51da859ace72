"""The optional columns: weight is a number, source a name, time a number or an ISO date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from stablerule.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# In the order in which they are tried; the first that reads every value is the one.
TIME_TYPES: tuple[pl.DataType, ...] = (pl.Int64(), pl.Date(), pl.Datetime("us"))


def typed_extras(
    frame: pl.DataFrame, *, path: str | Path, lines: Sequence[int] | None = None, first_line: int = 1
) -> pl.DataFrame:
    """Give weight and time their types; a value that is none is an error with its line."""

    def fail(column: str, bad: pl.Series, expected: str) -> ReadError:
        row = int(bad.arg_true()[0])
        line = lines[row] if lines is not None else first_line + row
        return ReadError(f"expected {expected} as {column}, found {frame[column][row]!r}.", path=path, line=line)

    if "weight" in frame.columns:
        weight = frame["weight"].cast(pl.Float64, strict=False)
        bad = weight.is_null() | ~weight.is_finite().fill_null(value=False) | (weight < 0).fill_null(value=True)
        if bad.any():
            raise fail("weight", bad, "a number of at least 0")
        frame = frame.with_columns(weight)
    if "time" in frame.columns:
        attempts = [_as_time(frame["time"], dtype) for dtype in TIME_TYPES]
        best = min(attempts, key=lambda series: series.null_count())
        if best.null_count():
            raise fail("time", best.is_null(), "a whole number or an ISO date such as 2024-05-31")
        frame = frame.with_columns(best)
    return frame


def _as_time(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read values as one type of time, null where they are none."""
    if isinstance(values.dtype, pl.Datetime):
        if values.dtype.time_zone:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        values = values.dt.cast_time_unit("us")
    if values.dtype == dtype:
        return values
    if values.dtype.is_temporal():
        return pl.Series(values.name, [None] * len(values), dtype)
    text = values.cast(pl.String)
    if dtype == pl.Int64():
        return text.cast(pl.Int64, strict=False)
    if dtype == pl.Date():
        return text.str.to_date("%Y-%m-%d", strict=False)
    text = text.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    return text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
