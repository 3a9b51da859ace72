"""Answer and rank with a function that scores all entities at once.

Ranks keep their ties: the number of competing candidates above an answer, and of those level with it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import InputError
from stablerule.graph import Graph, Triples
from stablerule.graph.triples import read_only
from stablerule.paths.compiling import compiled
from stablerule.reasoning.ranks import Ranks
from stablerule.reasoning.scoring.explain import join_reasons
from stablerule.reasoning.searcher import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids, Offsets
    from stablerule.reasoning.answers import Explanation
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.scoring.explain import Reasons

# 32 MB of float64; a model that needs ten numbers for each score still fits into memory.
SCORES_AT_ONCE = 1 << 22


class ScoreSearcher:
    """A scoring model, prepared for a graph.

    score: from heads (b,) and relations (b,), both int64, to the scores of all entities (b, E).
    shown: from raw scores (b, E) to the scores that users see; `most` is the largest of them.
    floor: entities with a raw score up to this are not answers; None if every entity is one.
    at_most: queries scored together; None for as many as make four million scores.
    rules: the model's rules on the same graph, if it has any; they give the reasons.
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
        """Rank the answer of each query (n,) among all entities, without other `known` answers."""
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
        """Return the k best entities (n, k), -1 for no more, and their scores; equal scores are sorted by name.

        A head is its own answer only if the relation has a loop in the graph. reasons: the most reasons for each
        answer, from the rules if there are any; a score alone has no reasons.
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
        """Return how many queries, at most `most`, fit into memory with k answers each."""
        return max(1, min(most, SCORES_AT_ONCE // max(1, min(k, self.graph.n_entities))))

    def largest_score(self, relations: Sequence[int]) -> float:  # it is the same for all
        """Return an upper bound of the scores."""
        return self._most

    def name_reasons(self, heads: Ids, relations: Ids, tails: Ids, reasons: Reasons) -> list[tuple[Explanation, ...]]:
        """Return the reasons of n answers by name."""
        return [] if self._rules is None else self._rules.name_reasons(heads, relations, tails, reasons)

    def tabulate_reasons(self, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
        """Return the columns rule and path for facts of one relation, if there are rules."""
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
        """Return (E,): True for entities that are not answers."""
        out = np.zeros(len(scores), bool) if allowed is None else ~allowed(relation)
        if known is not None:
            out[known.tails(head, relation)] = True
        if self._floor is not None:
            out |= scores <= self._floor
        begins, ends = self.graph.facts(relation)
        if not (begins == ends).any():
            out[head] = True
        return out


def rank_by_scores(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
    queries: Triples,
    known: Graph,
    *,
    floor: float | None,
    at_once: int | None,
    name: str,
) -> Ranks:
    """Rank the answers, scoring each distinct (head, relation) once; the arguments are those of `ByScores`."""
    _check_query_ids(queries, known)
    entities, n = known.n_entities, len(queries)
    pairs, pair_of = _find_distinct_queries(queries, known)
    order = np.argsort(pair_of, kind="stable")
    asked, pair_of = queries.rows[order], pair_of[order]
    best, worst, candidates = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    covered = np.empty(n, bool)
    at_once = at_once or max(1, SCORES_AT_ONCE // entities)
    for first in range(0, len(pairs), at_once):
        chunk = pairs[first : first + at_once]
        scores = _score_entities(score, chunk[:, 0].copy(), chunk[:, 1].copy(), entities, name)
        part = slice(*np.searchsorted(pair_of, (first, first + len(chunk))))
        rows = pair_of[part] - first
        broken = rank_score_rows(
            scores,
            rows,
            asked[part],
            known.offsets,
            known.edge_relations,
            known.edge_tails,
            0.0 if floor is None else float(floor),
            floor is not None,
            best[part],
            worst[part],
            covered[part],
            candidates[part],
        )
        if broken >= 0:
            raise _make_nan_error(asked[part][broken], scores[rows[broken]], known, name)
    back = np.argsort(order)
    return Ranks(best[back], worst[back], covered[back], candidates[back])


def _score_entities(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
    heads: Offsets,
    relations: Offsets,
    entities: int,
    name: str,
) -> NDArray[Any]:
    scores = convert_model_scores(score(heads, relations), f"The scores of {name!r}")
    if scores.shape != (len(heads), entities):
        raise InputError(
            f"The scores of {name!r} must be of shape {(len(heads), entities)}: a row for each of "
            f"{len(heads):,} queries, a column for each of {entities:,} entities; got {scores.shape}."
        )
    return scores


def _make_nan_error(query: Ids, scores: NDArray[Any], known: Graph, name: str) -> InputError:
    words, (head, relation, _) = known.vocabulary, query.tolist()
    entity = words.entity_name(int(np.isnan(scores).argmax()))
    return InputError(
        f"{name!r} gave NaN to entity {entity!r} for the query ({words.entity_name(head)!r}, "
        f"{words.relation_name(relation)!r}, ?). Return a number for every entity; -inf ranks it last."
    )


def _check_query_ids(queries: Triples, graph: Graph) -> None:
    """Raise an error for ids outside the graph, with which a kernel would read outside its arrays."""
    words = graph.vocabulary
    for ids, check in (
        (queries.heads, words.known_entity),
        (queries.relations, words.known_relation),
        (queries.tails, words.known_entity),
    ):
        if len(ids):
            check(int(ids.min()))
            check(int(ids.max()))


def _find_distinct_queries(queries: Triples, graph: Graph) -> tuple[Offsets, Offsets]:
    """Return the distinct (head, relation) pairs (p, 2), and the pair of each query (n,)."""
    width = 2 * graph.n_relations
    keys, pair_of = np.unique(queries.heads.astype(np.int64) * width + queries.relations, return_inverse=True)
    return np.stack(np.divmod(keys, width), axis=1), pair_of.reshape(-1).astype(np.int64)


def convert_model_scores(given: Any, what: str) -> NDArray[Any]:
    """Return scores in a type that the kernels are compiled for, without making or breaking ties."""
    try:
        scores = np.asarray(given)
    except Exception as error:  # a tensor with gradients, or anything else that a user's model returns
        cure = " Return tensor.detach().cpu(), and .float() for bfloat16." if hasattr(given, "detach") else ""
        said = str(error).rstrip(".")
        raise InputError(f"{what} must be an array of numbers, got {type(given).__name__} ({said}).{cure}") from error
    if scores.dtype.kind not in "fiub":
        raise InputError(f"{what} must be an array of numbers, got {scores.dtype}.")
    if scores.dtype == np.float16:
        scores = scores.astype(np.float32)
    elif scores.dtype.kind in "ib":
        scores = scores.astype(np.int64, copy=False)
    elif scores.dtype != np.float32:
        scores = scores.astype(np.float64, copy=False)
    return np.ascontiguousarray(scores)


class Competition(NamedTuple):
    """How many entities, without known answers, are above the answer, level with it, above the floor, or NaN."""

    better: int
    level: int
    above: int
    broken: int


@compiled
def count_competitors(scores: NDArray[Any], answer: int, known: Ids, floor: float, floored: bool) -> Competition:
    """Count all entities first, then subtract the known ones, so that the long loop has no branch."""
    own = scores[answer]
    better, level, above, broken = 0, -1, 0, 0  # the answer is level with itself
    for score in scores:
        better += score > own
        level += score == own
        above += not floored or score > floor
        broken += np.isnan(score)
    for entity in known:
        if entity != answer:
            better -= scores[entity] > own
            level -= scores[entity] == own
            above -= not floored or scores[entity] > floor
    return Competition(better, level, above, broken)


@compiled
def rank_score_rows(
    scores: NDArray[Any],
    rows: Offsets,
    queries: Ids,
    offsets: Offsets,
    edge_relations: Ids,
    edge_tails: Ids,
    floor: float,
    floored: bool,
    best: Offsets,
    worst: Offsets,
    covered: NDArray[np.bool_],
    candidates: Offsets,
) -> int:
    """Rank queries (q, 3) by scores (p, E); rows[i] is the row with the scores of query i.

    offsets, edge_relations and edge_tails are from the graph of known facts; the last four arguments are filled.
    Returns the first query with NaN among its scores, or -1.
    """
    for i in range(len(queries)):
        head, relation, answer = queries[i, 0], queries[i, 1], queries[i, 2]
        low, high = offsets[head], offsets[head + 1]
        begin = low + np.searchsorted(edge_relations[low:high], relation)
        end = low + np.searchsorted(edge_relations[low:high], relation, side="right")
        row = scores[rows[i]]
        better, level, above, broken = count_competitors(row, answer, edge_tails[begin:end], floor, floored)
        if broken:
            return i
        best[i] = 1 + better
        worst[i] = 1 + better + level
        covered[i] = not floored or row[answer] > floor
        candidates[i] = above
    return -1
