"""Conditions such as `worst_mrr<0.3`, for use where a program decides."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stablerule.errors import OptionError, closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
SHAPE = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Condition:
    """A figure by name, a sign and a bound.

    >>> Condition.parse("worst_mrr < 0.3", ["worst_mrr"]).holds({"worst_mrr": 0.2})
    True
    """

    name: str
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: str, names: Iterable[str]) -> Condition:
        """Read a condition; the figure must be one of `names`."""
        names = list(names)
        found = SHAPE.fullmatch(text)
        try:
            bound = float(found[3]) if found else None
        except ValueError:
            bound = None
        if found is None or bound is None:
            raise OptionError(f"A condition must be such as 'worst_mrr<0.3', got {text!r}.")
        if found[1] not in names:
            raise OptionError(
                f"There is no figure {found[1]!r} to put a condition on: there are {', '.join(names)}."
                f"{closest(found[1], names)}"
            )
        return cls(found[1], found[2], bound)

    def holds(self, figures: Mapping[str, float | None]) -> bool:
        """Tell whether it holds; a figure that could not be told does: who asks for a bound wants to know that."""
        value = figures[self.name]
        return value is None or bool(SIGNS[self.sign](value, self.bound))

    def __str__(self) -> str:
        """Write it as it was asked."""
        return f"{self.name}{self.sign}{self.bound:g}"
