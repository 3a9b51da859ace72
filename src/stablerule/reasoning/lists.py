"""Answers, reasons and new facts as lists that become frames: one row each, columns by the names of their fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.reasoning.answers import Answer, Explanation
from stablerule.reasoning.completing import NewFact
from stablerule.rules.scored import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPES: dict[str, Any] = {
    "str": pl.String,
    "float": pl.Float64,
    "float | None": pl.Float64,
    "int": pl.Int64,
    "tuple[str, ...]": pl.List(pl.String),
}


class Answers(list[Answer]):
    """The answers to a query (head, relation), the best first.

    >>> Answers([Answer("France", 0.75)], ("Lyon", "city_in")).to_frame().rows()
    [('Lyon', 'city_in', 1, 'France', 0.75, None, None)]
    """

    def __init__(self, answers: Iterable[Answer] = (), query: tuple[str, str] = ("", "")) -> None:
        super().__init__(answers)
        self.query = query

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each answer, with its query and rank, and the best rule if it was asked for."""
        head, relation = self.query
        rules = [str(answer.reasons[0].rule.rule) if answer.reasons else None for answer in self]
        columns = {
            "head": pl.repeat(head, len(self), dtype=pl.String, eager=True),
            "relation": pl.repeat(relation, len(self), dtype=pl.String, eager=True),
            "rank": pl.int_range(1, len(self) + 1, dtype=pl.Int64, eager=True),
        }
        return pl.DataFrame(columns | _list_answer_columns(Answer, self) | {"rule": pl.Series(rules, dtype=pl.String)})

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


class Reasons(list[Explanation]):
    """The rules that fired for a triple, the largest share of its score first."""

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each rule: share and part of the score, paths, one of them, and the rule's numbers."""
        rules = [reason.rule for reason in self]
        first = [list(reason.groundings[0]) if reason.groundings else [] for reason in self]
        columns = {
            "rule": pl.Series([str(one.rule) for one in rules], dtype=pl.String),
            **_list_answer_columns(Explanation, self),
            "path": pl.Series(first, dtype=pl.List(pl.String)),
        }
        numbers = {name: pl.Series([getattr(one, name) for one in rules], dtype=pl.Float64) for name in NUMBERS}
        return pl.DataFrame(columns | numbers)

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


class NewFacts(Iterator[NewFact]):
    """New facts as they are found; `to_frame` takes all that have not been taken yet."""

    def __init__(self, facts: Iterator[NewFact]) -> None:
        self._facts = facts

    def __next__(self) -> NewFact:
        return next(self._facts)

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each fact: head, relation, tail, score, probability, rule, path."""
        return pl.DataFrame(_list_answer_columns(NewFact, list(self)))


def _list_answer_columns(kind: Any, rows: list[Any]) -> dict[str, pl.Series]:
    """Return the plain fields of a dataclass as columns."""
    plain = {f.name: TYPES[str(f.type)] for f in fields(kind) if str(f.type) in TYPES}
    return {
        name: pl.Series([_spell_answer_cell(getattr(row, name)) for row in rows], dtype=dtype)
        for name, dtype in plain.items()
    }


def _spell_answer_cell(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
