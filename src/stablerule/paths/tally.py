"""Counts of (body, head relation) pairs in a hash table that grows with what is different, not with what is seen."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stablerule.paths.compiling import compiled, compiled_leaf

# One row a slot, 16 bytes, so that a look-up touches one line of the cache: the key of the body, then head relation and
# count in one word. A free slot has a count of 0.
Table: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]
SMALLEST = 1 << 12
HEAD_BITS = np.uint64(40)  # counts below 10^12, head relations below 16 million
COUNT_MASK = np.uint64((1 << 40) - 1)
ONE = np.uint64(1)

# Of SplitMix64: the step of its stream, and its two multipliers.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@compiled_leaf
def mix_walk_bits(state: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    z = (state ^ (state >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


def make_path_table() -> Table:
    """Start with a few thousand slots."""
    return np.zeros((SMALLEST, 2), np.uint64)


@compiled_leaf
def add_path_count(table: Table, key: np.uint64, head: np.uint64, count: np.uint64) -> int:
    """Add to the count of a pair; returns 1 if it is new. There must be a free slot."""
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
    """Give the same counts twice the room."""
    wide = np.zeros((2 * len(table), 2), np.uint64)
    for slot in range(len(table)):
        if table[slot, 1] != 0:
            add_path_count(wide, table[slot, 0], table[slot, 1] >> HEAD_BITS, table[slot, 1] & COUNT_MASK)
    return wide


def merge_path_tables(tables: list[Table]) -> Counts:
    """Join the tables of several threads, sorted by body and head relation: the same whoever counted what."""
    rows = np.concatenate([table[table[:, 1] != 0] for table in tables])
    keys, heads = rows[:, 0], (rows[:, 1] >> HEAD_BITS).astype(np.int32)
    counts = (rows[:, 1] & COUNT_MASK).astype(np.int64)
    order = np.lexsort((heads, keys))
    keys, heads, counts = keys[order], heads[order], counts[order]
    if not len(keys):
        return keys, heads, counts
    starts = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]) | (heads[1:] != heads[:-1])]))
    return keys[starts], heads[starts], np.add.reduceat(counts, starts)
