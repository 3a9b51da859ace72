"""Which new facts are wanted, and of whom they are asked."""

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
    """Which new facts are wanted.

    top: so many of all relations together, or "all". None is the best 1,000 with a probability of 1% or more, or all of
    them where another argument limits them: `per_relation`, `threshold` or `min_probability`.
    per_relation: at most so many of each.
    threshold: the least score; None is none at all, since scores of some methods lie below 0.
    min_probability: the least probability, for models that are calibrated.
    per_query: answers to one query (head, relation, ?), the best ones.
    candidates: "range" admits only tails that some fact of the relation has, and those of their kind where each tail
    has one head; "all" any entity.
    domain: "kind" asks the heads that have some fact of the relation and those of their kind; "observed" only those
    that have one; "all" every entity.
    second_values: also ask for a second value of a one-valued relation, and for a second head of a tail that has one.
    unlinked: only pairs that no fact links yet, in either direction.
    missing: the share of its source's facts that the graph is assumed to lack, which probabilities depend on.
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
        """Whether nothing says how many are wanted, or how good they have to be."""
        return all(one is None for one in (self.top, self.per_relation, self.threshold, self.min_probability))

    @property
    def most_of_all(self) -> int | None:
        """How many are wanted of all relations together; None is all."""
        if self.is_usual:
            return USUAL_TOP
        return self.top if isinstance(self.top, int) else None

    @property
    def most(self) -> int | None:
        """How many of one relation can be among the result."""
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
