"""The evidence for each candidate in a few numbers, which `learned` weighs.

Three kinds of reasons are kept apart: chains; traits of the query's head that name the candidate; traits of the
candidate that point to the query's head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.compiling import compiled_leaf_part, compiled_part
from stablerule.reasoning.scoring.firing import CHAIN, N_CANDIDATES, find_kind_of_firing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids
    from stablerule.reasoning.scoring.firing import Firings
    from stablerule.reasoning.scoring.theory import Worth

BEST = 4  # how many of the best rules of a kind count apart
KINDS = ("chains", "traits of the head", "traits of the candidate")
_OF_A_KIND = ("together", *(f"best {i + 1}" for i in range(BEST)))

# `together` is -log(1 - noisy-or); then come the numbers that are made of those before.
COLUMNS = (
    *(f"{kind}: {part}" for kind in KINDS for part in _OF_A_KIND),
    "chains: weighted paths",
    "chains: weighted log paths",
    "log facts with this tail",
    "log edges",
    *(f"log {kind}: together" for kind in KINDS),
    "log chains: weighted paths",
    "log chains: weighted log paths",
    *(f"log odds {kind}: best 1" for kind in KINDS),
    "one",  # the same for all candidates: where the log odds of `learned` begin
)
N_KINDS = len(KINDS)
GATHERED = N_KINDS * len(_OF_A_KIND) + 2
PATHS, LOG_PATHS = GATHERED - 2, GATHERED - 1
FACTS, EDGES, LOG_TOGETHER = GATHERED, GATHERED + 1, GATHERED + 2
LOG_OF_PATHS, LOG_OF_LOG_PATHS = LOG_TOGETHER + N_KINDS, LOG_TOGETHER + N_KINDS + 1
LOG_ODDS, ONE = LOG_OF_LOG_PATHS + 1, LOG_OF_LOG_PATHS + 1 + N_KINDS
LOG_TWO = float(np.log1p(1))
LEAST = 1e-4  # the odds of a kind that has no rule for a candidate
CHAINS = COLUMNS.index("chains: best 1")  # 0 where no chain reaches a candidate
# What stands in the columns of traits where no rule with constants fires.
NO_TRAITS = {
    i: float(np.log(LEAST / (1 - LEAST))) if name.startswith("log odds") else 0.0
    for i, name in enumerate(COLUMNS)
    if any(kind in name for kind in KINDS[1:])
}


ALL_RULES = np.empty(0, np.uint8)


@compiled_leaf_part
def gather_evidence(
    f: Firings, worth: Worth, own_slot: int, members: NDArray[np.uint8], bit: int, table: NDArray[np.float32]
) -> None:
    """Fill `table` (candidates, GATHERED), a row for each slot.

    own_slot: the slot of an answer that is a fact of the graph, whose rules count without it; -1 without one. members:
    of nested sets of rules, those that each rule belongs to, as bits; with (0,) all rules count.
    """
    for slot in range(f.sizes[N_CANDIDATES]):
        for column in range(GATHERED):
            table[slot, column] = 0
    slots, rules, paths, some = f.slots, f.rules, f.paths, len(members) > 0
    levels, own_levels, weights, losses = worth.levels, worth.own_levels, worth.level_weights, worth.level_losses
    for kind in range(N_KINDS):
        begin, end = f.sizes[kind - 1] if kind > 0 else 0, f.sizes[kind]
        at = kind * (BEST + 1)
        for i in range(begin, end):
            slot, rule = slots[i], rules[i]
            if some and (members[rule] >> bit) & 1 == 0:
                continue
            level = own_levels[rule] if slot == own_slot else levels[rule]
            weight = weights[level]
            if weight <= 0:
                continue
            table[slot, at] += losses[level]
            left = np.float32(weight)
            if left > table[slot, at + BEST]:
                for column in range(at + 1, at + 1 + BEST):
                    here = table[slot, column]
                    if left > here:
                        table[slot, column] = left
                        left = here
            if kind == CHAIN:
                table[slot, PATHS] += weight * paths[i]
                table[slot, LOG_PATHS] += weight * (LOG_TWO if paths[i] == 1 else np.log1p(paths[i]))


@compiled_leaf_part
def add_up_evidence(gathered: NDArray[np.float32]) -> float:
    """Return how much evidence a candidate has, of all kinds together; 0 where no rule with a weight reaches it."""
    together = 0.0
    for kind in range(N_KINDS):
        together += gathered[kind * (BEST + 1)]
    return together


@compiled_leaf_part
def complete_evidence_row(gathered: NDArray[np.float32], facts: int, edges: int, row: NDArray[np.float32]) -> None:
    """Fill all columns (COLUMNS,) of one candidate: facts of the relation that end there, edges it has."""
    for column in range(GATHERED):
        row[column] = gathered[column]
    row[FACTS] = np.log1p(facts)
    row[EDGES] = np.log1p(edges)
    for kind in range(N_KINDS):
        row[LOG_TOGETHER + kind] = np.log1p(gathered[kind * (BEST + 1)])
        row[LOG_ODDS + kind] = _compute_log_odds(max(gathered[kind * (BEST + 1) + 1], LEAST))
    row[LOG_OF_PATHS] = np.log1p(gathered[PATHS])
    row[LOG_OF_LOG_PATHS] = np.log1p(gathered[LOG_PATHS])
    row[ONE] = 1


@compiled_leaf_part
def _compute_log_odds(share: float) -> float:
    return np.log(share / (1 - share))  # type: ignore[no-any-return]


@compiled_leaf_part
def weigh_evidence(
    table: NDArray[np.float32],
    entities: Ids,
    n: int,
    own_slot: int,
    popularity: Ids,
    offsets: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """scores[slot] = weights . columns of the slot, for n candidates; a hidden answer has an edge less.

    Most candidates have evidence of one kind only: the logarithms of what is 0 are not taken.
    """
    nothing = _compute_log_odds(LEAST)
    for slot in range(n):
        entity = entities[slot]
        edges = offsets[entity + 1] - offsets[entity] - (slot == own_slot)
        total = weights[ONE] + weights[EDGES] * np.log1p(edges)
        facts = popularity[entity]
        if facts > 0:
            total += weights[FACTS] * np.log1p(facts)
        for column in range(GATHERED):
            total += weights[column] * table[slot, column]
        for kind in range(N_KINDS):
            together = table[slot, kind * (BEST + 1)]
            best = table[slot, kind * (BEST + 1) + 1]
            if together > 0:
                total += weights[LOG_TOGETHER + kind] * np.log1p(together)
            total += weights[LOG_ODDS + kind] * (_compute_log_odds(best) if best > LEAST else nothing)
        if table[slot, LOG_PATHS] > 0:
            total += weights[LOG_OF_PATHS] * np.log1p(table[slot, PATHS])
            total += weights[LOG_OF_LOG_PATHS] * np.log1p(table[slot, LOG_PATHS])
        scores[slot] = total


@compiled_part
def share_out_evidence(
    f: Firings, worth: Worth, firings: NDArray[np.int64], weights: NDArray[np.float64], parts: NDArray[np.float64]
) -> None:
    """Fill parts (n,) with what each of the n firings of one candidate adds to its blend.

    A column that is a sum over rules is cut as the sum is, and so is its logarithm. One for the best rule, or the next,
    belongs to that rule; log odds count from their value without any rule. The rest is
    `weigh_evidence_without_rules`.
    """
    n_paths, rules, levels, of_level = f.paths, f.rules, worth.levels, worth.level_weights
    best, own = np.empty(BEST, np.int64), np.empty(len(firings))
    for i in range(len(firings)):
        parts[i], own[i] = 0, of_level[levels[rules[firings[i]]]]
    for kind in range(N_KINDS):
        together, paths, log_paths, found = 0.0, 0.0, 0.0, 0
        for i in range(len(firings)):
            weight = own[i]
            if weight <= 0 or find_kind_of_firing(f, firings[i]) != kind:
                continue
            together -= np.log1p(-weight)
            paths += weight * n_paths[firings[i]]
            log_paths += weight * np.log1p(n_paths[firings[i]])
            place = min(found, BEST)
            while place > 0 and weight > own[best[place - 1]]:
                if place < BEST:
                    best[place] = best[place - 1]
                place -= 1
            if place < BEST:
                best[place] = i
            found += 1
        if found == 0:
            continue
        for place in range(min(found, BEST)):
            parts[best[place]] += weights[kind * (BEST + 1) + 1 + place] * own[best[place]]
        above = _compute_log_odds(own[best[0]]) - _compute_log_odds(LEAST)
        parts[best[0]] += weights[LOG_ODDS + kind] * max(above, 0.0)
        # What a unit of each sum is worth, in the sum itself and in its logarithm.
        a_unit = weights[kind * (BEST + 1)] + weights[LOG_TOGETHER + kind] * np.log1p(together) / together
        a_path = weights[PATHS] + weights[LOG_OF_PATHS] * np.log1p(paths) / paths
        a_log_path = weights[LOG_PATHS] + weights[LOG_OF_LOG_PATHS] * np.log1p(log_paths) / log_paths
        for i in range(len(firings)):
            weight = own[i]
            if weight <= 0 or find_kind_of_firing(f, firings[i]) != kind:
                continue
            parts[i] -= a_unit * np.log1p(-weight)
            if kind == CHAIN:
                parts[i] += a_path * weight * n_paths[firings[i]]
                parts[i] += a_log_path * weight * np.log1p(n_paths[firings[i]])


@compiled_leaf_part
def weigh_evidence_without_rules(facts: int, edges: int, weights: NDArray[np.float64]) -> float:
    """Return what a candidate has of its blend without any rule: how well known it is, and where log odds begin."""
    rest = weights[FACTS] * np.log1p(facts) + weights[EDGES] * np.log1p(edges) + weights[ONE]
    for kind in range(N_KINDS):
        rest += weights[LOG_ODDS + kind] * _compute_log_odds(LEAST)
    return rest  # type: ignore[no-any-return]
