"""Answers and ranks from a function that scores all entities at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stablerule.graph import Graph, Triples
from stablerule.graph.triples import read_only
from stablerule.reasoning.score_ranks import SCORES_AT_ONCE, rank_by_scores
from stablerule.reasoning.scoring.explain import join_reasons
from stablerule.reasoning.searcher import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids
    from stablerule.reasoning.answers import Explanation
    from stablerule.reasoning.ranks import Ranks
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.scoring.explain import Reasons


class ScoreSearcher:
    """A model that scores, made ready for a graph.

    score: with heads (b,) and relations (b,), both int64, it returns the scores of all entities, (b, E).
    shown: from raw scores (b, E) to those that people see; `most` is the largest of them.
    floor: entities whose raw score is not above it are no answers; None for a model that always has something to say.
    at_most: queries that are scored together; None for as many as make four million scores.
    rules: on the same graph, of a model that has some: they give the reasons of what is scored.
    """

    def __init__(
        self,
        graph: Graph,
        score: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.floating]],
        *,
        name: str,
        shown: Callable[[NDArray[np.floating]], NDArray[np.floating]] = lambda scores: scores,
        most: float = math.inf,
        floor: float | None = None,
        at_most: int | None = None,
        rules: RuleSearcher | None = None,
    ) -> None:
        self.graph, self._rules = graph, rules
        self._score, self._shown, self._most, self._floor = score, shown, most, floor
        self._at_most = min(at_most or SCORES_AT_ONCE, max(1, SCORES_AT_ONCE // max(1, graph.n_entities)))
        self._name = name

    def rank(self, heads: Ids, relations: Ids, answers: Ids, known: Graph) -> Ranks:
        """Rank the answer of each query (n,) among all entities, those `known` to be true left out."""
        queries = Triples(read_only(np.stack([heads, relations, answers], axis=1).astype(np.int32)))
        return rank_by_scores(self._score, queries, known, floor=self._floor, at_once=self._at_most, name=self._name)

    def answer(
        self,
        heads: Ids,
        relations: Ids,
        k: int,
        known: Graph | None = None,
        allowed: Callable[[int], NDArray[np.bool_]] | None = None,
        *,
        reasons: int = 0,
    ) -> Found:
        """Return entities (n, k), -1 where there are no more, and their scores; equal ones stand in the order of names.

        A head is its own answer only where the relation has a loop in the graph. reasons: at most so many for each
        answer, of the rules if there are any: what a score alone is due to, nobody can say.
        """
        k = min(k, self.graph.n_entities)
        found, values = np.full((len(heads), k), -1, np.int32), np.zeros((len(heads), k))
        for rows in self._score_in_blocks(len(heads)):
            raw = np.asarray(self._score(heads[rows].astype(np.int64), relations[rows].astype(np.int64)), np.float64)
            visible = np.asarray(self._shown(raw), np.float64)
            for row, place in enumerate(range(len(heads))[rows]):
                head, relation = int(heads[place]), int(relations[place])
                out = self._mark_left_out(head, relation, raw[row], known, allowed)
                order = np.argsort(np.where(out, np.inf, -raw[row]), kind="stable")[: min(k, int((~out).sum()))]
                found[place, : len(order)], values[place, : len(order)] = order, visible[row, order]
        return Found(found, values, self._make_reasons(heads, relations, found, reasons))

    def _make_reasons(self, heads: Ids, relations: Ids, found: Ids, most: int) -> Reasons | None:
        if not most or self._rules is None:
            return None
        query, place = np.nonzero(found >= 0)
        _, some = self._rules.explain(heads[query], relations[query], found[query, place], most)
        return join_reasons([(query * found.shape[1] + place, some)], found.size)

    def score(self, heads: Ids, relations: Ids, tails: Ids) -> NDArray[np.float64]:
        """Return the score of each triple (n,)."""
        values = np.empty(len(heads))
        for rows in self._score_in_blocks(len(heads)):
            raw = self._score(heads[rows].astype(np.int64), relations[rows].astype(np.int64))
            values[rows] = self._shown(raw)[np.arange(len(raw)), tails[rows]]
        return values

    def at_once(self, k: int, most: int) -> int:
        """Say how many queries, of at most so many, have room together for k answers each."""
        return max(1, min(most, SCORES_AT_ONCE // max(1, min(k, self.graph.n_entities))))

    def largest_score(self, relations: Sequence[int]) -> float:  # it is the same for all
        """The bound of all scores."""
        return self._most

    def name_reasons(self, heads: Ids, relations: Ids, tails: Ids, reasons: Reasons) -> list[tuple[Explanation, ...]]:
        """Return the reasons of n answers in names."""
        return [] if self._rules is None else self._rules.name_reasons(heads, relations, tails, reasons)

    def tabulate_reasons(self, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
        """Return columns rule and path of facts of one relation, if there are rules."""
        return {} if self._rules is None else self._rules.tabulate_reasons(relation, heads, tails, rules)

    def _score_in_blocks(self, n: int) -> list[slice]:
        return [slice(start, min(start + self._at_most, n)) for start in range(0, n, self._at_most)]

    def _mark_left_out(
        self,
        head: int,
        relation: int,
        scores: NDArray[np.floating],
        known: Graph | None,
        allowed: Callable[[int], NDArray[np.bool_]] | None,
    ) -> NDArray[np.bool_]:
        """(E,): True for what is no answer."""
        out = np.zeros(len(scores), bool) if allowed is None else ~allowed(relation)
        if known is not None:
            out[known.tails(head, relation)] = True
        if self._floor is not None:
            out |= scores <= self._floor
        begins, ends = self.graph.facts(relation)
        if not (begins == ends).any():
            out[head] = True
        return out
