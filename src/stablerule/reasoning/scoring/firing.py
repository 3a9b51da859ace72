"""Which rules fire for which candidates: the one place where a query meets the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.paths.compiling import NOTHING, ZERO, compiled, compiled_leaf, compiled_leaf_part, compiled_part
from stablerule.paths.sorting import find_first_at_least
from stablerule.paths.trail import Trail, follow_body, make_trail, reset_trail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.scoring.theory import Theory

MOST_PATHS = 2**31 - 1
ONE = ZERO + 1
N_CHAINS, N_TRAITS, N_FIRINGS, N_CANDIDATES = range(4)
CHAIN, TRAIT_OF_HEAD, TRAIT_OF_TAIL = range(3)  # kinds of firings


class Firings(NamedTuple):
    """What fired for one query.

    entities: (c,) the candidates, each by its slot; the firings (f,) say which slot, which rule, by how many paths.
    sizes: (4,), where the firings of chains end, where those of the head's traits end, where all end; candidates.
    slot_of: (E,) the slot of an entity, -1 without one.
    """

    entities: Ids
    slot_of: Ids
    slots: Ids
    rules: Ids
    paths: Ids
    sizes: NDArray[np.int64]


class Workplace(NamedTuple):
    """What one thread needs from query to query; memory grows with the entities and with what fires."""

    trail: Trail
    slot_of: Ids
    entities: Ids
    row_of: Ids  # (traits,) where the rules of a trait begin, for the relation asked last


def make_firing_workplace(entities: int, traits: int) -> Workplace:
    """Make room for a graph."""
    return Workplace(
        make_trail(entities),
        np.full(entities, -1, np.int32),
        np.empty(entities, np.int32),
        np.full(traits, -1, np.int32),
    )


@compiled
def make_empty_firings(workplace: Workplace) -> Firings:
    """Begin with an empty list, which grows."""
    size = 4096
    return Firings(
        workplace.entities,
        workplace.slot_of,
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.zeros(4, np.int64),
    )


@compiled_leaf
def open_relation(theory: Theory, relation: int, row_of: Ids) -> None:
    """Note where the rules of each trait begin, for all queries of one relation."""
    begin, end = theory.trait_starts[relation], theory.trait_starts[relation + 1]
    for rule in range(end - 1, begin - 1, -1):
        row_of[theory.rule_traits[rule]] = rule


@compiled_leaf
def forget_firings(f: Firings) -> None:
    """Make ready for another query."""
    for i in range(f.sizes[N_CANDIDATES]):
        f.slot_of[f.entities[i]] = -1
    for i in range(len(f.sizes)):
        f.sizes[i] = 0


@compiled_leaf
def close_relation(theory: Theory, relation: int, row_of: Ids, f: Firings) -> None:
    """Undo `open_relation`, and leave nothing of the last query behind."""
    forget_firings(f)
    for rule in range(theory.trait_starts[relation], theory.trait_starts[relation + 1]):
        row_of[theory.rule_traits[rule]] = -1


@compiled_leaf_part
def find_kind_of_firing(f: Firings, firing: int) -> int:
    """Return the kind of a firing: of a chain, of a trait that the head has, or of one that the candidate has."""
    if firing < f.sizes[N_CHAINS]:
        return CHAIN
    return TRAIT_OF_HEAD if firing < f.sizes[N_TRAITS] else TRAIT_OF_TAIL


@compiled_part
def _grow_firings(f: Firings, wanted: int) -> Firings:
    size = max(2 * len(f.slots), wanted)
    slots, rules, paths = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    for i in range(f.sizes[N_FIRINGS]):
        slots[i], rules[i], paths[i] = f.slots[i], f.rules[i], f.paths[i]
    return Firings(f.entities, f.slot_of, slots, rules, paths, f.sizes)


@compiled_leaf_part
def _add_firing(f: Firings, entity: int, rule: int, paths: int) -> None:
    slot = f.slot_of[entity]
    if slot < 0:
        slot = f.sizes[N_CANDIDATES]
        f.slot_of[entity] = slot
        f.entities[slot] = entity
        f.sizes[N_CANDIDATES] += 1
    n = f.sizes[N_FIRINGS]
    f.slots[n], f.rules[n], f.paths[n] = slot, rule, min(paths, MOST_PATHS)
    f.sizes[N_FIRINGS] = n + 1


@compiled
def fire_rules(
    g: Stepped, relations: int, t: Theory, head: int, relation: int, own_tail: int, w: Workplace, f: Firings
) -> Firings:
    """Let all rules for (head, relation, ?) fire; `open_relation` was called for the relation.

    own_tail: the answer of a fact of the graph that is asked for as if it were not known; -1 where nothing is hidden.
    """
    forget_firings(f)
    f = _fire_chains(g, relations, t, head, relation, own_tail, w, f)
    f.sizes[N_CHAINS] = f.sizes[N_FIRINGS]
    if len(t.rule_traits) > 0:
        f = _fire_rules_of_traits(relations, t, head, relation, own_tail, w, f)
    f.sizes[N_TRAITS] = f.sizes[N_FIRINGS]
    if len(t.rule_traits) > 0:
        f = _fire_rules_of_owners(relations, t, head, relation, f)
    return f


@compiled_part
def _fire_chains(
    g: Stepped, relations: int, t: Theory, head: int, relation: int, own_tail: int, w: Workplace, f: Firings
) -> Firings:
    """From the head along bodies that share their beginnings."""
    own_relation = relation if own_tail >= 0 else NOTHING
    trail, bodies, lengths = w.trail, t.bodies, t.lengths
    reset_trail(trail)
    for rule in range(t.starts[relation], t.starts[relation + 1]):
        length = lengths[rule]
        n = follow_body(g, relations, head, own_relation, own_tail, bodies[rule], length, trail)
        if f.sizes[N_FIRINGS] + n > len(f.slots):
            f = _grow_firings(f, f.sizes[N_FIRINGS] + n)
        reached = trail.first if length == 1 else (trail.second if length == 2 else trail.last)
        counts = trail.second_counts if length == 2 else trail.last_counts
        for i in range(n):
            paths: Any = np.int64(1) if length == 1 else counts[reached[i]]
            if paths > 0:
                _add_firing(f, reached[i], rule, paths)
    return f


@compiled_part
def _fire_rules_of_traits(
    relations: int, t: Theory, head: int, relation: int, own_tail: int, w: Workplace, f: Firings
) -> Firings:
    """q(X, c) <- trait of X, with X the head: its traits name the candidates."""
    chains, known = len(t.lengths), len(t.traits.keys)
    own_key = np.int64(own_tail) * 2 * relations + (relation + relations) % (2 * relations)
    end = t.trait_starts[relation + 1]
    traits, keys, row_of, rule_traits, constants = (
        t.traits.traits,
        t.traits.keys,
        w.row_of,
        t.rule_traits,
        t.rule_constants,
    )
    for i in range(t.traits.offsets[head], t.traits.offsets[head + 1]):
        trait = traits[i]
        rule: Any = np.int64(row_of[trait])
        if rule < 0 or (own_tail >= 0 and trait < known and keys[trait] == own_key):
            continue
        while rule < end and rule_traits[rule] == trait:
            if f.sizes[N_FIRINGS] == len(f.slots):
                f = _grow_firings(f, ZERO)
            _add_firing(f, constants[rule], chains + rule, ONE)
            rule += 1
    return f


@compiled_part
def _fire_rules_of_owners(relations: int, t: Theory, head: int, relation: int, f: Firings) -> Firings:
    """~q(X, c) <- trait of X, with c the head: whoever has the trait is a candidate."""
    chains, back = len(t.lengths), (relation + relations) % (2 * relations)
    low, high = t.trait_starts[back], t.trait_starts[back + 1]
    constants, by_constant, rule_traits = t.constants_sorted, t.by_constant, t.rule_traits
    owners, owner_offsets = t.traits.owners, t.traits.owner_offsets
    at = find_first_at_least(constants, low, high, head)
    while at < high and constants[at] == head:
        rule = by_constant[at]
        trait = rule_traits[rule]
        begin, stop = owner_offsets[trait], owner_offsets[trait + 1]
        if f.sizes[N_FIRINGS] + stop - begin > len(f.slots):
            f = _grow_firings(f, f.sizes[N_FIRINGS] + stop - begin)
        for i in range(begin, stop):
            _add_firing(f, owners[i], chains + rule, ONE)
        at += 1
    return f
