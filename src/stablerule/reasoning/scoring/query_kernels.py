"""Queries of one relation, compiled: rank, answer and score them on one desk.

Queries come sorted by head, and what fired for one serves the next with the same head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import NOTHING, compiled, compiled_part
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.sorting import find_first_at_least
from stablerule.reasoning.scoring.evidence import COLUMNS
from stablerule.reasoning.scoring.explain import add_reasons, no_reasons
from stablerule.reasoning.scoring.firing import (
    N_CANDIDATES,
    Workplace,
    close_relation,
    fire,
    new_workplace,
    no_firings,
    open_relation,
)
from stablerule.reasoning.scoring.score import MAX_PLUS, How, Lists, Order, compare, list_levels, no_lists, weigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.scoring.explain import Reasons
    from stablerule.reasoning.scoring.firing import Firings
    from stablerule.reasoning.scoring.theory import Theory

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


def new_desk(entities: int, traits: int) -> Desk:
    """Make a desk for a graph with so many entities; evidence of what no rule reaches is never touched."""
    table, scores = np.empty((entities, len(COLUMNS)), np.float32), np.empty(entities)
    return Desk(new_workplace(entities, traits), table, scores, np.zeros(entities, bool))


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
