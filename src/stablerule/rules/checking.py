"""What a frame of rules must look like, and what is said when it does not."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from stablerule.errors import OptionError, ReadError
from stablerule.graph import INVERSE
from stablerule.rules.rule import Rule
from stablerule.rules.scored import KEY, NUMBERS, PESSIMISM, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Repeated: TypeAlias = Literal["error", "first"]


def make_frame(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Make a frame from lists by column; ints become floats, and what can't be in a table is an error."""
    series = []
    for name, values in columns.items():
        try:
            series.append(_make_bodies(values) if name == "body" else _make_column(name, values))
        except UnicodeEncodeError as error:
            raise ReadError(f"a name in column {name!r} is no Unicode text: {error.object!r}.") from error
        except (TypeError, ValueError, OverflowError) as error:
            problem = str(error).partition("\n")[0]
            raise ReadError(f"column {name!r} must have {_wanted(name)}: {problem}.") from error
    return pl.DataFrame(series)


def _make_column(name: str, values: Sequence[Any]) -> pl.Series:
    if name not in NUMBERS:
        return pl.Series(name, values, dtype=SCHEMA[name], strict=True)
    if any(isinstance(value, bool) for value in values):
        raise TypeError("found True or False")
    numbers = [float(value) if isinstance(value, int | np.number) else value for value in values]
    return pl.Series(name, numbers, dtype=SCHEMA[name], strict=True)


def _make_bodies(bodies: Sequence[Any]) -> pl.Series:
    """Make a column of lists from one long list: polars takes ten times as long over many small ones."""
    if not all(isinstance(body, list | tuple) and body for body in bodies):
        if wrong := [body for body in bodies if not isinstance(body, list | tuple | None)]:
            raise TypeError(f"found {wrong[0]!r}")
        return _make_column("body", bodies)
    names = pl.Series("body", list(chain.from_iterable(bodies)), dtype=pl.String, strict=True)
    rows = np.repeat(np.arange(len(bodies)), np.fromiter(map(len, bodies), np.int64, len(bodies)))
    return pl.DataFrame({"row": rows, "body": names}).group_by("row", maintain_order=True).agg("body")["body"]


def check_frame(frame: pl.DataFrame, *, repeated: Repeated = "error") -> pl.DataFrame:
    """Return the frame with all columns in order and of the right type, or say what is wrong with it."""
    if repeated not in ("error", "first"):
        raise OptionError(f"Argument 'repeated' must be 'error' or 'first', got {repeated!r}.")
    frame = _with_all_columns(frame)
    _check_rules(frame)
    _check_numbers(frame)
    if repeated == "error":
        _check_distinct(frame)
    else:
        frame = frame.filter(pl.struct(KEY).is_first_distinct())
    by_count = pl.col("support") / (pl.col("body_count") + PESSIMISM)
    return frame.with_columns(pl.coalesce("confidence", by_count).alias("confidence"))


def _with_all_columns(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [name for name in ("head_relation", "body") if name not in frame.columns]
    unknown = [name for name in frame.columns if name not in SCHEMA]
    if missing or unknown:
        what = f"no column {missing[0]!r}" if missing else f"an unknown column {unknown[0]!r}"
        raise ReadError(f"a frame of rules has the columns {', '.join(SCHEMA)}; found {what}.")
    columns = []
    for name, dtype in SCHEMA.items():
        found = frame[name] if name in frame.columns else pl.Series(name, [None] * len(frame), dtype=dtype)
        right = found.dtype.is_numeric() if name in NUMBERS else not _holds_numbers(found.dtype)
        try:
            if not right and found.dtype != pl.Null:
                raise pl.exceptions.InvalidOperationError(str(found.dtype))
            columns.append(found.cast(dtype))
        except pl.exceptions.PolarsError as error:
            raise ReadError(f"column {name!r} must have {_wanted(name)}, found {found.dtype}.") from error
    return pl.DataFrame(columns)


def _holds_numbers(dtype: pl.DataType) -> bool:
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    return not isinstance(inner, pl.String | pl.Categorical | pl.Enum | pl.Null)


def _wanted(column: str) -> str:
    return "numbers" if column in NUMBERS else "lists of relation names" if column == "body" else "names"


def _check_rules(frame: pl.DataFrame) -> None:
    """Hold the rows against what `Rule` accepts, all at once; the message comes from `Rule` itself."""
    steps, constant, near = pl.col("body"), pl.col("constant"), pl.col("body_constant")
    wrong_constant = (constant == "") | (near == "") | (steps.list.len() != 1) | steps.is_null()
    wrong = pl.any_horizontal(
        _wrong_relation(pl.col("head_relation")),
        steps.is_null() | (steps.list.len() == 0),
        steps.list.eval(_wrong_relation(pl.element())).list.any().fill_null(value=False),
        pl.when(constant.is_null()).then(near.is_not_null()).otherwise(wrong_constant),
    )
    rows = frame.select(wrong.arg_true()).to_series()
    if not len(rows):
        return
    row = rows[0]
    head_relation, body, constant_, near_ = frame.select(KEY).row(row)
    try:
        constants = None if constant_ is None and near_ is None else (constant_, near_)
        Rule(head_relation, tuple(body or ()), constants)
    except OptionError as error:
        raise ReadError(f"row {row + 1:,} is no rule. {error}") from error


def _wrong_relation(name: pl.Expr) -> pl.Expr:
    return name.is_null() | name.is_in(["", INVERSE]) | name.str.starts_with(INVERSE * 2)


def _check_numbers(frame: pl.DataFrame) -> None:
    for name in NUMBERS:
        number = pl.col(name)
        good = number.is_finite() if name == "score" else number.is_finite() & (number >= 0)
        rows = frame.select((~good).arg_true()).to_series()
        if len(rows):
            must = "a number" if name == "score" else "a number, 0 or more"
            raise ReadError(
                f"row {rows[0] + 1:,}: {name} must be {must}, or null where it is not known, "
                f"got {frame[name][rows[0]]}."
            )


def _check_distinct(frame: pl.DataFrame) -> None:
    again = frame.select((~pl.struct(KEY).is_first_distinct()).arg_true()).to_series()
    if len(again):
        head_relation, body, constant, near = frame.select(KEY).row(again[0])
        rule = Rule(head_relation, tuple(body), None if constant is None else (constant, near))
        raise ReadError(f"row {again[0] + 1:,}: a rule must be there once, this one is there again: {rule}")
