"""Rules on a graph, asked any number of queries: the best answers, ranks and scores, relation by relation, in threads.

Candidates are ordered by what the rules say, and among equals by popularity: the facts of the relation that end there.
Entities that no rule reaches come after all others, again by popularity.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.graph import Graph, Triples
from stablerule.paths.compiling import NOTHING, compiled, compiled_part
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.sorting import find_first_at_least
from stablerule.paths.threads import run_in_threads
from stablerule.reasoning.ranks import Ranks
from stablerule.reasoning.scoring.evidence import COLUMNS
from stablerule.reasoning.scoring.explain import (
    ALL,
    add_reasons,
    join_reasons,
    name_reasons,
    no_reasons,
    tabulate_reasons,
)
from stablerule.reasoning.scoring.firing import (
    N_CANDIDATES,
    Workplace,
    close_relation,
    fire,
    new_workplace,
    no_firings,
    open_relation,
)
from stablerule.reasoning.scoring.score import (
    MAX_PLUS,
    How,
    Lists,
    Order,
    Ways,
    compare,
    list_levels,
    no_lists,
    weigh,
)
from stablerule.reasoning.searcher import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.answers import Explanation
    from stablerule.reasoning.scoring.explain import Reasons
    from stablerule.reasoning.scoring.firing import Firings
    from stablerule.reasoning.scoring.score import Aggregation
    from stablerule.reasoning.scoring.theory import Encoded, Theory

CHUNK = 512  # queries of one relation that a thread takes at a time
ANSWERS_AT_ONCE = 1 << 22  # room for 50 MB of them, however many a query may have
EVERYBODY = np.empty(0, np.bool_)
BOUNDED = ("noisy_or", "max_plus", "learned")  # aggregations whose scores lie between 0 and 1
TOP = NOTHING + 1  # of a heap


class Asked(NamedTuple):
    """Where queries of one relation are asked."""

    g: Stepped
    relations: int
    theory: Theory
    relation: int
    how: How
    popularity: Ids  # (E,) facts of the relation that end at an entity
    popular: Ids  # the same, above 0 and sorted


class Desk(NamedTuple):
    """What one thread works on: a workplace, evidence (E, columns), scores (E,), and marks (E,), all False between."""

    workplace: Workplace
    table: NDArray[np.float32]
    scores: NDArray[np.float64]
    marked: NDArray[np.bool_]


def evidence_table(entities: int) -> NDArray[np.float32]:
    """Room for the evidence of all entities; what no rule reaches is never touched."""
    return np.empty((entities, len(COLUMNS)), np.float32)


class RuleSearcher:
    """Rules that were made ready for a graph, asked with an aggregation for each relation."""

    def __init__(self, encoded: Encoded, aggregation: Aggregation) -> None:
        self.encoded = encoded
        self.graph = encoded.graph
        self.ways = Ways(aggregation, encoded.graph)
        self._desks: SimpleQueue[Desk] = SimpleQueue()

    def with_aggregation(self, aggregation: Aggregation) -> RuleSearcher:
        """Ask the same rules in another way."""
        return RuleSearcher(self.encoded, aggregation)

    def rank(self, heads: Ids, relations: Ids, answers: Ids, known: Graph, *, hidden: bool = False) -> Ranks:
        """Rank the answer of each query (n,) among all entities, those `known` to be true left out."""
        out = np.empty((len(heads), 4), np.int64)

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            found = np.empty((len(rows), 4), np.int64)
            rank_queries(asked, heads[rows], answers[rows], known.stepped, desk, hidden, found)
            out[rows] = found

        self.in_parts(relations, heads, part)
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
        """Return entities (n, k), -1 where there are no more, and their scores; `allowed` limits them by relation.

        With more than E asked for, there are E columns. A head is its own answer only where the relation has a loop in
        the graph, a fact (x, r, x), or with `itself`. reasons: at most so many for each answer, read off the firings
        that made its score.
        """
        k = self._most_answers(k)
        found, scores = np.full((len(heads), k), -1, np.int32), np.zeros((len(heads), k))
        left_out = (Graph.build(Triples.empty(), self.graph.vocabulary) if known is None else known).stepped
        noted: list[tuple[NDArray[np.int64], Reasons]] = []

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            entities, values = np.full((len(rows), k), -1, np.int32), np.zeros((len(rows), k))
            limits = EVERYBODY if allowed is None else allowed(asked.relation)
            itself_too = itself or self._has_loop(asked.relation)
            why = answer_queries(asked, heads[rows], left_out, limits, itself_too, desk, reasons, entities, values)
            found[rows] = entities
            scores[rows] = np.where(entities >= 0, self.ways.shown(asked.relation, values), 0)
            if reasons:
                noted.append(((rows[:, None] * k + np.arange(k)).ravel(), why))

        self.in_parts(relations, heads, part)
        return Found(found, scores, join_reasons(noted, found.size) if reasons else None)

    def at_once(self, k: int, most: int) -> int:
        """Say how many queries, of at most so many, have room together for k answers each."""
        return max(1, min(most, ANSWERS_AT_ONCE // max(1, self._most_answers(k))))

    def _most_answers(self, k: int) -> int:
        return min(k, self.graph.n_entities)

    def _has_loop(self, relation: int) -> bool:
        heads, tails = self.graph.facts(relation)
        return bool((heads == tails).any())

    def score(self, heads: Ids, relations: Ids, tails: Ids) -> NDArray[np.float64]:
        """Return the score of each triple (n,), 0 where no rule reaches its tail."""
        return self._score(heads, relations, tails, 0)[0]

    def explain(
        self, heads: Ids, relations: Ids, tails: Ids, most: int | None = None
    ) -> tuple[NDArray[np.float64], Reasons]:
        """Return the score of each triple (n,), 0 where no rule reaches its tail, and its reasons, all or `most`."""
        scores, noted = self._score(heads, relations, tails, ALL if most is None else most)
        return scores, join_reasons(noted, len(heads))

    def _score(
        self, heads: Ids, relations: Ids, tails: Ids, reasons: int
    ) -> tuple[NDArray[np.float64], list[tuple[NDArray[np.int64], Reasons]]]:
        scores = np.zeros(len(heads))
        noted: list[tuple[NDArray[np.int64], Reasons]] = []

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            values = np.empty(len(rows))
            why = score_queries(asked, heads[rows], tails[rows], desk, reasons, values)
            scores[rows] = np.where(np.isnan(values), 0, self.ways.shown(asked.relation, values))
            noted.append((rows, why))

        self.in_parts(relations, heads, part)
        return scores, noted

    def name_reasons(self, heads: Ids, relations: Ids, tails: Ids, reasons: Reasons) -> list[tuple[Explanation, ...]]:
        """Return the reasons of n answers in names, each with its rule and some of its paths."""
        return name_reasons(self.encoded, heads, relations, tails, reasons)

    def tabulate_reasons(self, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
        """Return columns rule and path of facts of one relation, for the rule behind each, by its row in the theory."""
        return tabulate_reasons(self.encoded, relation, heads, tails, rules)

    def largest_score(self, relations: Sequence[int]) -> float:
        """1 where every relation is weighed in a way that ends there, else infinite."""
        names = map(self.graph.vocabulary.relation_name, relations)
        return 1.0 if all(self.ways.aggregation.of(name) in BOUNDED for name in names) else math.inf

    def asked(self, relation: int) -> Asked:
        """Gather what the queries of one relation have in common."""
        graph = self.graph
        popularity = np.bincount(graph.facts(relation)[1], minlength=graph.n_entities).astype(np.int32)
        popular = np.sort(popularity[popularity > 0])
        how = self.ways.how(relation)
        return Asked(graph.stepped, graph.n_relations, self.encoded.theory, relation, how, popularity, popular)

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        """Lend a desk: there are never more of them than threads that worked at one time."""
        try:
            desk = self._desks.get_nowait()
        except Empty:
            entities, traits = self.graph.n_entities, len(self.encoded.theory.traits.owner_offsets) - 1
            scores, marked = np.empty(entities), np.zeros(entities, bool)
            desk = Desk(new_workplace(entities, traits), evidence_table(entities), scores, marked)
        yield desk
        self._desks.put(desk)  # after an error it may not be clean, and is not given back

    def in_parts(self, relations: Ids, heads: Ids, part: Callable[[Asked, NDArray[np.int64], Desk], None]) -> None:
        """Do the queries relation by relation, those of one head together, in threads."""
        order = np.lexsort((heads, relations))
        cuts = np.flatnonzero(np.diff(relations[order])) + 1
        runs = [run for run in np.split(order, cuts) if len(run)]

        def work(rows: NDArray[np.int64]) -> None:
            with self._desk() as desk:
                part(self.asked(int(relations[rows[0]])), rows, desk)

        run_in_threads(work, [run[i : i + CHUNK] for run in runs for i in range(0, len(run), CHUNK)])


@compiled
def rank_queries(
    a: Asked, heads: Ids, answers: Ids, known: Stepped, desk: Desk, hidden: bool, out: NDArray[np.int64]
) -> None:
    """Fill out (n, 4): better rivals, equal rivals, whether a rule reaches the answer, candidates with the answer.

    Rivals that are known to be true are left out. hidden: the answers are facts of the graph, asked for as if it
    did not have them.
    """
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    lists = no_lists()
    for q in range(len(heads)):
        answer = answers[q]
        a.popularity[answer] -= hidden  # a hidden fact makes nobody popular
        if q == 0 or hidden or heads[q] != heads[q - 1]:  # queries come sorted: what fired for one serves the next
            f = fire(a.g, a.relations, a.theory, heads[q], a.relation, answer if hidden else NOTHING, desk.workplace, f)
            own = f.slot_of[answer] if hidden else NOTHING
            weigh(f, a.theory, a.g, a.how, own, a.popularity, desk.table, desk.scores)
            if a.how.kind == MAX_PLUS:
                lists = list_levels(f, a.theory, own)
        place = f.slot_of[answer]
        low, high = find_relation_edges(known, heads[q], a.relation)
        for edge in range(low, high):
            desk.marked[known.step_tails[edge]] = True
        desk.marked[answer] = False
        if place >= 0:
            _among_candidates(a, f, desk, place, lists, out[q])
        else:
            _among_the_rest(a, f, desk, answer, known.step_tails[low:high], hidden, out[q])
        for edge in range(low, high):
            desk.marked[known.step_tails[edge]] = False
        a.popularity[answer] += hidden
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)


@compiled_part
def _among_candidates(a: Asked, f: Firings, desk: Desk, place: int, lists: Lists, out: NDArray[np.int64]) -> None:
    better, equal, candidates = 0, 0, 0
    order, score = Order(desk.scores, lists, f.entities, a.popularity), desk.scores[place]
    for slot in range(f.sizes[N_CANDIDATES]):
        entity = f.entities[slot]
        if desk.marked[entity]:
            continue
        candidates += 1
        if slot == place:
            continue
        if desk.scores[slot] > score:  # most candidates need no closer look
            better += 1
        elif desk.scores[slot] == score:
            side = compare(order, slot, place)
            better += side > 0
            equal += side == 0
    out[0], out[1], out[2], out[3] = better, equal, 1, candidates


@compiled_part
def _among_the_rest(
    a: Asked, f: Firings, desk: Desk, answer: int, known: Ids, hidden: bool, out: NDArray[np.int64]
) -> None:
    """No rule reaches the answer: all candidates are better, and the others stand by popularity."""
    candidates, entities = 0, len(desk.marked)
    popularity = a.popularity[answer]
    better = len(a.popular) - find_first_at_least(a.popular, 0, len(a.popular), popularity + 1)
    not_less = len(a.popular) - find_first_at_least(a.popular, 0, len(a.popular), popularity)
    equal = (not_less if popularity > 0 else entities) - better
    # Without the answer itself, which `popular` has with the facts that it had before one was hidden.
    if hidden:
        better -= 1
    else:
        equal -= 1
    for slot in range(f.sizes[N_CANDIDATES]):
        entity = f.entities[slot]
        candidates += not desk.marked[entity]
        better -= a.popularity[entity] > popularity
        equal -= a.popularity[entity] == popularity
    for entity in known:
        if desk.marked[entity] and f.slot_of[entity] < 0:
            better -= a.popularity[entity] > popularity
            equal -= a.popularity[entity] == popularity
    out[0], out[1], out[2], out[3] = candidates + better, equal, 0, candidates


@compiled
def answer_queries(
    a: Asked,
    heads: Ids,
    known: Stepped,
    allowed: NDArray[np.bool_],
    itself: bool,
    desk: Desk,
    reasons: int,
    found: Ids,
    scores: NDArray[np.float64],
) -> Reasons:
    """Fill found (n, k) with the best answers and scores (n, k) with their scores, -1 and 0 where there are no more.

    Answers that are `known` are left out; with `allowed` (E,) only those count ((0,): all). itself: whether the head
    may be its own answer. Returns at most so many `reasons` for each of the n * k answers.
    """
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    lists, k = no_lists(), found.shape[1]
    noted, slots = no_reasons(len(heads) * k if reasons > 0 else 0), np.empty(k, np.int32)
    for q in range(len(heads)):
        f = fire(a.g, a.relations, a.theory, heads[q], a.relation, NOTHING, desk.workplace, f)
        weigh(f, a.theory, a.g, a.how, NOTHING, a.popularity, desk.table, desk.scores)
        desk.marked[heads[q]] = not itself
        low, high = find_relation_edges(known, heads[q], a.relation)
        for edge in range(low, high):
            desk.marked[known.step_tails[edge]] = True
        n = 0
        chosen = np.empty(f.sizes[N_CANDIDATES], np.int32)
        for slot in range(f.sizes[N_CANDIDATES]):
            entity = f.entities[slot]
            if not desk.marked[entity] and (len(allowed) == 0 or allowed[entity]):
                chosen[n] = slot
                n += 1
        for edge in range(low, high):
            desk.marked[known.step_tails[edge]] = False
        desk.marked[heads[q]] = False
        if a.how.kind == MAX_PLUS:
            lists = list_levels(f, a.theory, NOTHING)
        slots[:] = -1
        for i in range(_best(Order(desk.scores, lists, f.entities, a.popularity), chosen, n, k)):
            slots[i] = chosen[i]
            found[q, i] = f.entities[chosen[i]]
            scores[q, i] = desk.scores[chosen[i]]
        if reasons > 0:
            noted = add_reasons(noted, q * k, slots, k, reasons, f, a.theory, a.how, a.popularity, a.g.offsets)
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)
    return noted


@compiled_part
def _best(order: Order, chosen: Ids, n: int, k: int) -> int:
    """Bring the k best of chosen[:n], which are slots, to its front, the best first; returns how many there are."""
    size = min(k, n)  # of a heap of the best so far, the worst of them on top
    for at in range(size // 2 - 1, -1, -1):
        _sink(order, chosen, at, size)
    for i in range(size, n):
        if order.scores[chosen[i]] >= order.scores[chosen[0]] and _is_better(order, chosen[i], chosen[0]):
            chosen[0] = chosen[i]
            _sink(order, chosen, TOP, size)
    for end in range(size - 1, 0, -1):
        chosen[0], chosen[end] = chosen[end], chosen[0]
        _sink(order, chosen, TOP, end)
    return size


@compiled_part
def _sink(order: Order, chosen: Ids, at: int, size: int) -> None:
    """Let a slot sink in the heap until none below it is worse."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_better(order, chosen[child], chosen[child + 1]):
            child += 1
        if _is_better(order, chosen[child], chosen[at]):
            return
        chosen[at], chosen[child] = chosen[child], chosen[at]
        at = child


