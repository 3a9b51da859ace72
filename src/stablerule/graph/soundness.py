"""Whether the arrays of a graph are what `Graph.build` would have made: kernels walk along them without a look.

One pass, a second for ten million facts: every offset and id is in its range, every run is sorted and without
repetition, and both lists of edges hold each fact and its inverse, which sums of hashes tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids, Offsets

    Hash = Callable[[Ids, Ids, Ids], NDArray[np.uint64]]

# What kernels are compiled for.
DTYPES: Mapping[str, type[np.signedinteger[Any]]] = {
    "offsets": np.int64,
    "edge_relations": np.int32,
    "edge_tails": np.int32,
    "link_tails": np.int32,
    "link_relations": np.int32,
    "fact_offsets": np.int64,
    "fact_heads": np.int32,
    "fact_tails": np.int32,
}
CHUNK = 1 << 15  # rows: what is made of them stays in the cache of a core
# Odd numbers without a pattern: sums of what they make of triples tell sets of triples apart.
FIRST, SECOND, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(32)


def array_lengths(entities: int, relations: int, facts: int) -> dict[str, int]:
    """Return how long each array of a graph is."""
    sizes = {"offsets": entities + 1, "fact_offsets": relations + 1, "fact_heads": facts, "fact_tails": facts}
    return {name: sizes.get(name, 2 * facts) for name in DTYPES}


def find_unsound_array(arrays: Mapping[str, NDArray[Any]], entities: int, relations: int) -> tuple[str, str] | None:
    """Return the name of an array that is not as it must be, and what is wrong; None where all is well.

    Types and lengths have been checked, see `array_lengths`.
    """
    facts = len(arrays["fact_heads"])
    for name, end in (("offsets", 2 * facts), ("fact_offsets", facts)):
        steps = arrays[name]
        # Compared, not subtracted: a difference of damaged numbers may overflow, and look as if they rose.
        if steps[0] != 0 or steps[-1] != end or (steps[1:] < steps[:-1]).any():
            return name, f"must rise from 0 to {end:,}"
    bounds = {"tails": entities, "heads": entities, "relations": 2 * relations}
    for name, ids in arrays.items():
        bound = bounds.get(name.rpartition("_")[2])
        if bound is not None and len(ids) and (ids.min() < 0 or ids.max() >= bound):
            return name, f"must hold ids in 0..{bound - 1:,}"
    # By relation, head, tail; by head, relation, tail; and by head, tail, relation.
    lists = {
        "fact_heads": ("fact_offsets", "fact_tails", _by_relation(relations)),
        "edge_relations": ("offsets", "edge_tails", _hash),
        "link_tails": ("offsets", "link_relations", _by_tail),
    }
    found = {
        name: _read_runs(arrays[offsets], arrays[name], arrays[second], hashed)
        for name, (offsets, second, hashed) in lists.items()
    }
    for name, total in found.items():
        if total is None:
            return name, "must be sorted, without repetition"
        if total != found["fact_heads"]:
            return name, "must hold each fact and its inverse"
    return None


def _read_runs(offsets: Offsets, first: Ids, second: Ids, hashed: Hash) -> int | None:
    """Sum the hashes of all rows (owner, first, second); None where the rows of an owner do not rise."""
    owners, total = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)), 0
    for begin in range(0, len(first), CHUNK):
        rows = slice(max(begin - 1, 0), begin + CHUNK)  # the row before is there to compare with
        whose, a, b = owners[rows], first[rows], second[rows]
        pairs = _pack(a, b)
        if ((pairs[1:] <= pairs[:-1]) & (whose[1:] == whose[:-1])).any():
            return None
        new = slice(begin - rows.start, None)
        total += int(hashed(whose[new], a[new], b[new]).sum())
    return total % 2**64


def _pack(a: Ids, b: Ids) -> NDArray[np.uint64]:
    """Make one number of two ids, in the order of both."""
    packed = a.astype(np.uint64)
    packed <<= HALF
    packed |= b.view(np.uint32)
    return packed


def _hash(heads: Ids, relations: Ids, tails: Ids) -> NDArray[np.uint64]:
    mixed = _pack(relations, tails)
    mixed *= FIRST
    mixed += _pack(heads, heads)
    mixed ^= mixed >> HALF
    mixed *= SECOND
    mixed ^= mixed >> HALF
    return mixed


def _by_tail(heads: Ids, tails: Ids, relations: Ids) -> NDArray[np.uint64]:
    return _hash(heads, relations, tails)


def _by_relation(n_relations: int) -> Hash:
    """Hash each fact and its inverse."""

    def hashed(relations: Ids, heads: Ids, tails: Ids) -> NDArray[np.uint64]:
        return _hash(heads, relations, tails) + _hash(tails, relations + np.int32(n_relations), heads)

    return hashed
