"""Follow many bodies from one entity, sharing their first steps.

Sorted bodies often have the same first steps. So the entities reached after one and two steps are kept for the next
body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import compiled_leaf
from stablerule.paths.reach import find_relation_edges, reach_by_enumeration, reach_next, take_off_returns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids

LONG_CAP = 200_000  # edges to follow for one body of length 4 or 5 from one entity
NOW_FIRST, NOW_SECOND, N_FIRST, N_SECOND, N_LAST, SEEN, CAP = range(7)


class Trail(NamedTuple):
    """The entities reached, for one thread; its memory is proportional to the number of entities.

    first, second, last: (E,) entities after one, two and all steps; their path counts are (E,), zero elsewhere.
    state: (7,), the relations that led to `first` and `second`, the numbers of entities, the edges followed so far, and
    the most edges for one long body.
    """

    first: Ids
    second: Ids
    last: Ids
    second_counts: NDArray[np.int64]
    last_counts: NDArray[np.int64]
    no_counts: NDArray[np.int64]
    state: NDArray[np.int64]


def make_trail(entities: int, cap: int = LONG_CAP) -> Trail:
    """Return an empty trail for a graph; memory for entities that are never reached is never touched."""
    first, second, last = (np.empty(entities, np.int32) for _ in range(3))
    counts = np.zeros(entities, np.int64), np.zeros(entities, np.int64), np.empty(0, np.int64)
    return Trail(first, second, last, *counts, np.array([-1, -1, 0, 0, 0, 0, cap], np.int64))


@compiled_leaf
def reset_trail(trail: Trail) -> None:
    """Clear the trail, before bodies are followed from another entity."""
    s = trail.state
    for i in range(s[N_SECOND]):
        trail.second_counts[trail.second[i]] = 0
    for i in range(s[N_LAST]):
        trail.last_counts[trail.last[i]] = 0
    s[NOW_FIRST], s[NOW_SECOND], s[N_FIRST], s[N_SECOND], s[N_LAST] = -1, -1, 0, 0, 0


@compiled_leaf
def follow_body(
    g: Stepped, relations: int, start: int, own_relation: int, own_tail: int, body: Ids, length: int, trail: Trail
) -> int:
    """Follow a body by paths with distinct entities; return the number of entities reached.

    They are in trail.first, .second or .last for a length of 1, 2 or more, with their path counts (one each after one
    step) in .second_counts or .last_counts; entities with a count of 0 are not reached. The fact (start, own_relation,
    own_tail) is not evidence for itself, so paths that start with it are skipped (-1, -1: none). No path returns to its
    start, so this covers all uses of the fact.
    """
    s = trail.state
    for i in range(s[N_LAST]):
        trail.last_counts[trail.last[i]] = 0
    s[N_LAST] = 0
    if body[0] != s[NOW_FIRST]:
        for i in range(s[N_SECOND]):
            trail.second_counts[trail.second[i]] = 0
        s[N_SECOND], s[NOW_SECOND], s[NOW_FIRST] = 0, -1, body[0]
        low, high = find_relation_edges(g, start, body[0])
        s[SEEN] += high - low + 1
        size = 0
        for edge in range(low, high):
            tail = g.step_tails[edge]
            if tail != start and not (body[0] == own_relation and tail == own_tail):
                trail.first[size] = tail
                size += 1
        s[N_FIRST] = size
    if length == 1 or s[N_FIRST] == 0:
        return int(s[N_FIRST])
    if length > 3:
        s[N_LAST], seen = reach_by_enumeration(
            g, start, own_relation, own_tail, body, length, s[CAP], trail.last, trail.last_counts
        )
        s[SEEN] += seen
        return int(s[N_LAST])
    if body[1] != s[NOW_SECOND]:
        for i in range(s[N_SECOND]):
            trail.second_counts[trail.second[i]] = 0
        s[NOW_SECOND] = body[1]
        s[N_SECOND], seen = reach_next(
            g, start, body[1], trail.first, s[N_FIRST], trail.no_counts, trail.second, trail.second_counts
        )
        s[SEEN] += seen
    if length == 2 or s[N_SECOND] == 0:
        return int(s[N_SECOND])
    s[N_LAST], seen = reach_next(
        g, start, body[2], trail.second, s[N_SECOND], trail.second_counts, trail.last, trail.last_counts
    )
    s[SEEN] += seen
    s[SEEN] += take_off_returns(g, start, body[1], body[2], relations, trail.first, s[N_FIRST], trail.last_counts)
    return int(s[N_LAST])
