"""The kernel that meets queries: rules fire, candidates get their score, and what was asked for is read off.

Ranking, answering, scoring and gathering evidence are one kernel with a `task`, not four. All of firing and weighing is
compiled into each kernel that calls it, which takes seconds: so it is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.paths.compiling import NOTHING, ZERO, compiled, compiled_leaf_part, compiled_part
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.sorting import bring_least_to_front, find_first_at_least
from stablerule.reasoning.scoring.evidence import (
    ALL_RULES,
    COLUMNS,
    GATHERED,
    add_up_evidence,
    complete_evidence_row,
    gather_evidence,
    weigh_evidence,
)
from stablerule.reasoning.scoring.explain import add_reasons, make_empty_reasons
from stablerule.reasoning.scoring.firing import (
    N_CANDIDATES,
    Workplace,
    close_relation,
    fire_rules,
    make_empty_firings,
    make_firing_workplace,
    open_relation,
)
from stablerule.reasoning.scoring.score import (
    MAX_PLUS,
    How,
    Order,
    compare_candidates,
    list_rule_levels,
    make_empty_lists,
    needs_lists,
    score_by_fixed_aggregation,
    score_candidates,
)
from stablerule.reasoning.scoring.theory import Worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.scoring.explain import Reasons
    from stablerule.reasoning.scoring.firing import Firings
    from stablerule.reasoning.scoring.theory import Theory

RANK, ANSWER, SCORE, GATHER = range(4)
EVERYBODY = np.empty(0, np.bool_)
NO_NUMBERS = np.empty(0, np.int64)


class Asked(NamedTuple):
    """Where queries of one relation are asked."""

    g: Stepped
    relations: int
    theory: Theory
    relation: int
    how: How
    tails: Ids  # of the facts of the relation
    popular: Ids  # how many of them each of their tails has, sorted


class Desk(NamedTuple):
    """What one thread works on: a workplace, evidence (E, GATHERED), scores (E,).

    marked and popularity, both (E,), are False and 0 between queries and between relations.
    """

    workplace: Workplace
    table: NDArray[np.float32]
    scores: NDArray[np.float64]
    marked: NDArray[np.bool_]
    popularity: Ids


def make_query_desk(entities: int, traits: int) -> Desk:
    """Make a desk for a graph with so many entities; evidence of what no rule reaches is never touched."""
    table, scores = np.empty((entities, GATHERED), np.float32), np.empty(entities)
    marked, popularity = np.zeros(entities, bool), np.zeros(entities, np.int32)
    return Desk(make_firing_workplace(entities, traits), table, scores, marked, popularity)


class Trials(NamedTuple):
    """What GATHER looks at beside the evidence, since the rules fire anyway.

    kinds, tops: (A,) aggregations with nothing to learn, by number.
    weights: (F, columns) of `learned`, where the strongest competing candidates are to be found by them; folds: (n,)
        which of them are for each query.
    members, sets: of nested sets of rules, those that each rule belongs to, as bits, and how many sets there are; with
        (0,) members there is one set, of all rules.
    """

    kinds: NDArray[np.int64]
    tops: NDArray[np.int64]
    weights: NDArray[np.float64]
    folds: NDArray[np.int64]
    members: NDArray[np.uint8]
    sets: int


NO_TRIALS = Trials(NO_NUMBERS, NO_NUMBERS, np.empty((0, len(COLUMNS))), NO_NUMBERS, ALL_RULES, 1)


class Wanted(NamedTuple):
    """What is asked for.

    hidden: the answers are facts of the graph, asked for as if it did not have them. itself: whether a head may be its
    own answer. reasons: at most so many for each answer. known: candidates that are known to be true are left out;
    allowed: (E,) only those count as answers ((0,): all).
    """

    task: int
    hidden: bool
    itself: bool
    reasons: int
    known: Stepped
    allowed: NDArray[np.bool_]
    trials: Trials


class Results(NamedTuple):
    """Where the results of n queries go; those of other tasks have no rows.

    ranks: (n, 4) better candidates, equal candidates, whether a rule reaches the answer, candidates with the answer.
    found: (n, k) the best answers, -1 where there are no more. scores: (n, k) theirs, or (n, 1) that of the answer, NaN
    where no rule reaches it. rows: (n, sets, k, columns) evidence, see `_gather_evidence_rows`, stand_for and entities:
    (n, sets, k). tried: (n, A, 2) better and equal candidates under each aggregation of the trials. reached: (n, sets)
    candidates of each set of rules without the answer.
    """

    ranks: NDArray[np.int64]
    found: Ids
    scores: NDArray[np.float64]
    rows: NDArray[np.float32]
    stand_for: NDArray[np.float32]
    entities: Ids
    tried: NDArray[np.int64]
    reached: NDArray[np.int64]


def make_query_results(
    *,
    ranks: NDArray[np.int64] | None = None,
    found: Ids | None = None,
    scores: NDArray[np.float64] | None = None,
) -> Results:
    """Take the arrays that a task fills."""
    return make_evidence_results(0, 1, 1, 0)._replace(
        ranks=np.empty((0, 4), np.int64) if ranks is None else ranks,
        found=np.empty((0, 1), np.int32) if found is None else found,
        scores=np.empty((0, 1)) if scores is None else scores,
    )


def make_evidence_results(n: int, sets: int, k: int, trials: int) -> Results:
    """Make room for the evidence of n queries, k rows for each set of rules, and for their ranks in trials."""
    return Results(
        np.zeros((n, 4), np.int64),
        np.empty((0, 1), np.int32),
        np.empty((0, 1)),
        np.zeros((n, sets, k, len(COLUMNS)), np.float32),
        np.zeros((n, sets, k), np.float32),
        np.full((n, sets, k), -1, np.int32),
        np.empty((n, trials, 2), np.int64),
        np.empty((n, sets), np.int64),
    )


@compiled
def run_queries(  # noqa: PLR0912, PLR0915  # four tasks
    a: Asked, heads: Ids, answers: Ids, wanted: Wanted, desk: Desk, out: Results
) -> Reasons:
    """Ask (head, relation, ?) for each head, with its answer (-1: none), and fill the results of the task.

    Returns the reasons for the answers, if any are wanted: those of the best answers (n * k), or of the answers (n,).
    """
    g, t, how, trials = a.g, a.theory, a.how, wanted.trials
    workplace, table, scores, marked, popularity = desk.workplace, desk.table, desk.scores, desk.marked, desk.popularity
    task, hidden, known = wanted.task, wanted.hidden, wanted.known
    k, n_trials = out.found.shape[1], len(trials.kinds) if task == GATHER else 0
    worth = Worth(t.levels, t.own_levels, t.level_weights, t.level_losses)
    offsets = g.offsets
    open_relation(t, a.relation, workplace.row_of)
    for tail in a.tails:
        popularity[tail] += 1
    f, lists, no_lists = make_empty_firings(workplace), make_empty_lists(), make_empty_lists()
    listed = needs_lists(how.kind, how.top) and task != GATHER and not (task == SCORE and how.kind == MAX_PLUS)
    for trial in range(n_trials):
        listed = listed or needs_lists(trials.kinds[trial], trials.tops[trial])
    keys = np.empty((n_trials, 1))
    own: Any = NOTHING
    noted = make_empty_reasons(len(heads) * k if wanted.reasons > 0 else 0)
    slots = np.empty(k, np.int32)
    for q in range(len(heads)):
        head, answer = heads[q], answers[q]
        if hidden:
            popularity[answer] -= 1  # a hidden fact makes nobody popular
        if q == 0 or hidden or heads[q] != heads[q - 1]:  # queries come sorted: what fired for one serves the next
            f = fire_rules(g, a.relations, t, head, a.relation, answer if hidden else NOTHING, workplace, f)
            own = np.int64(f.slot_of[answer]) if hidden else NOTHING
            if listed:
                lists = list_rule_levels(f, worth, own)
            if task != GATHER:
                score_candidates(f, worth, offsets, how, own, popularity, table, lists, scores)
            else:
                if f.sizes[N_CANDIDATES] > keys.shape[1]:
                    keys = np.empty((n_trials, 2 * f.sizes[N_CANDIDATES]))
                for trial in range(n_trials):
                    kind, top = trials.kinds[trial], trials.tops[trial]
                    score_by_fixed_aggregation(f, worth, kind, top, own, lists, keys[trial])
                if trials.sets == 1:
                    gather_evidence(f, worth, own, ALL_RULES, 0, table)
        place: Any = np.int64(f.slot_of[answer]) if answer >= 0 else NOTHING
        low, high = find_relation_edges(known, head, a.relation)
        known_tails = known.step_tails[low : high if task != SCORE else low]
        for tail in known_tails:
            marked[tail] = True
        if task == RANK:
            marked[answer] = False
            ordered = lists if how.kind == MAX_PLUS else no_lists
            if place >= 0:
                _rank_candidate(Order(scores, ordered, f.entities, popularity), f, marked, place, out.ranks[q])
            else:
                _rank_unreached_candidate(a.popular, popularity, f, marked, answer, known_tails, hidden, out.ranks[q])
        elif task == ANSWER:
            if not wanted.itself:
                marked[head] = True
            order = Order(scores, lists if how.kind == MAX_PLUS else no_lists, f.entities, popularity)
            _find_best_candidates(order, f, marked, wanted.allowed, slots, out.found[q], out.scores[q])
            marked[head] = False
        elif task == SCORE:
            slots[0] = place
            out.scores[q, 0] = scores[place] if place >= 0 else np.nan
        else:
            marked[answer] = False
            rank = out.ranks[q]
            if place < 0:
                _rank_unreached_candidate(a.popular, popularity, f, marked, answer, known_tails, hidden, rank)
            for trial in range(n_trials):
                if place >= 0:
                    ordered = lists if trials.kinds[trial] == MAX_PLUS else no_lists
                    _rank_candidate(Order(keys[trial], ordered, f.entities, popularity), f, marked, place, rank)
                out.tried[q, trial, 0], out.tried[q, trial, 1] = rank[0], rank[1]
            weighed = len(trials.weights) > 0
            if weighed:
                weights = trials.weights[trials.folds[q]]
                weigh_evidence(table, f.entities, f.sizes[N_CANDIDATES], own, popularity, offsets, weights, scores)
                if place >= 0:
                    _rank_candidate(Order(scores, no_lists, f.entities, popularity), f, marked, place, rank)
            for one in range(trials.sets):
                if trials.sets > 1:
                    gather_evidence(f, worth, own, trials.members, one, table)
                if not weighed:
                    for slot in range(f.sizes[N_CANDIDATES]):
                        scores[slot] = add_up_evidence(table[slot])
                out.reached[q, one] = _gather_evidence_rows(
                    f,
                    table,
                    scores,
                    trials.sets > 1,
                    popularity,
                    offsets,
                    marked,
                    place,
                    own,
                    out.rows[q, one],
                    out.stand_for[q, one],
                    out.entities[q, one],
                )
        for tail in known_tails:
            marked[tail] = False
        if wanted.reasons > 0:
            noted = add_reasons(noted, q * k, slots, k, wanted.reasons, f, worth, how, popularity, offsets)
        if hidden:
            popularity[answer] += 1
    close_relation(t, a.relation, workplace.row_of, f)
    for tail in a.tails:
        popularity[tail] = 0
    return noted


@compiled_leaf_part
def _rank_candidate(order: Order, f: Firings, marked: NDArray[np.bool_], place: int, out: NDArray[np.int64]) -> None:
    """Rank an answer that a rule reaches."""
    better, equal, candidates = 0, 0, 0
    scores, entities = order.scores, order.entities
    score = scores[place]
    for slot in range(f.sizes[N_CANDIDATES]):
        if marked[entities[slot]]:
            continue
        candidates += 1
        if slot == place:
            continue
        if scores[slot] > score:  # most candidates need no closer look
            better += 1
        elif scores[slot] == score:
            side = compare_candidates(order, slot, place)
            better += side > 0
            equal += side == 0
    out[0], out[1], out[2], out[3] = better, equal, 1, candidates


@compiled_leaf_part
def _rank_unreached_candidate(
    popular: Ids,
    popularity: Ids,
    f: Firings,
    marked: NDArray[np.bool_],
    answer: int,
    known: Ids,
    hidden: bool,
    out: NDArray[np.int64],
) -> None:
    """Rank an answer that no rule reaches: all candidates are better, the other entities are ranked by popularity."""
    candidates, entities, slot_of = 0, f.entities, f.slot_of
    own: Any = np.int64(popularity[answer])  # one type for all that is looked up
    better = len(popular) - find_first_at_least(popular, ZERO, len(popular), own + 1)
    not_less = len(popular) - find_first_at_least(popular, ZERO, len(popular), own)
    equal = (not_less if own > 0 else len(marked)) - better
    # Without the answer itself, which `popular` has with the facts that it had before one was hidden.
    if hidden:
        better -= 1
    else:
        equal -= 1
    for slot in range(f.sizes[N_CANDIDATES]):
        entity = entities[slot]
        candidates += not marked[entity]
        better -= popularity[entity] > own
        equal -= popularity[entity] == own
    for entity in known:
        if marked[entity] and slot_of[entity] < 0:
            better -= popularity[entity] > own
            equal -= popularity[entity] == own
    out[0], out[1], out[2], out[3] = candidates + better, equal, 0, candidates


@compiled_part
def _find_best_candidates(
    order: Order,
    f: Firings,
    marked: NDArray[np.bool_],
    allowed: NDArray[np.bool_],
    slots: Ids,
    found: Ids,
    scores: NDArray[np.float64],
) -> None:
    """Fill (k,) with the slots, entities and scores of the best answers; slots that are left are -1."""
    n, k = ZERO, len(slots)
    chosen = np.empty(f.sizes[N_CANDIDATES], np.int32)
    for slot in range(f.sizes[N_CANDIDATES]):
        entity = order.entities[slot]
        if not marked[entity] and (len(allowed) == 0 or allowed[entity]):
            chosen[n] = slot
            n += 1
    best = _bring_best_candidates_to_front(order, chosen, n, k)
    for i in range(k):
        slots[i] = -1
        if i < best:
            slots[i] = chosen[i]
            found[i] = order.entities[chosen[i]]
            scores[i] = order.scores[chosen[i]]


@compiled_leaf_part
def _bring_best_candidates_to_front(order: Order, chosen: Ids, n: int, k: int) -> int:
    """Bring the k best of chosen[:n], which are slots, to its front, the best first; returns how many there are."""
    size = min(k, n)  # of a heap of the best so far, the worst of them on top
    for at in range(size // 2 - 1, -1, -1):
        _sink_candidate_in_heap(order, chosen, at, size)
    for i in range(size, n):
        if order.scores[chosen[i]] >= order.scores[chosen[0]] and _is_better_candidate(order, chosen[i], chosen[0]):
            chosen[0] = chosen[i]
            _sink_candidate_in_heap(order, chosen, ZERO, size)
    for end in range(size - 1, 0, -1):
        chosen[0], chosen[end] = chosen[end], chosen[0]
        _sink_candidate_in_heap(order, chosen, ZERO, end)
    return size


@compiled_leaf_part
def _sink_candidate_in_heap(order: Order, chosen: Ids, at: int, size: int) -> None:
    """Let a slot sink in the heap until none below it is worse."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_better_candidate(order, chosen[child], chosen[child + 1]):
            child += 1
        if _is_better_candidate(order, chosen[child], chosen[at]):
            return
        chosen[at], chosen[child] = chosen[child], chosen[at]
        at = child


