"""ScoredRule: a rule with its measures; the table of such rules, checked; and its HTML for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from stablerule.errors import OptionError, ReadError
from stablerule.graph import INVERSE
from stablerule.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KEY: Final = ("head_relation", "body", "constant", "body_constant")
NUMBERS: Final = (
    "score",
    "support",
    "body_count",
    "confidence",
    "pca_confidence",
    "head_coverage",
    "base_rate",
    "confidence_low",
    "confidence_high",
)
GAIN: Final = "gain"  # computed from other measures
DROPPED: Final = ("confidence_error",)  # a measure that older versions wrote
SCHEMA: Final[dict[str, pl.DataType]] = {
    "head_relation": pl.String(),
    "body": pl.List(pl.String()),
    "constant": pl.String(),
    "body_constant": pl.String(),
    **dict.fromkeys(NUMBERS, pl.Float64()),
}

# Added to the denominator of a confidence: a rule that is correct in two of two cases is not certain.
PESSIMISM: Final = 5.0
Repeated: TypeAlias = Literal["error", "first"]
# For the table of a set of rules in a notebook.
SHOWN, SHOWN_NUMBERS = 10, ("score", "confidence", "pca_confidence", "support")


@dataclass(frozen=True, slots=True)
class ScoredRule:
    """A rule and its measures; None is unknown.

    score: the learner's score.
    support: number of pairs that the body links and the head relation links as well; an estimate may be fractional.
    body_count: number of pairs that the body links.
    confidence: support / (body_count + 5).
    pca_confidence: the same, counting only pairs whose X has a fact of the head relation.
    head_coverage: support / number of facts of the head relation.
    base_rate: how often the conclusion would be true for a random X that has the head relation, or for a random Y,
        whichever is more frequent; averaged over the pairs that the body links, or a sample of them.
    confidence_low, confidence_high: the 95% interval of the exact confidence, if it was measured on a sample of
        entities X; otherwise the confidence itself.

    If a rule was measured on a sample, support and body count are estimates for all entities. The confidences are those
    of the pairs in the sample, where the 5 has more weight.

    >>> from stablerule.rules import Rule
    >>> print(ScoredRule(Rule("nationality", ("born_in", "city_of")), score=0.91, support=12))
    nationality(X, Y) <- born_in(X, A), city_of(A, Y)  score=0.91 support=12
    """

    rule: Rule
    score: float | None = None
    support: float | None = None
    body_count: float | None = None
    confidence: float | None = None
    pca_confidence: float | None = None
    head_coverage: float | None = None
    base_rate: float | None = None
    confidence_low: float | None = None
    confidence_high: float | None = None

    @property
    def gain(self) -> float | None:
        """The lower bound of the confidence minus the base rate."""
        least = self.confidence if self.confidence_low is None else self.confidence_low
        return None if least is None or self.base_rate is None else least - self.base_rate

    @property
    def is_estimate(self) -> bool:
        """Whether the measures come from a sample."""
        return self.confidence_low != self.confidence_high

    @property
    def numbers(self) -> dict[str, float]:
        """The known measures."""
        return {name: value for name in NUMBERS if (value := getattr(self, name)) is not None}

    def __str__(self) -> str:
        numbers = " ".join(f"{name}={value:.4g}" for name, value in self.numbers.items())
        return f"{self.rule}  {numbers}" if numbers else str(self.rule)


def spell_rule_number(number: float) -> str:
    """Spell a number such that reading it gives the same number; a whole one has no decimal point.

    >>> spell_rule_number(12.0), spell_rule_number(0.1), spell_rule_number(1e300)
    ('12', '0.1', '1e+300')
    """
    # Floats above 2 ** 53 are always whole, and their digits would be long.
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def make_rule_frame(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Make a frame from lists by column; ints become floats, and values that don't fit a column are an error."""
    series = []
    for name, values in columns.items():
        try:
            series.append(_make_body_column(values) if name == "body" else _make_rule_column(name, values))
        except UnicodeEncodeError as error:
            raise ReadError(f"a name in column {name!r} is not valid Unicode: {error.object!r}.") from error
        except (TypeError, ValueError, OverflowError) as error:
            problem = str(error).partition("\n")[0]
            raise ReadError(f"column {name!r} must have {_name_wanted_values(name)}: {problem}.") from error
    return pl.DataFrame(series)


def _make_rule_column(name: str, values: Sequence[Any]) -> pl.Series:
    if name not in NUMBERS:
        return pl.Series(name, values, dtype=SCHEMA[name], strict=True)
    if any(isinstance(value, bool) for value in values):
        raise TypeError("found True or False")
    numbers = [float(value) if isinstance(value, int | np.number) else value for value in values]
    return pl.Series(name, numbers, dtype=SCHEMA[name], strict=True)


def _make_body_column(bodies: Sequence[Any]) -> pl.Series:
    """Make a column of lists from one long list, since polars is ten times slower with many small ones."""
    if not all(isinstance(body, list | tuple) and body for body in bodies):
        if wrong := [body for body in bodies if not isinstance(body, list | tuple | None)]:
            raise TypeError(f"found {wrong[0]!r}")
        return _make_rule_column("body", bodies)
    names = pl.Series("body", list(chain.from_iterable(bodies)), dtype=pl.String, strict=True)
    rows = np.repeat(np.arange(len(bodies)), np.fromiter(map(len, bodies), np.int64, len(bodies)))
    return pl.DataFrame({"row": rows, "body": names}).group_by("row", maintain_order=True).agg("body")["body"]


