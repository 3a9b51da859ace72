"""Answers to a query, and the rules and facts behind them.

Lists of them have `to_frame`, for a polars frame with one row each.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from stablerule.errors import spell_count
from stablerule.graph import INVERSE
from stablerule.rules.rule import quote_name, spell_atom
from stablerule.rules.scored import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stablerule.rules import ScoredRule

Fact: TypeAlias = tuple[str, str, str]
TYPES: dict[str, Any] = {
    "str": pl.String,
    "float": pl.Float64,
    "float | None": pl.Float64,
    "int": pl.Int64,
    "tuple[str, ...]": pl.List(pl.String),
}


@dataclass(frozen=True)
class Explanation:
    """A rule that fired for a triple, with its share of the score.

    share: its share of the score, 0 to 1; the shares of all rules that fired sum to 1 (see `scoring.explain`).
    paths: the number of paths from X to Y along the body; a rule with constants counts once.
    groundings: some of these paths as entity names, in the order of the body: from X to Y, or from X to the constant
    (or to A).
    part: the rule's term in the sum behind the score; negative if it counts against the answer.

    >>> from stablerule.rules import Rule, ScoredRule
    >>> rule = ScoredRule(Rule("sibling_of", ("~parent_of", "parent_of")))
    >>> reason = Explanation(rule, share=0.25, paths=1, groundings=(("Ann", "Eve", "Bob"),))
    >>> print(reason)
    25% of the score: sibling_of(X, Y) <- parent_of(A, X), parent_of(A, Y)  by Ann - Eve - Bob
    >>> reason.facts[0]
    (('Eve', 'parent_of', 'Ann'), ('Eve', 'parent_of', 'Bob'))
    """

    rule: ScoredRule
    share: float
    paths: int
    groundings: tuple[tuple[str, ...], ...]
    part: float = 0.0

    @property
    def facts(self) -> tuple[tuple[Fact, ...], ...]:
        """The facts of each grounding, as they are in the graph."""
        return tuple(tuple(list_facts_along_path(self.rule.rule.body, path)) for path in self.groundings)

    def lines(self) -> list[str]:
        """Spell it in a few lines: the rule, then the facts of each grounding."""
        more = self.paths - len(self.groundings)
        found = [f"{spell_reason_share(self.share)} of the score: {self.rule.rule}"]
        found += [f"      {spell_facts_of_reason(facts)}" for facts in self.facts]
        if more > 0:
            found.append(f"      and {spell_count(more, 'other path' if self.groundings else 'path')}")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "rule": str(self.rule.rule),
            "numbers": self.rule.numbers,
            "share": self.share,
            "part": self.part,
            "paths": self.paths,
            "groundings": [
                {"entities": list(path), "facts": [list(fact) for fact in facts]}
                for path, facts in zip(self.groundings, self.facts, strict=True)
            ],
        }

    def __str__(self) -> str:
        """Spell it on one line."""
        path = f"  by {' - '.join(self.groundings[0])}" if self.groundings else ""
        return f"{spell_reason_share(self.share)} of the score: {self.rule.rule}{path}"


@dataclass(frozen=True)
class Answer:
    """An entity and its score; with `explain`, also the reasons, the largest share first.

    probability: how likely it is that the source of the graph lists the fact; None for a known fact, and if the model
    is not calibrated for it. The score itself is not a probability.
    """

    entity: str
    score: float
    reasons: tuple[Explanation, ...] = ()
    probability: float | None = None


def list_facts_along_path(body: Iterable[str], path: Iterable[str]) -> Iterator[Fact]:
    """Yield the facts of a path; a step along an inverse relation is a fact with head and tail swapped."""
    for relation, (here, there) in zip(body, pairwise(path), strict=True):
        plain = relation.removeprefix(INVERSE)
        yield (here, plain, there) if plain == relation else (there, plain, here)


def spell_facts_of_reason(facts: Iterable[Fact]) -> str:
    """Spell facts in the notation of rules.

    >>> spell_facts_of_reason([("Lyon", "city_in", "France"), ("Europe", "~in_continent", "France")])
    "city_in('Lyon', 'France'), in_continent('France', 'Europe')"
    """
    return ", ".join(spell_atom(relation, quote_name(head), quote_name(tail)) for head, relation, tail in facts)


def spell_reason_share(share: float) -> str:
    """Round to whole percents, but never a positive share to 0%, nor one below 1 to 100%.

    >>> [spell_reason_share(share) for share in (0.5, 0.001, 0.0, 0.997, 1.0)]
    ['50%', '<1%', '0%', '>99%', '100%']
    """
    if 0.995 <= share < 1 - 1e-9:
        return ">99%"
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def spell_score(score: float) -> str:
    """Round a score to three digits, but never a positive one to zero.

    >>> spell_score(0.51234), spell_score(0.00001234), spell_score(0.0)
    ('0.512', '1.2e-05', '0.000')
    """
    return f"{score:.1e}" if 0 < score < 0.0005 else f"{score:.3f}"


class Answers(list[Answer]):
    """The answers to a query (head, relation), the best first.

    >>> Answers([Answer("France", 0.75)], ("Lyon", "city_in")).to_frame().rows()
    [('Lyon', 'city_in', 1, 'France', 0.75, None, None)]
    """

    def __init__(self, answers: Iterable[Answer] = (), query: tuple[str, str] = ("", "")) -> None:
        super().__init__(answers)
        self.query = query

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each answer, with its query and rank, and its best rule if `explain` asked for it."""
        head, relation = self.query
        rules = [str(answer.reasons[0].rule.rule) if answer.reasons else None for answer in self]
        columns = {
            "head": pl.repeat(head, len(self), dtype=pl.String, eager=True),
            "relation": pl.repeat(relation, len(self), dtype=pl.String, eager=True),
            "rank": pl.int_range(1, len(self) + 1, dtype=pl.Int64, eager=True),
        }
        return pl.DataFrame(columns | list_answer_columns(Answer, self) | {"rule": pl.Series(rules, dtype=pl.String)})

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


class Reasons(list[Explanation]):
    """The rules that fired for a triple, the largest share of its score first."""

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each rule: share and part of the score, number of paths, one path, and its measures."""
        rules = [reason.rule for reason in self]
        first = [list(reason.groundings[0]) if reason.groundings else [] for reason in self]
        columns = {
            "rule": pl.Series([str(one.rule) for one in rules], dtype=pl.String),
            **list_answer_columns(Explanation, self),
            "path": pl.Series(first, dtype=pl.List(pl.String)),
        }
        numbers = {name: pl.Series([getattr(one, name) for one in rules], dtype=pl.Float64) for name in NUMBERS}
        return pl.DataFrame(columns | numbers)

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


def list_answer_columns(kind: Any, rows: list[Any]) -> dict[str, pl.Series]:
    """Return the plain fields of a dataclass as columns."""
    plain = {f.name: TYPES[str(f.type)] for f in fields(kind) if str(f.type) in TYPES}
    return {
        name: pl.Series([_spell_answer_cell(getattr(row, name)) for row in rows], dtype=dtype)
        for name, dtype in plain.items()
    }


def _spell_answer_cell(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