@compiled_part
def _is_better(order: Order, slot: int, other: int) -> bool:
    """Compare two slots; where nothing else tells them apart, by the entity's id."""
    side = compare(order, slot, other)
    return side > 0 or (side == 0 and order.entities[slot] < order.entities[other])


@compiled
def score_queries(a: Asked, heads: Ids, tails: Ids, desk: Desk, reasons: int, scores: NDArray[np.float64]) -> Reasons:
    """Fill scores (n,), and NaN where no rule reaches the tail; return at most so many reasons for each."""
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    noted, slots = no_reasons(len(heads) if reasons > 0 else 0), np.empty(1, np.int32)
    for q in range(len(heads)):
        if q == 0 or heads[q] != heads[q - 1]:  # queries come sorted: what fired for one serves the next
            f = fire(a.g, a.relations, a.theory, heads[q], a.relation, NOTHING, desk.workplace, f)
            weigh(f, a.theory, a.g, a.how, NOTHING, a.popularity, desk.table, desk.scores)
        slots[0] = f.slot_of[tails[q]]
        scores[q] = desk.scores[slots[0]] if slots[0] >= 0 else np.nan
        if reasons > 0:
            noted = add_reasons(noted, q, slots, 1, reasons, f, a.theory, a.how, a.popularity, a.g.offsets)
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)
    return noted
