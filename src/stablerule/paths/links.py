"""Count which bodies link a pair of entities, and by how many paths; find the bodies that apply to an entity.

The kernels in `reach` follow a given body; these find the bodies between two given entities. Paths of length 3 meet in
the
middle: entities one step before the end are marked, and two steps are followed from the other end, whichever is faster.
The entities of a path are distinct. The bodies that apply to the entity of a query are a feature of the query that
needs no answer.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.errors import OptionError
from stablerule.paths.compiling import NOTHING, compiled
from stablerule.paths.threads import run_in_threads
from stablerule.paths.trail import Trail, follow_body, make_trail, reset_trail
from stablerule.paths.walks import COUNT_MASK, ONE, Table, add_path_count, grow_path_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.graph import Adjacency, Graph, Stepped
    from stablerule.graph.triples import Ids, Offsets

LONGEST_LINK = 3
PAIRS_AT_ONCE, QUERIES_AT_ONCE = 256, 1024  # for each thread
NO_HEAD = np.uint64(0)  # the table counts pairs of a body and a head relation, and here there is no head relation


class Links(NamedTuple):
    """Paths between pairs: the body with key keys[i] (see `pack_body_key`) links pair rows[i] by paths[i] paths."""

    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    paths: NDArray[np.int64]


def count_links(
    graph: Graph,
    heads: Ids,
    tails: Ids,
    relations: Ids,
    *,
    max_length: int = LONGEST_LINK,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Links:
    """Count the paths from each head to its tail, by body, sorted by row and key.

    relations: (n,), the relation of each pair, possibly an inverse; the fact itself does not count as a path.

    >>> from stablerule.graph import Dataset
    >>> facts = [("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid")]
    >>> graph = Dataset.from_names("family", train=facts).graph
    >>> ids = [np.array([i], np.int32) for i in (0, 2, 0)]  # ann, cid, grandparent_of
    >>> count_links(graph, *ids).keys.tolist()  # parent_of, parent_of
    [12]
    """
    if not 1 <= max_length <= LONGEST_LINK:
        raise OptionError(f"Argument 'max_length' of path counts must be in 1..{LONGEST_LINK}, got {max_length}.")
    if (2 * graph.n_relations + 1) ** max_length >= 2**64:
        raise OptionError(f"{graph.n_relations:,} relations are too many for paths of length {max_length}.")
    # The number of edges followed by two steps from each entity.
    degrees, starts = graph.degrees, np.repeat(np.arange(graph.n_entities), graph.degrees)
    two_steps = np.bincount(starts, degrees[graph.edge_tails], graph.n_entities).astype(np.float64)
    stop = Event()

    def run(first: int) -> Links:
        rows = slice(first, first + PAIRS_AT_ONCE)
        if stop.is_set():
            return Links(np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64))
        asked = heads[rows], tails[rows], relations[rows]
        found, keys, counts = _count_links(graph.adjacency, graph.n_relations, *asked, two_steps, max_length)
        if progress:
            progress(len(asked[0]))
        order = np.lexsort((keys, found))
        return Links(found[order] + first, keys[order], counts[order])

    parts = run_in_threads(run, range(0, len(heads), PAIRS_AT_ONCE), threads=threads, stop=stop)
    if not parts:
        return run(0)
    return Links(*(np.concatenate([part[column] for part in parts]) for column in range(3)))


@compiled
def _count_links(
    g: Adjacency,
    relations: int,
    heads: Ids,
    tails: Ids,
    own: Ids,
    two_steps: NDArray[np.float64],
    max_length: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    entities = len(g.offsets) - 1
    link_to = np.full(entities, np.int64(-1))  # first link from the far end to an entity
    table = make_small_path_table()
    rows = np.empty(1024, np.int64)
    keys = np.empty(1024, np.uint64)
    counts = np.empty(1024, np.int64)
    size = 0
    for row in range(len(heads)):
        head, tail = heads[row], tails[row]
        if head == tail:
            continue
        turned = two_steps[tail] < two_steps[head]
        near, far = (tail, head) if turned else (head, tail)
        for link in range(g.offsets[far], g.offsets[far + 1]):
            if link == g.offsets[far] or g.link_tails[link] != g.link_tails[link - 1]:
                link_to[g.link_tails[link]] = link
        table, used = _count_paths(g, relations, near, far, turned, own[row], link_to, max_length, table)
        for link in range(g.offsets[far], g.offsets[far + 1]):
            link_to[g.link_tails[link]] = -1
        while size + used > len(rows):
            rows, keys, counts = lengthen_path_array(rows), lengthen_path_array(keys), lengthen_path_array(counts)
        for slot in range(len(table)):
            if table[slot, 1] != 0:
                rows[size], keys[size], counts[size] = row, table[slot, 0], table[slot, 1] & COUNT_MASK
                size += 1
                table[slot, 1] = 0
        if len(table) > 64 * (used + 64):  # large after a hub; a small table is faster to scan
            table = make_small_path_table()
    return rows[:size], keys[:size], counts[:size]


@compiled
def make_small_path_table() -> Table:
    """Return a small table, since most pairs have few links."""
    return np.zeros((256, 2), np.uint64)


@compiled
def lengthen_path_array(array):  # type: ignore[no-untyped-def]  # one for each kind of number
    """Return a copy of an array with twice the length."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _count_paths(
    g: Adjacency,
    relations: int,
    near: int,
    far: int,
    turned: bool,
    own: int,
    link_to: NDArray[np.int64],
    max_length: int,
    table: Table,
) -> tuple[Table, int]:
    used = 0
    low, high = g.offsets[near], g.offsets[near + 1]
    ends = g.offsets[far + 1]
    last = link_to[near]
    if last >= 0:
        while last < ends and g.link_tails[last] == near:
            back = g.link_relations[last]  # from the far end to the near one
            step = back if turned else turn_relation(back, relations)
            if step != own:
                if 2 * (used + 1) > len(table):
                    table = grow_path_table(table)
                used += add_path_count(table, np.uint64(step + 1), NO_HEAD, ONE)
            last += 1
    begin = low
    while begin < high and max_length > 1:
        first = g.link_tails[begin]
        end = begin + 1
        while end < high and g.link_tails[end] == first:
            end += 1
        if first != near and first != far:
            last = link_to[first]
            if last >= 0:
                while last < ends and g.link_tails[last] == first:
                    while 2 * (used + end - begin) > len(table):
                        table = grow_path_table(table)
                    for link in range(begin, end):
                        key = write_two_step_key(g.link_relations[link], g.link_relations[last], turned, relations)
                        used += add_path_count(table, key, NO_HEAD, ONE)
                    last += 1
            if max_length > 2:
                for edge in range(g.offsets[first], g.offsets[first + 1]):
                    second = g.edge_tails[edge]
                    last = link_to[second]
                    if last < 0 or second in (near, far, first):
                        continue
                    while last < ends and g.link_tails[last] == second:
                        while 2 * (used + end - begin) > len(table):
                            table = grow_path_table(table)
                        for link in range(begin, end):
                            a, b, c = g.link_relations[link], g.edge_relations[edge], g.link_relations[last]
                            used += add_path_count(
                                table, write_three_step_key(a, b, c, turned, relations), NO_HEAD, ONE
                            )
                        last += 1
        begin = end
    return table, used


