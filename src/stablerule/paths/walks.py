"""Random walks that check at every step which relations close them (section 4.3 of the paper).

A walk starts at the head of a random fact, follows a random edge at each step, and ends before it would visit an entity
twice. After each step, every relation between the start and the entity reached gives a sample (path so far, relation).
A path that no relation closes gives a sample (path, NEG). If only some facts are examples, a path that only other facts
close gives no sample.

Samples are counted in a hash table, whose size depends on the number of distinct samples.
"""

from __future__ import annotations

from itertools import count
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stablerule.errors import OptionError
from stablerule.paths.compiling import compiled, compiled_leaf
from stablerule.paths.sorting import find_first_at_least
from stablerule.paths.threads import count_cores, run_in_threads
from stablerule.paths.withheld import ExampleFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from stablerule.graph import Adjacency, Graph
    from stablerule.graph.triples import Ids, Offsets

# One row for each slot, 16 bytes, so that a look-up touches one cache line: the key of the body, then the head relation
# and the count in one word. A free slot has a count of 0.
Table: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]
SMALLEST = 1 << 12
HEAD_BITS = np.uint64(40)  # counts below 10^12, head relations below 16 million
COUNT_MASK = np.uint64((1 << 40) - 1)
ONE = np.uint64(1)
# Constants of SplitMix64: the step of its stream, and its two multipliers.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
CHUNK = 1 << 14
OPEN, PAPER, NONE = 0, 1, 2


class Walking(NamedTuple):
    """The options of walks, see `sample_rules`; `negatives` is OPEN, PAPER or NONE."""

    max_length: int
    min_length: int
    backtracking: bool
    negatives: int
    seed: int


