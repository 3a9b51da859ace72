"""Queries of one relation, one after the other, in compiled code: the best answers, ranks, scores.

Candidates stand by what the rules say, and among equals by popularity: the facts of the relation that end there.
Entities that no rule reaches come after all others, again by popularity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import compiled
from stablerule.paths.reach import edges_between
from stablerule.reasoning.evidence import BEST, COLUMNS, complete_row, gather
from stablerule.reasoning.firings import N_CANDIDATES, Workplace, close_relation, fire, no_firings, open_relation
from stablerule.reasoning.weighing import MAX_PLUS, How, Lists, compare_lists, list_levels, weigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Adjacency
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.firings import Firings
    from stablerule.reasoning.theory import Theory


class Asked(NamedTuple):
    """Where queries of one relation are asked."""

    g: Adjacency
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


@compiled
def rank_queries(
    a: Asked, heads: Ids, answers: Ids, known: Adjacency, desk: Desk, hidden: bool, out: NDArray[np.int64]
) -> None:
    """Fill out (n, 4): better rivals, equal rivals, whether a rule reaches the answer, candidates with the answer.

    Rivals that are known to be true are left out. hidden: the answers are facts of the graph, asked for as if it
    did not have them.
    """
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    lists = list_levels(f, a.theory, -1)
    for q in range(len(heads)):
        answer = answers[q]
        a.popularity[answer] -= hidden  # a hidden fact makes nobody popular
        if q == 0 or hidden or heads[q] != heads[q - 1]:  # queries come sorted: what fired for one serves the next
            f = fire(a.g, a.relations, a.theory, heads[q], a.relation, answer if hidden else -1, desk.workplace, f)
            own = f.slot_of[answer] if hidden else -1
            weigh(f, a.theory, a.g, a.how, own, a.popularity, desk.table, desk.scores)
            if a.how.kind == MAX_PLUS:
                lists = list_levels(f, a.theory, own)
        place = f.slot_of[answer]
        low, high = edges_between(known, heads[q], a.relation)
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


@compiled
def _among_candidates(a: Asked, f: Firings, desk: Desk, place: int, lists: Lists, out: NDArray[np.int64]) -> None:
    better, equal, candidates = 0, 0, 0
    whole = a.how.kind == MAX_PLUS
    score, popularity = desk.scores[place], a.popularity[f.entities[place]]
    for slot in range(f.sizes[N_CANDIDATES]):
        entity = f.entities[slot]
        if desk.marked[entity]:
            continue
        candidates += 1
        if slot == place:
            continue
        side = np.sign(desk.scores[slot] - score)
        if side == 0 and whole:
            side = np.float64(compare_lists(lists, slot, place))
        if side == 0:
            side = np.float64(np.sign(a.popularity[entity] - popularity))
        better += side > 0
        equal += side == 0
    out[0], out[1], out[2], out[3] = better, equal, 1, candidates


@compiled
def _among_the_rest(
    a: Asked, f: Firings, desk: Desk, answer: int, known: Ids, hidden: bool, out: NDArray[np.int64]
) -> None:
    """No rule reaches the answer: all candidates are better, and the others stand by popularity."""
    candidates, entities = 0, len(desk.marked)
    popularity = a.popularity[answer]
    better = len(a.popular) - np.searchsorted(a.popular, popularity, side="right")
    not_less = len(a.popular) - np.searchsorted(a.popular, popularity)
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
    known: Adjacency,
    allowed: NDArray[np.bool_],
    desk: Desk,
    found: Ids,
    scores: NDArray[np.float64],
) -> None:
    """Fill found (n, k) with the best answers and scores (n, k) with their scores, -1 and 0 where there are no more.

    Answers that are `known` are left out; with `allowed` (E,) only those count ((0,): all).
    """
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    k = found.shape[1]
    for q in range(len(heads)):
        f = fire(a.g, a.relations, a.theory, heads[q], a.relation, -1, desk.workplace, f)
        weigh(f, a.theory, a.g, a.how, -1, a.popularity, desk.table, desk.scores)
        low, high = edges_between(known, heads[q], a.relation)
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
        best = _best(a, f, desk.scores, chosen[:n], k)
        for i in range(len(best)):
            found[q, i] = f.entities[best[i]]
            scores[q, i] = desk.scores[best[i]]
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)


@compiled
def _best(a: Asked, f: Firings, scores: NDArray[np.float64], chosen: Ids, k: int) -> Ids:
    """The k best of the chosen slots, the best first: by score, the whole order, popularity, and the entity's id."""
    if len(chosen) > k:
        # What is worse than the k-th best score can't be among them.
        least = np.partition(-scores[chosen], k - 1)[k - 1]
        chosen = chosen[-scores[chosen] <= least]
    keys = np.empty(len(chosen), np.float64)
    for i in range(len(chosen)):
        keys[i] = f.entities[chosen[i]]
    chosen = chosen[np.argsort(keys, kind="mergesort")]
    for i in range(len(chosen)):
        keys[i] = -a.popularity[f.entities[chosen[i]]]
    chosen = chosen[np.argsort(keys, kind="mergesort")]
    if a.how.kind == MAX_PLUS:
        lists = list_levels(f, a.theory, -1)
        chosen = _sorted_by_lists(lists, chosen)
    else:
        chosen = chosen[np.argsort(-scores[chosen], kind="mergesort")]
    return chosen[:k]


