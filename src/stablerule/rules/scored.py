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
    "base_rate",
    "confidence_low",
    "confidence_high",
)
GAIN: Final = "gain"  # a number that follows from others
DROPPED: Final = ("confidence_error",)  # a number that older versions wrote
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
    base_rate: how often the conclusion would be true with a random X, which has the head relation, or with a random Y,
        whichever is more often; on average over the pairs that the body links, or over some of them.
    confidence_low, confidence_high: where the exact confidence is, at 95%, if it was measured on some entities X. The
        confidence itself where it is exact.

    Where a rule was measured on some entities, support and body count are estimates for all, but the confidences are
    those of the pairs that were seen, so that the 5 weighs more.

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
        """What the rule adds: the lower end of its confidence less the base rate of its conclusion."""
        least = self.confidence if self.confidence_low is None else self.confidence_low
        return None if least is None or self.base_rate is None else least - self.base_rate

    @property
    def is_estimate(self) -> bool:
        """Whether the numbers are known to come from a sample."""
        return self.confidence_low != self.confidence_high

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
