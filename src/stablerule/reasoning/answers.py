"""What comes back from a question: answers, and the reasons for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stablerule.rules import ScoredRule


@dataclass(frozen=True)
class Answer:
    """An entity and its score, which is no probability."""

    entity: str
    score: float


@dataclass(frozen=True)
class Explanation:
    """A rule that fired for a triple: its share of the score, how many paths, and some of them by name."""

    rule: ScoredRule
    share: float
    paths: int
    groundings: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        """Say it on one line."""
        path = " - ".join(self.groundings[0])
        return f"{self.share:.0%}  {self.rule.rule}  by {path}"