@compiled
def _sorted_by_lists(lists: Lists, chosen: Ids) -> Ids:
    """Sort slots by the complete order of max_plus, the best first; equal ones stay as they stand (merge sort)."""
    n, width = len(chosen), 1
    now, then = chosen.copy(), chosen.copy()
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for at in range(low, high):
                if i < middle and (j >= high or compare_lists(lists, now[j], now[i]) <= 0):
                    then[at] = now[i]
                    i += 1
                else:
                    then[at] = now[j]
                    j += 1
        now, then = then, now
        width *= 2
    return now


@compiled
def score_queries(a: Asked, heads: Ids, tails: Ids, desk: Desk, scores: NDArray[np.float64]) -> None:
    """Fill scores (n,), and NaN where no rule reaches the tail."""
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    for q in range(len(heads)):
        f = fire(a.g, a.relations, a.theory, heads[q], a.relation, -1, desk.workplace, f)
        weigh(f, a.theory, a.g, a.how, -1, a.popularity, desk.table, desk.scores)
        place = f.slot_of[tails[q]]
        scores[q] = desk.scores[place] if place >= 0 else np.nan
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)


@compiled
def collect_evidence(
    a: Asked,
    heads: Ids,
    answers: Ids,
    known: Adjacency,
    desk: Desk,
    hidden: bool,
    rows: NDArray[np.float32],
    stand_for: NDArray[np.float32],
) -> None:
    """Fill rows (n, k, columns) with the evidence for the answer, its strongest rivals and some others.

    Row 0 of a query is the answer's. Rivals that are known to be true are left out. Three quarters of the rows are for
    the rivals with the most evidence together, the others for rivals from further down, evenly, each of which
    stands for many: `stand_for` (n, k) says for how many, 0 where a row is empty. Where no rule reaches the answer, all
    rows are.
    """
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    room = rows.shape[1] - 1
    for q in range(len(heads)):
        answer = answers[q]
        a.popularity[answer] -= hidden  # a hidden fact makes nobody popular
        if q == 0 or hidden or heads[q] != heads[q - 1]:
            f = fire(a.g, a.relations, a.theory, heads[q], a.relation, answer if hidden else -1, desk.workplace, f)
            gather(f, a.theory, f.slot_of[answer] if hidden else -1, desk.table)
        place = f.slot_of[answer]
        stand_for[q] = 0
        if place < 0:
            a.popularity[answer] += hidden
            continue
        low, high = edges_between(known, heads[q], a.relation)
        for edge in range(low, high):
            desk.marked[known.step_tails[edge]] = True
        n = 0
        rivals = np.empty(f.sizes[N_CANDIDATES], np.int32)
        for slot in range(f.sizes[N_CANDIDATES]):
            if slot != place and not desk.marked[f.entities[slot]]:
                rivals[n] = slot
                n += 1
        for edge in range(low, high):
            desk.marked[known.step_tails[edge]] = False
        strength = np.empty(n)
        for i in range(n):
            strength[i] = -_together(desk.table[rivals[i]])
        order = rivals[:n][np.argsort(strength)]
        own = place if hidden else -1
        _copy_row(a, f, desk, place, own, rows[q, 0])
        strong = min(n, room if n <= room else 3 * room // 4)
        for i in range(strong):
            _copy_row(a, f, desk, order[i], own, rows[q, 1 + i])
        others = min(room - strong, n - strong)
        for i in range(others):
            _copy_row(a, f, desk, order[strong + i * (n - strong) // others], own, rows[q, 1 + strong + i])
        a.popularity[answer] += hidden
        stand_for[q, : 1 + strong] = 1
        if others > 0:
            stand_for[q, 1 + strong : 1 + strong + others] = (n - strong) / others
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)


@compiled
def _together(row: NDArray[np.float32]) -> float:
    total = 0.0
    for kind in range(3):
        total += row[kind * (BEST + 1)]
    return total


@compiled
def _copy_row(a: Asked, f: Firings, desk: Desk, slot: int, own: int, row: NDArray[np.float32]) -> None:
    entity = f.entities[slot]
    edges = a.g.offsets[entity + 1] - a.g.offsets[entity] - (slot == own)
    complete_row(desk.table[slot], a.popularity[entity], edges)
    row[:] = desk.table[slot]