@compiled_leaf_part
def _is_better_candidate(order: Order, slot: int, other: int) -> bool:
    """Compare two slots; where nothing else tells them apart, by the entity's id."""
    one: Any = np.int64(slot)
    another: Any = np.int64(other)
    side = compare_candidates(order, one, another)
    return side > 0 or (side == 0 and order.entities[slot] < order.entities[other])


@compiled_part
def _gather_evidence_rows(
    f: Firings,
    table: NDArray[np.float32],
    strength: NDArray[np.float64],
    some: bool,
    popularity: Ids,
    offsets: NDArray[np.int64],
    marked: NDArray[np.bool_],
    place: int,
    own: int,
    rows: NDArray[np.float32],
    stand_for: NDArray[np.float32],
    entities: Ids,
) -> int:
    """Fill rows (k, columns) with the evidence for the answer, the strongest competing candidates and others.

    Row 0 is the answer's. Three quarters of the rows are for the strongest candidates, the others for a sample of the
    rest. A sampled row represents many: `stand_for` (k,) has their number, 0 for an empty row. If no rule reaches the
    answer, all rows are empty. some: count only candidates with any evidence. Returns the number of candidates.
    """
    room = len(rows) - 1
    n, candidates = ZERO, f.sizes[N_CANDIDATES]
    rivals, weakness = np.empty(candidates, np.int32), np.empty(candidates)
    for slot in range(candidates):
        if slot != place and not marked[f.entities[slot]] and (not some or add_up_evidence(table[slot]) > 0):
            rivals[n], weakness[n] = slot, -strength[slot]
            n += 1
    if place < 0 or (some and add_up_evidence(table[place]) <= 0):
        return n
    strong = min(n, room if n <= room else 3 * room // 4)
    others = min(room - strong, n - strong)
    if others > 0:
        bring_least_to_front(weakness, rivals, n, strong)
    for i in range(1 + strong + others):
        at: Any = place
        weight = 1.0
        if 1 <= i <= strong:
            at = np.int64(rivals[i - 1])
        elif i > strong:
            at = np.int64(rivals[strong + (i - 1 - strong) * (n - strong) // others])
            weight = (n - strong) / others
        entity = f.entities[at]
        edges = offsets[entity + 1] - offsets[entity] - (at == own)
        complete_evidence_row(table[at], popularity[entity], edges, rows[i])
        stand_for[i], entities[i] = weight, entity
    return n
