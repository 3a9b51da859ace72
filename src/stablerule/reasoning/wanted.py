"""The options of `complete`: which new facts are wanted, and for which heads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypedDict

from stablerule.errors import OptionError
from stablerule.reasoning.calibration import MISSING
from stablerule.reasoning.queries import check_at_least_one

USUAL_TOP = 1000
UNLIKELY = 0.01  # the least probability, and without one the least share of the largest score, if nothing is asked for
ALL = "all"


@dataclass(frozen=True)
class WantedFacts:
    """The options of `complete`.

    top: number of facts over all relations, or "all". None is 1,000 with a probability of 1% or more, or all if
    another argument limits them: `per_relation`, `threshold` or `min_probability`.
    per_relation: most facts for each relation.
    threshold: the minimum score. None is no minimum, because some methods have negative scores.
    min_probability: the minimum probability, for calibrated models.
    per_query: number of answers to each query (head, relation, ?).
    candidates: "range" allows tails seen with the relation, and similar ones if each tail has one head; "all" any
    entity.
    domain: "observed" asks the heads seen with the relation, "kind" also similar ones, "all" every entity.
    second_values: also predict a second value of a one-valued relation, and a second head of a tail that has one.
    unlinked: only pairs without any fact between them, in either direction.
    missing: the assumed share of the source's facts that the graph lacks, on which probabilities depend.
    """

    top: int | Literal["all"] | None = None
    per_relation: int | None = None
    threshold: float | None = None
    min_probability: float | None = None
    per_query: int = 10
    candidates: Literal["range", "all"] = "range"
    domain: Literal["kind", "observed", "all"] = "kind"
    second_values: bool = False
    unlinked: bool = False
    missing: float = MISSING

    def __post_init__(self) -> None:
        for name in ("top", "per_relation", "per_query"):
            value = getattr(self, name)
            if (value is None and name != "per_query") or (value == ALL and name == "top"):
                continue
            check_at_least_one(name, value)
        for name, most in (("threshold", math.inf), ("min_probability", 1)):
            value = getattr(self, name)
            if value is not None and not (_is_number_wanted(value) and 0 <= value <= most and value < math.inf):
                must = "a number of at least 0" if most > 1 else "a number between 0 and 1"
                raise OptionError(f"Argument {name!r} must be {must}, got {value!r}.")
        if not (_is_number_wanted(self.missing) and 0 < self.missing < 1):
            raise OptionError(f"Argument 'missing' must be a share between 0 and 1, got {self.missing!r}.")
        for name, choices in (("candidates", ("range", "all")), ("domain", ("kind", "observed", "all"))):
            if getattr(self, name) not in choices:
                raise OptionError(f"Argument {name!r} must be {' or '.join(choices)}, got {getattr(self, name)!r}.")

    @property
    def is_usual(self) -> bool:
        """Whether no argument limits the number of facts or how good they are."""
        return all(one is None for one in (self.top, self.per_relation, self.threshold, self.min_probability))

    @property
    def most_of_all(self) -> int | None:
        """Number of facts over all relations; None is all."""
        if self.is_usual:
            return USUAL_TOP
        return self.top if isinstance(self.top, int) else None

    @property
    def most(self) -> int | None:
        """The most facts of one relation that the result can have."""
        return min((n for n in (self.most_of_all, self.per_relation) if n is not None), default=None)


class WantedOptions(TypedDict, total=False):
    """The arguments of `WantedFacts`, by name."""

    top: int | Literal["all"] | None
    per_relation: int | None
    threshold: float | None
    min_probability: float | None
    per_query: int
    candidates: Literal["range", "all"]
    domain: Literal["kind", "observed", "all"]
    second_values: bool
    unlinked: bool
    missing: float


def _is_number_wanted(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
