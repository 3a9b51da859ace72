"""Traits of entities, the bodies of rules with constants: s(X, d) for a named d, or s(X, anything)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.graph.triples import read_only
from stablerule.paths.compiling import compiled
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.threads import run_in_threads
from stablerule.paths.withheld import ExampleFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Stepped
    from stablerule.graph.triples import Ids, Offsets


class Traits(NamedTuple):
    """The traits of a graph by number, and their owners.

    The number of the trait s(X, d) is the index of the block (d, ~s) among the edges, and its owners are the tails
    there. The 2R traits s(X, anything) come last. keys: (P,) d * 2R + ~s, sorted. The owners of trait t are at
    owner_offsets[t]:owner_offsets[t + 1], the traits of entity x at offsets[x]:offsets[x + 1].
    """

    keys: NDArray[np.int64]
    owner_offsets: Offsets
    owners: Ids
    offsets: Offsets
    traits: Ids


class FoundTraits(NamedTuple):
    """Rules r(X, c) <- trait of X, as columns (n,): r, the trait, c, how many X have both, how many have the trait.

    partial_count: how many X with a fact of r have the trait.
    """

    heads: Ids
    traits: Ids
    constants: Ids
    support: Ids
    body_count: Ids
    partial_count: Ids


def list_traits(graph: Graph) -> Traits:
    """Number all traits of the entities of a graph."""
    relations = 2 * graph.n_relations
    starts = np.repeat(np.arange(graph.n_entities, dtype=np.int64), graph.degrees)
    # If X has an edge s to d, then d has an edge ~s to X, so one pass over the edges of all d finds all owners.
    blocks = starts * relations + graph.edge_relations
    new = np.flatnonzero(np.diff(blocks, prepend=-1))
    pairs = np.unique(graph.edge_relations.astype(np.int64) * graph.n_entities + starts)
    wide_owners = (pairs % max(graph.n_entities, 1)).astype(np.int32)
    wide_offsets = np.searchsorted(pairs, np.arange(relations + 1) * graph.n_entities)
    owner_offsets = np.concatenate([new, len(blocks) + wide_offsets]).astype(np.int64)
    owners = np.concatenate([graph.edge_tails, wide_owners])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=graph.n_entities))]).astype(np.int64)
    return Traits(blocks[new], owner_offsets, owners, offsets, _list_traits_by_owner(owner_offsets, owners, offsets))


def find_trait_numbers(traits: Traits, graph: Graph, relations: Ids, tails: Ids) -> Ids:
    """Return the numbers of traits s(X, d) by ids (n,), with d = -1 for anything; -1 for a trait without owners."""
    size, known = 2 * graph.n_relations, len(traits.keys)
    back = (relations.astype(np.int64) + graph.n_relations) % size
    keys = tails.astype(np.int64) * size + back
    at = np.searchsorted(traits.keys, keys)
    found = np.append(traits.keys, -1)[at] == keys
    return np.where(tails < 0, known + relations, np.where(found, at, -1)).astype(np.int32)


def name_traits(traits: Traits, graph: Graph, numbers: Ids) -> tuple[Ids, Ids]:
    """Return the relation and the tail of traits; the tail is -1 for anything."""
    known, size = len(traits.keys), 2 * graph.n_relations
    wide = numbers >= known
    keys = traits.keys[np.where(wide, 0, numbers)] if known else np.zeros(len(numbers), np.int64)
    relations = np.where(wide, numbers - known, (keys % size + graph.n_relations) % size)
    return relations.astype(np.int32), np.where(wide, -1, keys // size).astype(np.int32)


def count_traits(
    graph: Graph,
    traits: Traits,
    *,
    min_support: int,
    min_confidence: float,
    pessimism: float,
    examples: ExampleFacts | None = None,
) -> FoundTraits:
    """Find all rules r(X, c) <- trait of X with enough support and confidence, except r(X, c) <- r(X, c).

    An X whose r(X, c) is not an example counts neither as support nor as an owner of the trait.
    """
    withheld = (examples or ExampleFacts.all_of(graph)).withheld
    if len(withheld):  # links by relation, then head, then tail: the order of steps
        withheld = read_only(withheld[np.argsort(graph.link_relations, kind="stable")])
    least = min_support, min_confidence, pessimism

    def count(relation: int) -> Ids:
        return _count_traits(graph.stepped, graph.n_relations, traits, withheld, relation, *least)

    parts = run_in_threads(count, range(2 * graph.n_relations))
    heads = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part[0]) for part in parts])
    columns = (np.concatenate([part[i] for part in parts]) if parts else np.empty(0, np.int32) for i in range(5))
    return FoundTraits(heads, *columns)


@compiled
def _list_traits_by_owner(owner_offsets: Offsets, owners: Ids, offsets: Offsets) -> Ids:
    """Return the traits of each owner from the owners of each trait, sorted."""
    at = offsets[:-1].copy()
    traits = np.empty(len(owners), np.int32)
    for trait in range(len(owner_offsets) - 1):
        for i in range(owner_offsets[trait], owner_offsets[trait + 1]):
            traits[at[owners[i]]] = trait
            at[owners[i]] += 1
    return traits


@compiled
def _count_traits(
    g: Stepped,
    relations: int,
    t: Traits,
    withheld: NDArray[np.bool_],
    head: int,
    min_support: int,
    min_confidence: float,
    pessimism: float,
) -> Ids:
    known = len(t.keys)
    wide = known + head
    heads = t.owners[t.owner_offsets[wide] : t.owner_offsets[wide + 1]]  # entities with a fact of the head relation
    is_head = np.zeros(len(g.offsets) - 1, np.bool_)
    for x in heads:
        is_head[x] = True
    limited = len(withheld) > 0
    serves = np.zeros(len(is_head), np.bool_)  # whether one of the facts is an example
    for x in heads:
        begin, end = find_relation_edges(g, x, head)
        for edge in range(begin, end):
            serves[x] |= not limited or not withheld[edge]
    shared = np.zeros(len(t.owner_offsets) - 1, np.int32)  # heads among the owners of a trait
    met, n_met = np.empty(len(shared), np.int32), 0
    for x in heads:
        for i in range(t.offsets[x], t.offsets[x + 1]):
            trait = t.traits[i]
            if shared[trait] == 0:
                met[n_met] = trait
                n_met += 1
            shared[trait] += 1
    counts = np.zeros(len(g.offsets) - 1, np.int32)
    found, n_found = np.empty(len(g.offsets) - 1, np.int32), 0
    left_out = np.zeros(len(counts) if limited else 0, np.int32)  # of those counted, the withheld
    left_partial = np.zeros(len(left_out), np.int32)  # of those, the ones who have an example of another tail
    size = 0
    kept = np.empty((5, 1024), np.int32)
    own = (head + relations) % (2 * relations)
    for m in range(n_met):
        trait = met[m]
        low, high = t.owner_offsets[trait], t.owner_offsets[trait + 1]
        least = max(min_support, min_confidence * (high - low + pessimism))
        # Too few even if all had the same tail. Each withheld fact lowers the support by one, and the threshold by
        # less.
        if shared[trait] < least:
            continue
        serving = 0
        for i in range(low, high):
            x = t.owners[i]
            if is_head[x]:
                serving += serves[x]
                begin, end = find_relation_edges(g, x, head)
                for edge in range(begin, end):
                    tail = g.step_tails[edge]
                    if counts[tail] == 0:
                        found[n_found] = tail
                        n_found += 1
                    counts[tail] += 1
                    if limited and withheld[edge]:
                        left_out[tail] += 1
                        left_partial[tail] += serves[x]
        for i in range(n_found):
            tail = found[i]
            itself = trait == wide or (trait < known and t.keys[trait] == np.int64(tail) * 2 * relations + own)
            support, owners, partial, enough = counts[tail], high - low, serving, least
            if limited and left_out[tail] > 0:
                support -= left_out[tail]
                owners -= left_out[tail]
                partial -= left_partial[tail]
                left_out[tail], left_partial[tail] = 0, 0
                enough = max(min_support, min_confidence * (owners + pessimism))
            if support >= enough and not itself:
                if size == kept.shape[1]:
                    larger = np.empty((5, 2 * size), np.int32)
                    for column in range(5):
                        for rule in range(size):
                            larger[column, rule] = kept[column, rule]
                    kept = larger
                kept[0, size], kept[1, size] = trait, tail
                kept[2, size], kept[3, size], kept[4, size] = support, owners, partial
                size += 1
            counts[tail] = 0
        n_found = 0
    return kept[:, :size]