def count_walks(
    graph: Graph,
    walks: int,
    how: Walking,
    *,
    examples: ExampleFacts | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Walk, and return (body key, head relation, count), sorted; see `pack_body_key` for the keys.

    All relation ids with examples get equally many walks. Each walk has its own stream of random numbers, so the result
    does not depend on the number of threads.
    """
    base = 2 * graph.n_relations + 1
    if base**how.max_length >= 2**64:
        longest = max(length for length in range(1, how.max_length) if base**length < 2**64)
        raise OptionError(
            f"Argument 'max_length' must be at most {longest} for {graph.n_relations:,} relations, "
            f"got {how.max_length}."
        )
    examples = examples or ExampleFacts.all_of(graph)
    # Walks start from examples; only their steps may be any fact.
    facts = examples.facts
    anchors = np.flatnonzero(np.tile(np.diff(facts.fact_offsets), 2)).astype(np.int32)
    facts_of = facts.fact_offsets, facts.fact_heads, facts.fact_tails, anchors, examples.withheld
    next_chunk, stop = count(), Event()

    def run(_: int) -> Table:
        table, used = make_path_table(), 0
        # Threads take chunks from one counter; the sums don't depend on which thread took which.
        while not stop.is_set() and (first := next(next_chunk) * CHUNK) < walks:
            last = min(first + CHUNK, walks)
            table, used = _walk_chunk(graph.adjacency, *facts_of, how, first, last, table, used)
            if progress:
                progress(last - first)
        return table

    workers = threads or count_cores()
    tables = run_in_threads(run, range(workers), threads=workers, stop=stop)
    return merge_path_tables(tables)


def pack_body_key(body: tuple[int, ...], n_relations: int) -> int:
    """Return relation ids as the digits 1..2R of one number; keys sort like bodies, shorter ones first.

    >>> pack_body_key((0, 3), n_relations=2)
    9
    """
    key = 0
    for relation in body:
        key = key * (2 * n_relations + 1) + relation + 1
    return key


def unpack_body_keys(keys: NDArray[np.uint64], n_relations: int, max_length: int) -> Ids:
    """Return keys as bodies (n, max_length), padded with -1.

    >>> unpack_body_keys(np.array([1, 9], np.uint64), n_relations=2, max_length=3).tolist()
    [[0, -1, -1], [0, 3, -1]]
    """
    base = np.uint64(2 * n_relations + 1)
    digits = np.empty((len(keys), max_length), np.int32)
    rest = keys.copy()
    for place in range(max_length - 1, -1, -1):
        rest, digit = np.divmod(rest, base)
        digits[:, place] = digit
    digits -= 1
    # Digits are aligned right, bodies left.
    lengths = (digits >= 0).sum(1)
    places = np.arange(max_length) + (max_length - lengths)[:, None]
    filled = np.take_along_axis(digits, np.minimum(places, max_length - 1), 1)
    filled[places >= max_length] = -1
    return filled


@compiled
def _walk_chunk(
    g: Adjacency,
    fact_offsets: Offsets,
    fact_heads: Ids,
    fact_tails: Ids,
    anchors: Ids,
    withheld: NDArray[np.bool_],
    how: Walking,
    first: int,
    last: int,
    table: Table,
    used: int,
) -> tuple[Table, int]:
    relations = len(fact_offsets) - 1
    negative = 2 * relations
    base = np.uint64(2 * relations + 1)
    max_length, min_length, backtracking, negatives = how.max_length, how.min_length, how.backtracking, how.negatives
    seed = np.uint64(how.seed)
    limited = len(withheld) > 0
    visited = np.empty(max_length + 1, np.int32)
    for walk in range(first, last):
        state = mix_walk_bits(seed * GOLDEN + np.uint64(walk) + np.uint64(1))
        anchor = anchors[walk % len(anchors)]
        plain = anchor % relations
        state += GOLDEN
        fact = fact_offsets[plain] + draw_below(mix_walk_bits(state), fact_offsets[plain + 1] - fact_offsets[plain])
        start = fact_heads[fact] if anchor < relations else fact_tails[fact]
        # Without backtracking only the last step is checked, so walks use all lengths in turn.
        target = max_length if backtracking else min_length + (walk // len(anchors)) % (max_length - min_length + 1)
        visited[0] = start
        here = start
        key = np.uint64(0)
        ever_closed = False
        for length in range(1, target + 1):
            state += GOLDEN
            edge = g.offsets[here] + draw_below(mix_walk_bits(state), g.offsets[here + 1] - g.offsets[here])
            here = g.edge_tails[edge]
            again = False
            for i in range(length):
                if visited[i] == here:
                    again = True
            if again:
                break
            visited[length] = here
            step = g.edge_relations[edge]
            key = key * base + np.uint64(step + 1)
            if length < min_length or (not backtracking and length < target):
                continue
            # Both ends have the links between them; search the shorter list.
            one, other, swapped = start, here, False
            if g.offsets[here + 1] - g.offsets[here] < g.offsets[start + 1] - g.offsets[start]:
                one, other, swapped = here, start, True
            end = g.offsets[one + 1]
            link = find_first_at_least(g.link_tails, g.offsets[one], end, other)
            closed = False
            while link < end and g.link_tails[link] == other:
                relation = g.link_relations[link]
                if swapped:
                    relation = (relation + relations) % (2 * relations)
                # A single step is always closed by its own fact, which is skipped.
                if length > 1 or relation != step:
                    closed = True  # also by a withheld fact: the path is not open
                    if not (limited and withheld[link]):
                        used += add_path_count(table, key, np.uint64(relation), ONE)
                        if 2 * used > len(table):
                            table = grow_path_table(table)
                link += 1
            ever_closed |= closed
            if not closed and (negatives == OPEN or (negatives == PAPER and length == target and not ever_closed)):
                used += add_path_count(table, key, np.uint64(negative), ONE)
                if 2 * used > len(table):
                    table = grow_path_table(table)
    return table, used


@compiled
def draw_below(bits: np.uint64, size: int) -> np.int64:
    """Return a number below `size` from 64 random bits, by multiplication instead of division."""
    return np.int64(((bits >> U32) * np.uint64(size)) >> U32)


@compiled_leaf
def mix_walk_bits(state: np.uint64) -> np.uint64:
    """Mix 64 bits (the finaliser of SplitMix64)."""
    z = (state ^ (state >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


def make_path_table() -> Table:
    """Return a table with a few thousand slots."""
    return np.zeros((SMALLEST, 2), np.uint64)


@compiled_leaf
def add_path_count(table: Table, key: np.uint64, head: np.uint64, count: np.uint64) -> int:
    """Add to the count of a pair; return 1 if it is new. The table must have a free slot."""
    mask = np.uint64(len(table) - 1)
    slot = mix_walk_bits(key * GOLDEN + head) & mask
    while table[slot, 1] != 0:
        if table[slot, 0] == key and table[slot, 1] >> HEAD_BITS == head:
            table[slot, 1] += count
            return 0
        slot = (slot + ONE) & mask
    table[slot, 0] = key
    table[slot, 1] = (head << HEAD_BITS) + count
    return 1


@compiled
def grow_path_table(table: Table) -> Table:
    """Return a table of twice the size with the same counts."""
    wide = np.zeros((2 * len(table), 2), np.uint64)
    for slot in range(len(table)):
        if table[slot, 1] != 0:
            add_path_count(wide, table[slot, 0], table[slot, 1] >> HEAD_BITS, table[slot, 1] & COUNT_MASK)
    return wide


def merge_path_tables(tables: list[Table]) -> Counts:
    """Join the tables of several threads, sorted by body and head relation, independent of the order of threads."""
    rows = np.concatenate([table[table[:, 1] != 0] for table in tables])
    keys, heads = rows[:, 0], (rows[:, 1] >> HEAD_BITS).astype(np.int32)
    counts = (rows[:, 1] & COUNT_MASK).astype(np.int64)
    order = np.lexsort((heads, keys))
    keys, heads, counts = keys[order], heads[order], counts[order]
    if not len(keys):
        return keys, heads, counts
    starts = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]) | (heads[1:] != heads[:-1])]))
    return keys[starts], heads[starts], np.add.reduceat(counts, starts)
