"""The optional columns: weight is a number, source a name, time a number or an ISO date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from stablerule.io.place import Place

# In the order in which they are tried; the first that reads every value is the one.
TIME_TYPES: tuple[pl.DataType, ...] = (pl.Int64(), pl.Date(), pl.Datetime("us"))
TIME_KINDS = {"int64": "a whole number", "datetime64[D]": "a date", "datetime64[us]": "a date with the time of day"}


def typed_extras(frame: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Give weight and time their types; a value that is none is an error that says where it stands."""
    if "weight" in frame.columns:
        weight = _as_number(frame["weight"])
        bad = weight.is_null() | ~weight.is_finite().fill_null(value=False) | (weight < 0).fill_null(value=True)
        if bad.any():
            row = int(bad.arg_true()[0])
            raise place.error(f"expected a number of at least 0 as weight, found {_shown(frame['weight'], row)}", row)
        frame = frame.with_columns(weight)
    if "time" in frame.columns:
        frame = frame.with_columns(_typed_time(frame["time"], place))
    return frame


def _typed_time(values: pl.Series, place: Place) -> pl.Series:
    attempts = [_as_time(values, dtype) for dtype in TIME_TYPES]
    for attempt in attempts:
        if not attempt.null_count():
            return attempt
    unread = pl.Series([True] * len(values))
    for attempt in attempts:
        unread &= attempt.is_null()
    if unread.any():
        row = int(unread.arg_true()[0])
        raise place.error(
            f"expected a whole number or an ISO date such as 2024-05-31 as time, found {_shown(values, row)}", row
        )
    # Each value is good, but they are not of one kind: name the first, and the first that differs from it.
    usual = next(attempt for attempt in attempts if attempt[0] is not None)
    row = int(usual.is_null().arg_true()[0])
    raise place.error(
        f"time must be of one kind throughout, found {_shown(values, row)} after {_shown(values, 0)} in "
        f"{place.name(0)}",
        row,
    )


def _shown(values: pl.Series, row: int) -> str:
    return repr(values.slice(row, 1).to_list()[0])


def _as_number(values: pl.Series) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal() or values.dtype == pl.Object:
        return pl.Series(values.name, [None] * len(values), pl.Float64)
    return values.cast(pl.Float64, strict=False)


def _as_time(values: pl.Series, dtype: pl.DataType) -> pl.Series:
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
