"""Reasons and facts as plain values with types, as all views show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stablerule.reasoning import Explanation
    from stablerule.reasoning.answers import Fact
    from stablerule.rules import ScoredRule


@dataclass(frozen=True)
class FactView:
    """A fact of the graph, in its own direction."""

    head: str
    relation: str
    tail: str

    @classmethod
    def of(cls, fact: Fact) -> FactView:
        """Name the parts."""
        return cls(*fact)


@dataclass(frozen=True)
class PathView:
    """One path of a rule: its entities in order, and the facts between them, which may point either way."""

    entities: list[str]
    facts: list[FactView]


@dataclass(frozen=True)
class RuleView:
    """A rule, its atoms (the head first), and the numbers that are known; `gain` is confidence less base rate."""

    rule: str
    atoms: list[str]
    head_relation: str
    body: list[str]
    constant: str | None
    body_constant: str | None
    numbers: dict[str, float]
    gain: float | None
    is_estimate: bool

    @classmethod
    def of(cls, scored: ScoredRule) -> RuleView:
        """Show a rule of a model."""
        rule = scored.rule
        constant, near = rule.constants or (None, None)
        return cls(
            str(rule),
            rule.atoms,
            rule.head_relation,
            list(rule.body),
            constant,
            near,
            scored.numbers,
            scored.gain,
            scored.is_estimate,
        )


@dataclass(frozen=True)
class ReasonView:
    """A rule behind an answer: its share of the score (0 to 1), its part of the sum, and some of its paths."""

    rule: RuleView
    share: float
    part: float
    paths: int
    groundings: list[PathView] = field(default_factory=list)

    @classmethod
    def of(cls, reason: Explanation) -> ReasonView:
        """Show a reason."""
        paths = [
            PathView(list(entities), [FactView.of(fact) for fact in facts])
            for entities, facts in zip(reason.groundings, reason.facts, strict=True)
        ]
        return cls(RuleView.of(reason.rule), reason.share, reason.part, reason.paths, paths)
