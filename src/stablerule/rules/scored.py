"""A rule with what is known about it, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from stablerule.rules.rule import Rule

KEY: Final = ("head_relation", "body", "constant", "body_constant")
NUMBERS: Final = (
    "score",
    "support",
    "body_count",
    "confidence",
    "pca_confidence",
    "head_coverage",
    "confidence_error",
)
SCHEMA: Final[dict[str, pl.DataType]] = {
    "head_relation": pl.String(),
    "body": pl.List(pl.String()),
    "constant": pl.String(),
    "body_constant": pl.String(),
    **dict.fromkeys(NUMBERS, pl.Float64()),
}

# Below the line of a confidence, against luck: a rule that was right twice in two cases is not certain.
PESSIMISM: Final = 5.0


@dataclass(frozen=True, slots=True)
class ScoredRule:
    """A rule and its numbers; None where a number is not known.

    score: what the learner gave.
    support: pairs that the body links and the head relation holds; an estimate may be broken.
    body_count: pairs that the body links.
    confidence: support / (body_count + 5).
    pca_confidence: the same, counting only pairs whose X has some fact of the head relation.
    head_coverage: support over the facts of the head relation.
    confidence_error: the standard error of the confidence, 0 where it is exact.

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
    confidence_error: float | None = None

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that are known."""
        return {name: value for name in NUMBERS if (value := getattr(self, name)) is not None}

    def __str__(self) -> str:
        numbers = " ".join(f"{name}={value:.4g}" for name, value in self.numbers.items())
        return f"{self.rule}  {numbers}" if numbers else str(self.rule)


def spell_rule_number(number: float) -> str:
    """Write a number so that the same one is read back, a whole one without a point.

    >>> spell_rule_number(12.0), spell_rule_number(0.1), spell_rule_number(1e300)
    ('12', '0.1', '1e+300')
    """
    # Beyond 2 ** 53 a float is whole anyway, and writing all its digits would only be long.
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
