"""Queries whose answer is known, with the evidence for it and for its competing candidates, from one firing of rules.

What fires for a query serves all that is chosen: the weights of `learned`, in every fold, and the ranks under every
aggregation that has nothing to learn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.reasoning.scoring.evidence import ALL_RULES, CHAINS, COLUMNS, NO_TRAITS, ONE
from stablerule.reasoning.scoring.query_kernels import (
    EVERYBODY,
    GATHER,
    Trials,
    Wanted,
    make_evidence_results,
    run_queries,
)
from stablerule.reasoning.scoring.score import AGGREGATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.scoring.query_kernels import Asked, Desk
    from stablerule.reasoning.scoring.score import Aggregation


@dataclass(frozen=True, eq=False)
class Examples:
    """Evidence for n queries whose answer is known: rows (n, k, columns), the answer's first.

    stand_for: (n, k) how many competing candidates a row stands for, 0 where there is none; relations: (n,).
    entities: (n, k) whose evidence a row is, -1 where there is none. columns: their names. A model that knows more than
    its rules appends columns to those of the rules; `one`, which is the same for all candidates, stays where it is.
    """

    rows: NDArray[np.float32]
    stand_for: NDArray[np.float32]
    relations: Ids
    entities: Ids = field(default_factory=lambda: np.empty((0, 0), np.int32), repr=False)
    columns: tuple[str, ...] = COLUMNS

    @property
    def useful(self) -> NDArray[np.int64]:
        """Queries whose answer a rule reaches, with a competing candidate: only those inform the weights."""
        return np.flatnonzero((self.stand_for[:, 0] > 0) & (self.stand_for[:, 1] > 0))

    @property
    def one(self) -> int:
        """The column that is the same for all candidates."""
        return self.columns.index(COLUMNS[ONE])

    def take(self, which: NDArray[np.int64]) -> Examples:
        """Return some of them."""
        entities = self.entities[which] if len(self.entities) else self.entities
        return replace(
            self,
            rows=self.rows[which],
            stand_for=self.stand_for[which],
            relations=self.relations[which],
            entities=entities,
        )

    def with_columns(self, names: Sequence[str], values: NDArray[np.float32]) -> Examples:
        """Append columns (n, k, names) that are not evidence of rules."""
        rows = np.concatenate([self.rows, values.astype(np.float32, copy=False)], axis=2)
        return replace(self, rows=rows, columns=(*self.columns, *names))

    def by_chains_alone(self) -> Examples:
        """Return the evidence of chains alone: without the columns and the candidates of rules with constants."""
        rows = self.rows.copy()
        rows[:, :, list(NO_TRAITS)] = list(NO_TRAITS.values())
        reached = rows[:, :, CHAINS] > 0
        gone = ~reached
        gone[:, 0] = False  # the answer stays in front
        order = np.argsort(gone, axis=1, kind="stable")
        stand_for = np.take_along_axis(np.where(reached, self.stand_for, 0), order, 1)
        entities = np.take_along_axis(self.entities, order, 1) if len(self.entities) else self.entities
        rows = np.take_along_axis(rows, order[:, :, None], 1)
        return replace(self, rows=rows, stand_for=stand_for, entities=entities)

    def __len__(self) -> int:
        return len(self.relations)


class Queries(NamedTuple):
    """Questions with their answers by id (n,): heads, relations and inverses, answers."""

    heads: Ids
    relations: Ids
    answers: Ids

    @classmethod
    def both_ways(cls, facts: Triples, relations: int) -> Queries:
        """Ask each fact for its tail and for its head."""
        h, r, t = facts.heads, facts.relations, facts.tails
        return cls(np.concatenate([h, t]), np.concatenate([r, r + np.int32(relations)]), np.concatenate([t, h]))

    def take(self, which: NDArray[np.int64]) -> Queries:
        """Return some of them."""
        return Queries(*(column[which] for column in self))


@dataclass(frozen=True, eq=False)
class Fired:
    """What one firing of rules gave for n queries.

    examples: evidence, for each set of rules. tried: (n, A) reciprocal ranks of the answer under aggregations, with
    realistic ties. ranked: (n,) the same under weights of `learned`, or where no rule reaches the answer; else 1.
    missed: (n, sets) about the reciprocal rank of an answer that no rule of a set reaches.
    """

    examples: tuple[Examples, ...]
    tried: NDArray[np.float64]
    ranked: NDArray[np.float64]
    missed: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FirstWeights:
    """Weights of `learned` by which the strongest competing candidates are found: one of them for each query.

    table: (relations, folds, columns). folds: (n,).
    """

    table: NDArray[np.float64]
    folds: NDArray[np.int64]


@dataclass(frozen=True)
class NestedSets:
    """Sets of rules, each of which is a part of those that fire: members (rules,) says of which, one bit each."""

    members: NDArray[np.uint8]
    count: int


def fire_queries(
    search: RuleSearcher,
    queries: Queries,
    known: Graph,
    k: int,
    *,
    hidden: bool = False,
    aggregations: Sequence[Aggregation] = (),
    weights: FirstWeights | None = None,
    sets: NestedSets | None = None,
) -> Fired:
    """Let the rules fire once for each query, and gather all that is asked for; k rows of evidence a query.

    Rivals that are `known` to be true are left out. hidden: the answers are facts of the graph, asked for as if it did
    not have them. aggregations: those to rank under.
    """
    n = len(queries.heads)
    trials = Trials(
        np.array([AGGREGATIONS.index(way.name) for way in aggregations], np.int64),
        np.array([way.top for way in aggregations], np.int64),
        np.empty((0, len(COLUMNS))),
        np.empty(0, np.int64),
        ALL_RULES if sets is None else sets.members,
        1 if sets is None else sets.count,
    )
    out = make_evidence_results(n, trials.sets, k, len(aggregations))

    def part(asked: Asked, at: NDArray[np.int64], desk: Desk) -> None:
        mine = trials
        if weights is not None:
            mine = trials._replace(weights=weights.table[asked.relation], folds=weights.folds[at])
        some = make_evidence_results(len(at), trials.sets, k, len(aggregations))
        wanted = Wanted(GATHER, hidden, False, 0, known.stepped, EVERYBODY, mine)
        run_queries(asked, queries.heads[at], queries.answers[at], wanted, desk, some)
        for name in ("ranks", "rows", "stand_for", "entities", "tried", "reached"):
            getattr(out, name)[at] = getattr(some, name)

    search.run_in_parts(queries.relations, queries.heads, part)
    examples = tuple(
        Examples(
            np.ascontiguousarray(out.rows[:, i]),
            np.ascontiguousarray(out.stand_for[:, i]),
            queries.relations,
            out.entities[:, i],
        )
        for i in range(trials.sets)
    )
    better, equal = out.ranks[:, 0], out.ranks[:, 1]
    rest = search.graph.n_entities - out.reached
    return Fired(
        examples,
        1 / (1 + out.tried[:, :, 0] + out.tried[:, :, 1] / 2),
        1 / (1 + better + equal / 2),
        1 / (1 + out.reached + rest / 2),
    )


def collect_weight_examples(
    search: RuleSearcher, heads: Ids, relations: Ids, answers: Ids, known: Graph, k: int, *, hidden: bool = False
) -> Examples:
    """Return the evidence for the answer of each query and for competing candidates, k rows a query."""
    return fire_queries(search, Queries(heads, relations, answers), known, k, hidden=hidden).examples[0]
