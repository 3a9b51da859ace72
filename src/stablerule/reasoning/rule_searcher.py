"""Answer, rank and score queries with rules on a graph, relation by relation, in threads.

Candidates are sorted by score, and equal ones by popularity: the number of facts of the relation with this tail.
Entities that no rule reaches come last, also by popularity.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from stablerule.graph import Graph, Triples
from stablerule.paths.threads import run_in_threads
from stablerule.reasoning.ranks import Ranks
from stablerule.reasoning.scoring.explain import ALL, join_reasons, name_reasons, tabulate_reasons
from stablerule.reasoning.scoring.query_kernels import (
    ANSWER,
    EVERYBODY,
    NO_TRIALS,
    RANK,
    SCORE,
    Asked,
    Desk,
    Wanted,
    make_query_desk,
    make_query_results,
    run_queries,
)
from stablerule.reasoning.scoring.score import Ways
from stablerule.reasoning.searcher import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids
    from stablerule.reasoning.answers import Explanation
    from stablerule.reasoning.scoring.explain import Reasons
    from stablerule.reasoning.scoring.score import Aggregation
    from stablerule.reasoning.scoring.theory import Encoded

CHUNK = 512  # queries of one relation that a thread takes at a time
ANSWERS_AT_ONCE = 1 << 22  # 50 MB of answers
BOUNDED = ("noisy_or", "max_plus", "learned")  # aggregations with scores between 0 and 1


class RuleSearcher:
    """Rules prepared for a graph, with an aggregation for each relation."""

    def __init__(self, encoded: Encoded, aggregation: Aggregation) -> None:
        self.encoded = encoded
        self.graph = encoded.graph
        self.ways = Ways(aggregation, encoded.graph)
        self._desks: SimpleQueue[Desk] = SimpleQueue()

    def with_aggregation(self, aggregation: Aggregation) -> RuleSearcher:
        """Return the same rules with another aggregation."""
        return RuleSearcher(self.encoded, aggregation)

    def rank(self, heads: Ids, relations: Ids, answers: Ids, known: Graph, *, hidden: bool = False) -> Ranks:
        """Rank the answer of each query (n,) among all entities, without other `known` answers."""
        out = np.empty((len(heads), 4), np.int64)

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            results = make_query_results(ranks=np.empty((len(rows), 4), np.int64))
            wanted = Wanted(RANK, hidden, False, 0, known.stepped, EVERYBODY, NO_TRIALS)
            run_queries(asked, heads[rows], answers[rows], wanted, desk, results)
            out[rows] = results.ranks

        self.run_in_parts(relations, heads, part)
        best = 1 + out[:, 0]
        return Ranks(best, best + out[:, 1], out[:, 2] > 0, out[:, 3])

    def answer(
        self,
        heads: Ids,
        relations: Ids,
        k: int,
        known: Graph | None = None,
        allowed: Callable[[int], NDArray[np.bool_]] | None = None,
        *,
        itself: bool = False,
        reasons: int = 0,
    ) -> Found:
        """Return the k best entities (n, k), -1 for no more, and their scores; `allowed` limits them by relation.

        If k is above E, there are E columns. A head is its own answer only if the relation has a loop (x, r, x) in the
        graph, or with `itself`. reasons: the most reasons for each answer, from the firings behind its score.
        """
        k = self._most_answers(k)
        found, scores = np.full((len(heads), k), -1, np.int32), np.zeros((len(heads), k))
        left_out = (Graph.build(Triples.empty(), self.graph.vocabulary) if known is None else known).stepped
        noted: list[tuple[NDArray[np.int64], Reasons]] = []

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            entities, values = np.full((len(rows), k), -1, np.int32), np.zeros((len(rows), k))
            limits = EVERYBODY if allowed is None else allowed(asked.relation)
            itself_too = itself or self._has_loop(asked.relation)
            wanted, nobody = (
                Wanted(ANSWER, False, itself_too, reasons, left_out, limits, NO_TRIALS),
                np.full(len(rows), -1, np.int32),
            )
            why = run_queries(
                asked, heads[rows], nobody, wanted, desk, make_query_results(found=entities, scores=values)
            )
            found[rows] = entities
            scores[rows] = np.where(entities >= 0, self.ways.shown(asked.relation, values), 0)
            if reasons:
                noted.append(((rows[:, None] * k + np.arange(k)).ravel(), why))

        self.run_in_parts(relations, heads, part)
        return Found(found, scores, join_reasons(noted, found.size) if reasons else None)

    def at_once(self, k: int, most: int) -> int:
        """Return how many queries, at most `most`, fit into memory with k answers each."""
        return max(1, min(most, ANSWERS_AT_ONCE // max(1, self._most_answers(k))))

    def _most_answers(self, k: int) -> int:
        return min(k, self.graph.n_entities)

    def _has_loop(self, relation: int) -> bool:
        heads, tails = self.graph.facts(relation)
        return bool((heads == tails).any())

    def score(self, heads: Ids, relations: Ids, tails: Ids, *, hidden: bool = False) -> NDArray[np.float64]:
        """Return the score of each triple (n,), 0 if no rule reaches its tail.

        hidden: the triples are facts of the graph, and are scored as if it did not have them.
        """
        return self._score(heads, relations, tails, 0, hidden=hidden)[0]

    def explain(
        self, heads: Ids, relations: Ids, tails: Ids, most: int | None = None
    ) -> tuple[NDArray[np.float64], Reasons]:
        """Return the score of each triple (n,), 0 if no rule reaches its tail, and its reasons, all or `most`."""
        scores, noted = self._score(heads, relations, tails, ALL if most is None else most)
        return scores, join_reasons(noted, len(heads))

    def _score(
        self, heads: Ids, relations: Ids, tails: Ids, reasons: int, *, hidden: bool = False
    ) -> tuple[NDArray[np.float64], list[tuple[NDArray[np.int64], Reasons]]]:
        scores = np.zeros(len(heads))
        noted: list[tuple[NDArray[np.int64], Reasons]] = []

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            values = np.empty((len(rows), 1))
            wanted = Wanted(SCORE, hidden, False, reasons, self.graph.stepped, EVERYBODY, NO_TRIALS)
            why = run_queries(asked, heads[rows], tails[rows], wanted, desk, make_query_results(scores=values))
            scores[rows] = np.where(np.isnan(values[:, 0]), 0, self.ways.shown(asked.relation, values[:, 0]))
            noted.append((rows, why))

        self.run_in_parts(relations, heads, part)
        return scores, noted

    def name_reasons(self, heads: Ids, relations: Ids, tails: Ids, reasons: Reasons) -> list[tuple[Explanation, ...]]:
        """Return the reasons of n answers by name, each with its rule and some of its paths."""
        return name_reasons(self.encoded, heads, relations, tails, reasons)

    def tabulate_reasons(self, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
        """Return the columns rule and path for facts of one relation; `rules` are rows in the theory."""
        return tabulate_reasons(self.encoded, relation, heads, tails, rules)

    def largest_score(self, relations: Sequence[int]) -> float:
        """Return 1 if the aggregations of all these relations are bounded by it, else infinity."""
        names = map(self.graph.vocabulary.relation_name, relations)
        return 1.0 if all(self.ways.aggregation.of(name) in BOUNDED for name in names) else math.inf

    def gather_asked(self, relation: int) -> Asked:
        """Collect what the queries of one relation share."""
        graph, how = self.graph, self.ways.how(relation)
        tails, back = graph.facts(relation)[1], graph.inverse(relation)
        blocks = np.append(graph.steps.step_ranks[:, :1].ravel(), len(graph.steps.step_starts) - 1)[back : back + 2]
        popular = np.sort(np.diff(graph.steps.step_starts[blocks[0] : blocks[1] + 1])).astype(np.int32)
        return Asked(graph.stepped, graph.n_relations, self.encoded.theory, relation, how, tails, popular)

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        """Lend a desk (work arrays); there are at most as many as threads that worked at the same time."""
        try:
            desk = self._desks.get_nowait()
        except Empty:
            desk = make_query_desk(self.graph.n_entities, len(self.encoded.theory.traits.owner_offsets) - 1)
        yield desk
        self._desks.put(desk)  # not after an error, which may leave it dirty

    def run_in_parts(self, relations: Ids, heads: Ids, part: Callable[[Asked, NDArray[np.int64], Desk], None]) -> None:
        """Run the queries in threads, relation by relation, those of one head together."""
        order = np.lexsort((heads, relations))
        cuts = np.flatnonzero(np.diff(relations[order])) + 1
        runs = [run for run in np.split(order, cuts) if len(run)]

        def work(rows: NDArray[np.int64]) -> None:
            with self._desk() as desk:
                part(self.gather_asked(int(relations[rows[0]])), rows, desk)

        run_in_threads(work, [run[i : i + CHUNK] for run in runs for i in range(0, len(run), CHUNK)])