@compiled
def turn_relation(relation: int, relations: int) -> int:
    """Return the inverse of a relation."""
    return (relation + relations) % (2 * relations)


@compiled
def write_two_step_key(a: int, c: int, turned: bool, relations: int) -> np.uint64:
    """Return the key of near -a-> x <-c- far, from the head to the tail."""
    base = np.uint64(2 * relations + 1)
    if turned:
        return np.uint64(c + 1) * base + np.uint64(turn_relation(a, relations) + 1)
    return np.uint64(a + 1) * base + np.uint64(turn_relation(c, relations) + 1)


@compiled
def write_three_step_key(a: int, b: int, c: int, turned: bool, relations: int) -> np.uint64:
    """Return the key of near -a-> x -b-> y <-c- far, from the head to the tail."""
    base = np.uint64(2 * relations + 1)
    if turned:
        a, b, c = c, turn_relation(b, relations), a
    return (np.uint64(a + 1) * base + np.uint64(b + 1)) * base + np.uint64(turn_relation(c, relations) + 1)


def find_leading_bodies(
    graph: Graph, heads: Ids, relations: Ids, bodies: Ids, starts: Offsets, *, threads: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a query (n,) and a body of its relation that reaches any entity.

    bodies: (B, L), padded with -1, sorted within a relation; those of relation r are at starts[r]:starts[r + 1].
    """
    lengths = (bodies >= 0).sum(1)

    def run(first: int) -> NDArray[np.int64]:
        some = slice(first, first + QUERIES_AT_ONCE)
        trail = make_trail(graph.n_entities)
        found = _find_leading(
            graph.stepped, graph.n_relations, heads[some], relations[some], bodies, lengths, starts, trail
        )
        found[0] += first
        return found

    parts = run_in_threads(run, range(0, max(len(heads), 1), QUERIES_AT_ONCE), threads=threads)
    pairs = np.concatenate(parts, axis=1)
    return pairs[0], pairs[1]


@compiled
def _find_leading(
    g: Stepped,
    relations: int,
    heads: Ids,
    asked: Ids,
    bodies: Ids,
    lengths: NDArray[np.int64],
    starts: Offsets,
    trail: Trail,
) -> NDArray[np.int64]:
    found = np.empty((2, 1024), np.int64)
    size = 0
    for query in range(len(heads)):
        reset_trail(trail)
        for body in range(starts[asked[query]], starts[asked[query] + 1]):
            length = lengths[body]
            n = follow_body(g, relations, heads[query], NOTHING, NOTHING, bodies[body], length, trail)
            leads = n > 0
            if length >= 3 and leads:
                leads = False
                for i in range(n):
                    if trail.last_counts[trail.last[i]] > 0:
                        leads = True
                        break
            if leads:
                if size == found.shape[1]:
                    larger = np.empty((2, 2 * size), np.int64)
                    larger[:, :size] = found
                    found = larger
                found[0, size], found[1, size] = query, body
                size += 1
    reset_trail(trail)
    return found[:, :size]
