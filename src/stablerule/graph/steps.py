"""Where a relation leads from an entity, found in a few instructions.

Most entities have no edge of a given relation, and a walk along rules asks for little else. So for each relation a
bitmap says which entities have one, 1 bit each, and with a running count for each 64 of them it says the place of its
tails: 0.19 bytes for each entity and relation, of which a walk along one relation touches only one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids, Offsets

WORD = 64


class Steps(NamedTuple):
    """Bitmaps and counts (2R, words), the starts of blocks (P + 1,), and the tails (2T,) by relation, then head."""

    step_words: NDArray[np.uint64]
    step_ranks: Ids
    step_starts: Offsets
    step_tails: Ids


def build_graph_steps(heads: Ids, relations: Ids, tails: Ids, entities: int, n_relations: int) -> Steps:
    """Build from all edges, inverses included, sorted by (head, relation, tail)."""
    order = np.argsort(relations, kind="stable")  # now by relation, head, tail
    heads, relations = heads[order], relations[order]
    new = np.ones(len(order), bool)
    new[1:] = (heads[1:] != heads[:-1]) | (relations[1:] != relations[:-1])
    starts = np.flatnonzero(new)
    block_heads, block_relations = heads[starts].astype(np.int64), relations[starts].astype(np.int64)
    words = -(-entities // WORD)
    where = block_relations * words + block_heads // WORD
    bitmap = np.zeros(n_relations * words, np.uint64)
    np.bitwise_or.at(bitmap, where, np.uint64(1) << (block_heads % WORD).astype(np.uint64))
    counts = np.bincount(where, minlength=n_relations * words)
    ranks = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    return Steps(
        step_words=bitmap.reshape(n_relations, words),
        step_ranks=ranks.astype(np.int32).reshape(n_relations, words),
        step_starts=np.append(starts, len(order)).astype(np.int64),
        step_tails=tails[order],
    )