def check_rule_frame(frame: pl.DataFrame, *, repeated: Repeated = "error") -> pl.DataFrame:
    """Return the frame with all columns in order and of the right type; anything wrong is an error."""
    if repeated not in ("error", "first"):
        raise OptionError(f"Argument 'repeated' must be 'error' or 'first', got {repeated!r}.")
    frame = _add_missing_rule_columns(frame)
    _check_rule_rows(frame)
    _check_rule_numbers(frame)
    if repeated == "error":
        _check_distinct_rules(frame)
    else:
        frame = frame.filter(pl.struct(KEY).is_first_distinct())
    by_count = pl.col("support") / (pl.col("body_count") + PESSIMISM)
    return frame.with_columns(pl.coalesce("confidence", by_count).alias("confidence"))


def _add_missing_rule_columns(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [name for name in ("head_relation", "body") if name not in frame.columns]
    unknown = [name for name in frame.columns if name not in (*SCHEMA, *DROPPED)]
    if missing or unknown:
        what = f"no column {missing[0]!r}" if missing else f"an unknown column {unknown[0]!r}"
        raise ReadError(f"expected the columns {', '.join(SCHEMA)}, found {what}.")
    columns = []
    for name, dtype in SCHEMA.items():
        found = frame[name] if name in frame.columns else pl.Series(name, [None] * len(frame), dtype=dtype)
        right = found.dtype.is_numeric() if name in NUMBERS else not _holds_rule_numbers(found.dtype)
        right = right and not (name == "body" and found.dtype == pl.String)  # polars 1 makes a list of it
        try:
            if not right and found.dtype != pl.Null:
                raise pl.exceptions.InvalidOperationError(str(found.dtype))
            columns.append(found.cast(dtype))
        except pl.exceptions.PolarsError as error:
            raise ReadError(f"column {name!r} must have {_name_wanted_values(name)}, found {found.dtype}.") from error
    return pl.DataFrame(columns)


def _holds_rule_numbers(dtype: pl.DataType) -> bool:
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    return not isinstance(inner, pl.String | pl.Categorical | pl.Enum | pl.Null)


def _name_wanted_values(column: str) -> str:
    return "numbers" if column in NUMBERS else "lists of relation names" if column == "body" else "names"


def _check_rule_rows(frame: pl.DataFrame) -> None:
    """Check all rows at once against the conditions of `Rule`, which makes the message."""
    steps, constant, near = pl.col("body"), pl.col("constant"), pl.col("body_constant")
    wrong_constant = (constant == "") | (near == "") | (steps.list.len() != 1) | steps.is_null()
    wrong = pl.any_horizontal(
        _match_wrong_relation(pl.col("head_relation")),
        steps.is_null() | (steps.list.len() == 0),
        steps.list.eval(_match_wrong_relation(pl.element())).list.any().fill_null(value=False),
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
        raise ReadError(f"row {row + 1:,} is not a rule. {error}") from error


def _match_wrong_relation(name: pl.Expr) -> pl.Expr:
    return name.is_null() | name.is_in(["", INVERSE]) | name.str.starts_with(INVERSE * 2)


def _check_rule_numbers(frame: pl.DataFrame) -> None:
    for name in NUMBERS:
        number = pl.col(name)
        good = number.is_finite() if name == "score" else number.is_finite() & (number >= 0)
        rows = frame.select((~good).arg_true()).to_series()
        if len(rows):
            must = "a number" if name == "score" else "a number of at least 0"
            raise ReadError(
                f"row {rows[0] + 1:,}: {name} must be {must}, or null if unknown, got {frame[name][rows[0]]}."
            )


def _check_distinct_rules(frame: pl.DataFrame) -> None:
    again = frame.select((~pl.struct(KEY).is_first_distinct()).arg_true()).to_series()
    if len(again):
        head_relation, body, constant, near = frame.select(KEY).row(again[0])
        rule = Rule(head_relation, tuple(body), None if constant is None else (constant, near))
        raise ReadError(f"row {again[0] + 1:,}: this rule is repeated: {rule}. Keep one.")


def spell_rules_as_html(title: str, rules: Iterable[ScoredRule], more: int) -> str:
    """Spell a table of rules as HTML; names are escaped, and estimates start with ~."""
    rows = "".join(map(_spell_rule_row, rules))
    titles = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in SHOWN_NUMBERS)
    behind = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<p>{escape(title)}</p><table><thead><tr><th style='text-align: left'>rule</th>{titles}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{behind}"
    )


def _spell_rule_row(one: ScoredRule) -> str:
    cells = "".join(f"<td>{spell_rule_cell(one, name)}</td>" for name in SHOWN_NUMBERS)
    return f"<tr><td style='text-align: left'>{escape(str(one.rule))}</td>{cells}</tr>"


def spell_rule_cell(one: ScoredRule, name: str) -> str:
    """Spell a measure for people; an estimate starts with ~.

    >>> from stablerule.rules import Rule, ScoredRule
    >>> sampled = ScoredRule(Rule("r", ("s",)), support=1200, confidence=0.5, confidence_low=0.4, confidence_high=0.6)
    >>> spell_rule_cell(sampled, "support"), spell_rule_cell(sampled, "confidence"), spell_rule_cell(sampled, "score")
    ('~1,200', '~0.500', '-')
    """
    value: float | None = getattr(one, name)
    if value is None:
        return "-"
    text = f"{value:,.0f}" if name in ("support", "body_count") else f"{value:.3f}"
    return f"~{text}" if one.is_estimate and name != "score" else text
