"""Find the entities that a body reaches from an entity, by paths that visit no entity twice.

Up to length 3, paths are counted level by level, without following each one. Skipping the start and self-loops at every
step leaves one kind of path with a repeated entity, x -> a -> b -> a; these are counted separately and subtracted.
Longer bodies are enumerated, up to a cap.

Every function uses scratch arrays: `counts` (E,) is zero before and after, `found` (E,) lists where it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.compiling import compiled, compiled_leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids


@compiled_leaf
def find_relation_edges(g: Stepped, entity: int, relation: int) -> tuple[int, int]:
    """Return low and high: the tails of one relation of an entity are g.step_tails[low:high]."""
    word = g.step_words[relation, entity >> 6]
    bit = np.uint64(1) << np.uint64(entity & 63)
    if word & bit == np.uint64(0):
        return 0, 0
    block = g.step_ranks[relation, entity >> 6] + count_bits(word & (bit - np.uint64(1)))
    return g.step_starts[block], g.step_starts[block + 1]


@compiled_leaf
def count_bits(word: int) -> int:
    """Count the ones of a 64-bit word: in pairs of bits, then fours, then bytes, then all bytes at once."""
    w = np.uint64(word)
    w -= (w >> np.uint64(1)) & np.uint64(0x5555555555555555)
    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((w * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled_leaf
def reach_next(
    g: Stepped,
    start: int,
    relation: int,
    before: Ids,
    n_before: int,
    counts_before: NDArray[np.int64],
    found: Ids,
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Follow a relation from all entities in `before`, with their path counts (none given: one path each).

    If fewer entities have the relation at all, it follows it from those instead.
    """
    size, seen = 0, 0
    plain = len(counts_before) == 0
    first, end = g.step_ranks[relation, 0], len(g.step_heads)
    if relation + 1 < len(g.step_ranks):
        end = g.step_ranks[relation + 1, 0]
    from_blocks = not plain and end - first < n_before
    for i in range(end - first if from_blocks else n_before):
        here = g.step_heads[first + i] if from_blocks else before[i]
        paths = np.int64(1) if plain else counts_before[here]
        if from_blocks:
            if paths == 0:
                continue
            low, high = g.step_starts[first + i], g.step_starts[first + i + 1]
        else:
            low, high = find_relation_edges(g, here, relation)
        seen += high - low + 1
        for edge in range(low, high):
            tail = g.step_tails[edge]
            if tail != start and tail != here:
                if counts[tail] == 0:
                    found[size] = tail
                    size += 1
                counts[tail] += paths
    return size, seen


@compiled_leaf
def take_off_returns(
    g: Stepped,
    start: int,
    second: int,
    third: int,
    relations: int,
    firsts: Ids,
    n_firsts: int,
    counts: NDArray[np.int64],
) -> int:
    """Subtract the paths start -> a -> b -> a from the count of each a; return the number of edges followed."""
    seen = 0
    back = (third + relations) % (2 * relations)
    for i in range(n_firsts):
        first = firsts[i]
        if counts[first] == 0:
            continue
        # b must be reached from a by `second`, and a from b by `third`; both lists are sorted.
        one, one_end = find_relation_edges(g, first, second)
        two, two_end = find_relation_edges(g, first, back)
        seen += one_end - one + two_end - two
        while one < one_end and two < two_end:
            a, b = g.step_tails[one], g.step_tails[two]
            if a == b:
                if a != start and a != first:
                    counts[first] -= 1
                one += 1
                two += 1
            elif a < b:
                one += 1
            else:
                two += 1
    return seen


@compiled
def reach_by_enumeration(
    g: Stepped,
    start: int,
    own_relation: int,
    own_tail: int,
    body: Ids,
    length: int,
    cap: int,
    found: Ids,
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Enumerate the paths of a body with distinct entities; stop after `cap` edges.

    Paths that start with the fact (start, own_relation, own_tail) are skipped.
    """
    at = np.empty(length + 1, np.int64)  # the next edge of each entity of the path
    end = np.empty(length + 1, np.int64)
    path = np.empty(length + 1, np.int32)
    path[0] = start
    at[0], end[0] = find_relation_edges(g, start, body[0])
    depth, size, seen = 0, 0, 0
    while depth >= 0 and seen < cap:
        if at[depth] == end[depth]:
            depth -= 1
            continue
        tail = g.step_tails[at[depth]]
        at[depth] += 1
        seen += 1
        again = depth == 0 and body[0] == own_relation and tail == own_tail
        for i in range(depth + 1):
            if path[i] == tail:
                again = True
        if again:
            continue
        if depth + 1 == length:
            if counts[tail] == 0:
                found[size] = tail
                size += 1
            counts[tail] += 1
        else:
            depth += 1
            path[depth] = tail
            at[depth], end[depth] = find_relation_edges(g, tail, body[depth])
    return size, seen
