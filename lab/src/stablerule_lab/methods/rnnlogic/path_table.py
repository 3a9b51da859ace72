"""A table of the number of paths by rule and entity, for many queries of one relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.extending import (
    N_CANDIDATES,
    N_FIRINGS,
    Theory,
    Workplace,
    close_relation,
    compiled,
    find_relation_edges,
    fire_rules,
    make_empty_firings,
    make_empty_traits,
    make_firing_workplace,
    open_relation,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import Ids, Offsets
    from stablerule.graph import Graph, Stepped

RIVAL, TRUTH, LEFT_OUT = range(3)


class PathTable(NamedTuple):
    """The rules that fire for n queries of one relation; each query is a fact that is hidden from the graph.

    Candidates of query q: starts[q]:starts[q + 1]; first the reached[q] entities that a rule reaches, then the other
    known answers. entities, roles: (c,), the entity, and whether it is the TRUTH, another known answer (LEFT_OUT), or
    a RIVAL. Entries of query q: entry_starts[q]:entry_starts[q + 1] of (f,) arrays: the candidate's index within the
    query, the rule's index within the relation, and the number of paths.
    """

    starts: Offsets
    reached: Ids
    entities: Ids
    roles: Ids
    entry_starts: Offsets
    entry_slots: Ids
    entry_rules: Ids
    entry_paths: Ids


def chain_theory(graph: Graph, heads: Ids, bodies: Ids, weights: NDArray[np.float64]) -> Theory:
    """Prepare rules to fire: heads (n,), bodies (n, L), by id and sorted by head relation, then body."""
    nothing, levels = np.empty(0, np.int32), np.zeros(len(heads), np.int32)
    relations = np.arange(2 * graph.n_relations + 1)
    return Theory(
        starts=np.searchsorted(heads, relations).astype(np.int64),
        bodies=np.ascontiguousarray(bodies, np.int32),
        lengths=(bodies >= 0).sum(1),
        trait_starts=np.zeros(len(relations), np.int64),
        rule_traits=nothing,
        rule_constants=nothing,
        by_constant=nothing,
        constants_sorted=nothing,
        weights=weights,
        own_weights=weights,
        levels=levels,
        own_levels=levels,
        level_weights=np.zeros(1),
        level_losses=np.zeros(1),
        traits=make_empty_traits(graph),
    )


def list_paths(graph: Graph, theory: Theory, relation: int, heads: Ids, tails: Ids, most: int) -> PathTable:
    """List the rules that fire for facts (n,) of a relation or an inverse, as many facts as fit.

    most: the most entries. The first query always fits.
    """
    place = make_firing_workplace(graph.n_entities, 0)
    return PathTable(*_list(graph.stepped, graph.n_relations, theory, relation, heads, tails, place, most))


@compiled
def _list(
    g: Stepped, relations: int, t: Theory, relation: int, heads: Ids, tails: Ids, place: Workplace, most: int
) -> tuple[Offsets, Ids, Ids, Ids, Offsets, Ids, Ids, Ids]:
    open_relation(t, relation, place.row_of)
    f = make_empty_firings(place)
    queries, first_rule = len(heads), t.starts[relation]
    starts, entry_starts = np.zeros(queries + 1, np.int64), np.zeros(queries + 1, np.int64)
    reached = np.zeros(queries, np.int32)
    entities, roles = np.empty(1024, np.int32), np.empty(1024, np.int32)
    slots, rules, paths = np.empty(4096, np.int32), np.empty(4096, np.int32), np.empty(4096, np.int32)
    n = 0
    while n < queries:
        f = fire_rules(g, relations, t, heads[n], relation, tails[n], place, f)
        entry, more = entry_starts[n], f.sizes[N_FIRINGS]
        if n > 0 and entry + more > most:
            break
        slots, rules, paths = _wide(slots, entry + more), _wide(rules, entry + more), _wide(paths, entry + more)
        for i in range(more):
            slots[entry + i], rules[entry + i], paths[entry + i] = f.slots[i], f.rules[i] - first_rule, f.paths[i]
        entry_starts[n + 1] = entry + more
        low, high = find_relation_edges(g, heads[n], relation)
        begin, at = starts[n], starts[n] + f.sizes[N_CANDIDATES]
        entities, roles = _wide(entities, at + high - low), _wide(roles, at + high - low)
        for slot in range(f.sizes[N_CANDIDATES]):
            entities[begin + slot], roles[begin + slot] = f.entities[slot], RIVAL
        for edge in range(low, high):
            answer = g.step_tails[edge]
            here = begin + f.slot_of[answer]
            if f.slot_of[answer] < 0:
                here, entities[at] = at, answer
                at += 1
            roles[here] = TRUTH if answer == tails[n] else LEFT_OUT
        reached[n], starts[n + 1] = f.sizes[N_CANDIDATES], at
        n += 1
    close_relation(t, relation, place.row_of, f)
    c, e = starts[n], entry_starts[n]
    return (
        starts[: n + 1].copy(),
        reached[:n].copy(),
        entities[:c].copy(),
        roles[:c].copy(),
        entry_starts[: n + 1].copy(),
        slots[:e].copy(),
        rules[:e].copy(),
        paths[:e].copy(),
    )


@compiled
def _wide(array: Ids, wanted: int) -> Ids:
    """Grow an array to at least the given size."""
    if wanted <= len(array):
        return array
    wide = np.empty(max(wanted, 2 * len(array)), np.int32)
    wide[: len(array)] = array
    return wide
