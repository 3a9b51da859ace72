"""The compiled part of `spreading`: one query at a time, over entities with mass only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.extending import compiled, compiled_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import Ids, Offsets

LEAST = 1e-20  # smaller mass and probability count as 0


class Steps(NamedTuple):
    """A graph with its inverses, the edges sorted by head, relation and tail.

    An entity x has the pairs offsets[x]:offsets[x + 1], one for each outgoing relation. Pair i has the relation
    relations[i] and leads to tails[starts[i]:starts[i + 1]].
    """

    n_entities: int
    n_relations: int
    offsets: Offsets
    relations: Ids
    starts: Offsets
    tails: Ids


class Attention(NamedTuple):
    """operators: (G, C, L, 2R + 1); memory: (G, C, L + 1, L + 1)."""

    operators: NDArray[np.float64]
    memory: NDArray[np.float64]


class Query(NamedTuple):
    """The hidden fact of a query; `back` is the inverse of its relation."""

    head: int
    relation: int
    tail: int
    back: int


class Room(NamedTuple):
    """The working memory of a thread. All is 0 between two queries or groups; the lists say what to reset.

    u: (C, L + 1, E), mass, at the n_u entities u_at. v, v_at, n_v: the same for the input of a step, (C, L, E).
    masses: (C, L + 1), before normalising; at_tail: (C,), of the last step, not normalised.
    u_bar: (L, E), v_bar: (E,), gradients.
    out: (C, E), the weight of an entity's outgoing edges under the last operator, -1 if unknown; out_bar: its gradient;
    out_at, n_out: (C, E), (C,), where it is known. All three for one group.
    """

    u: NDArray[np.float64]
    u_at: Ids
    n_u: NDArray[np.int64]
    v: NDArray[np.float64]
    v_at: Ids
    n_v: NDArray[np.int64]
    masses: NDArray[np.float64]
    at_tail: NDArray[np.float64]
    u_bar: NDArray[np.float64]
    v_bar: NDArray[np.float64]
    out: NDArray[np.float64]
    out_bar: NDArray[np.float64]
    out_at: Ids
    n_out: NDArray[np.int64]


def new_room(chains: int, length: int, entities: int) -> Room:
    """Return the working memory of one thread."""
    more, less = (chains, length + 1, entities), (chains, length, entities)
    return Room(
        u=np.zeros(more),
        u_at=np.zeros(more, np.int32),
        n_u=np.zeros(more[:2], np.int64),
        v=np.zeros(less),
        v_at=np.zeros(less, np.int32),
        n_v=np.zeros(less[:2], np.int64),
        masses=np.zeros(more[:2]),
        at_tail=np.zeros(chains),
        u_bar=np.zeros((length, entities)),
        v_bar=np.zeros(entities),
        out=np.full((chains, entities), -1.0),
        out_bar=np.zeros((chains, entities)),
        out_at=np.zeros((chains, entities), np.int32),
        n_out=np.zeros(chains, np.int64),
    )


@compiled
def score_queries(
    g: Steps, w: Attention, groups: Offsets, heads: Offsets, room: Room, found: NDArray[np.float64]
) -> None:
    """Add p of all entities to found (n, E)."""
    chains, length = w.operators.shape[1], w.operators.shape[2]
    for row in range(len(heads)):
        query = Query(heads[row], -1, -1, -1)  # no hidden fact
        for c in range(chains):
            b = w.memory[groups[row], c]
            _spread(g, w.operators[groups[row], c], b, length, query, room, c)
            for s in range(length + 1):
                for i in range(room.n_u[c, s]):
                    x = room.u_at[c, s, i]
                    found[row, x] += b[length, s] * room.u[c, s, x] / chains
            _clean(room, c)


@compiled
def learn_groups(
    g: Steps,
    w: Attention,
    bounds: tuple[int, int],
    starts: Offsets,
    queries: Offsets,
    room: Room,
    losses: NDArray[np.float64],
    gradients: Attention,
) -> None:
    """Write the loss of each query (n, 3) of some groups, and add the gradients of the summed loss."""
    chains = w.operators.shape[1]
    for group in range(bounds[0], bounds[1]):
        operators, memory = w.operators[group], w.memory[group]
        for row in range(starts[group], starts[group + 1]):
            relation = queries[row, 1]
            query = Query(queries[row, 0], relation, queries[row, 2], (relation + g.n_relations) % (2 * g.n_relations))
            p = 0.0
            for c in range(chains):
                p += _value(g, operators[c], memory[c], query, room, c) / chains
            losses[row] = -np.log(max(p, LEAST))
            for c in range(chains):
                if p > LEAST:
                    bars = gradients.operators[group, c], gradients.memory[group, c]
                    _pull(g, operators[c], memory[c], query, -1 / (p * chains), room, c, bars[0], bars[1])
                _clean(room, c)
        for c in range(chains):
            _close_group(g, room, c, gradients.operators[group, c, -1])


@compiled_part
def _hidden(query: Query, x: int, relation: int) -> int:
    """Return where the hidden fact or its inverse leads from x along a relation; -1 if nowhere."""
    if x == query.head and relation == query.relation:
        return query.tail
    if x == query.tail and relation == query.back:
        return query.head
    return -1


@compiled_part
def _spread(
    g: Steps,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    hops: int,
    query: Query,
    room: Room,
    c: int,
) -> None:
    """Fill u_0 .. u_hops and all v_t of one chain."""
    room.u[c, 0, query.head] = 1.0
    room.u_at[c, 0, 0] = query.head
    room.n_u[c, 0] = 1
    for t in range(min(hops + 1, len(a))):
        _take_up(b[t], t, room, c)
        if t < hops:
            _hop(g, a[t], t, query, room, c)


@compiled_part
def _take_up(b: NDArray[np.float64], t: int, room: Room, c: int) -> None:
    """Compute v_t from u_0 .. u_t; 0 marks an entity that has no mass yet."""
    v, at, n = room.v[c, t], room.v_at[c, t], 0
    for s in range(t + 1):
        for i in range(room.n_u[c, s]):
            x = room.u_at[c, s, i]
            mass = b[s] * room.u[c, s, x]
            if mass > 0:
                if v[x] == 0:
                    at[n] = x
                    n += 1
                v[x] += mass
    room.n_v[c, t] = n


@compiled_part
def _hop(g: Steps, a: NDArray[np.float64], t: int, query: Query, room: Room, c: int) -> None:
    """Compute u_{t+1} from v_t."""
    u, at, n = room.u[c, t + 1], room.u_at[c, t + 1], 0
    for i in range(room.n_v[c, t]):
        x = room.v_at[c, t, i]
        for j in range(g.offsets[x], g.offsets[x + 1]):
            mass, hidden = a[g.relations[j]] * room.v[c, t, x], _hidden(query, x, g.relations[j])
            if mass == 0:
                continue
            for e in range(g.starts[j], g.starts[j + 1]):
                y = g.tails[e]
                if y != hidden:
                    if u[y] == 0:
                        at[n] = y
                        n += 1
                    u[y] += mass
        mass = a[2 * g.n_relations] * room.v[c, t, x]
        if mass > 0:
            if u[x] == 0:
                at[n] = x
                n += 1
            u[x] += mass
    total = 0.0
    for i in range(n):
        total += u[at[i]]
    for i in range(n):
        u[at[i]] /= max(total, LEAST)
    room.n_u[c, t + 1] = n
    room.masses[c, t + 1] = total


@compiled_part
def _value(g: Steps, a: NDArray[np.float64], b: NDArray[np.float64], query: Query, room: Room, c: int) -> float:
    """Return p of the answer by one chain; the last step is computed from its end."""
    last = len(a) - 1
    _spread(g, a, b, last, query, room, c)
    v, tail, stay, total = room.v[c, last], query.tail, a[last, 2 * g.n_relations], 0.0
    for i in range(room.n_v[c, last]):
        x = room.v_at[c, last, i]
        total += v[x] * (_out_of(g, a[last], x, query, room, c) + stay)
    reached = stay * v[tail]
    for j in range(g.offsets[tail], g.offsets[tail + 1]):
        weight, hidden = a[last, _inverse(g, g.relations[j])], _hidden(query, tail, g.relations[j])
        for e in range(g.starts[j], g.starts[j + 1]):
            if g.tails[e] != hidden:
                reached += weight * v[g.tails[e]]
    room.masses[c, last + 1], room.at_tail[c] = total, reached
    p = b[last + 1, last + 1] * reached / max(total, LEAST)
    for s in range(last + 1):
        p += b[last + 1, s] * room.u[c, s, tail]
    return float(p)


@compiled_part
def _inverse(g: Steps, relation: int) -> int:
    return relation - g.n_relations if relation >= g.n_relations else relation + g.n_relations


@compiled_part
def _out_of(g: Steps, a: NDArray[np.float64], x: int, query: Query, room: Room, c: int) -> float:
    """Return the weight of an entity's outgoing edges: cached for the group, except at the hidden fact."""
    near = x in (query.head, query.tail)
    if room.out[c, x] >= 0 and not near:
        return float(room.out[c, x])
    total = 0.0
    for j in range(g.offsets[x], g.offsets[x + 1]):
        total += a[g.relations[j]] * _count(g, j, _hidden(query, x, g.relations[j]))
    if not near:
        room.out[c, x] = total
        room.out_at[c, room.n_out[c]] = x
        room.n_out[c] += 1
    return total


@compiled_part
def _count(g: Steps, j: int, hidden: int) -> int:
    """Count the edges of a pair, without the hidden one."""
    count = g.starts[j + 1] - g.starts[j]
    if hidden >= 0:
        for e in range(g.starts[j], g.starts[j + 1]):
            count -= g.tails[e] == hidden
    return int(count)


@compiled_part
def _pull(
    g: Steps,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    query: Query,
    p_bar: float,
    room: Room,
    c: int,
    a_bar: NDArray[np.float64],
    b_bar: NDArray[np.float64],
) -> None:
    """Propagate the gradient of p back along one chain.

    Entities without mass are skipped: their gradients belong to walks from other heads.
    """
    last = len(a) - 1
    for s in range(last + 1):
        b_bar[last + 1, s] += p_bar * room.u[c, s, query.tail]
        room.u_bar[s, query.tail] += p_bar * b[last + 1, s]
    _pull_last(g, a[last], p_bar, b[last + 1, last + 1], query, room, c, a_bar[last], b_bar)
    for t in range(last, -1, -1):
        if t < last:
            _pull_hop(g, a[t], t, query, room, c, a_bar[t])
        _pull_memory(b[t], t, room, c, b_bar[t])
    for s in range(last + 1):
        room.u_bar[s, query.tail] = 0
        for i in range(room.n_u[c, s]):
            room.u_bar[s, room.u_at[c, s, i]] = 0


@compiled_part
def _pull_last(
    g: Steps,
    a: NDArray[np.float64],
    p_bar: float,
    share: float,
    query: Query,
    room: Room,
    c: int,
    a_bar: NDArray[np.float64],
    b_bar: NDArray[np.float64],
) -> None:
    """Write the gradient of v before the last step to v_bar: from the value at the answer, and from the sum."""
    last, stay = room.v.shape[1] - 1, 2 * g.n_relations
    total, reached, v = room.masses[c, last + 1], room.at_tail[c], room.v[c, last]
    if total <= LEAST:
        return
    b_bar[last + 1, last + 1] += p_bar * reached / total
    value_bar = p_bar * share / total
    total_bar = -value_bar * reached / total
    for j in range(g.offsets[query.tail], g.offsets[query.tail + 1]):
        relation, hidden = _inverse(g, g.relations[j]), _hidden(query, query.tail, g.relations[j])
        for e in range(g.starts[j], g.starts[j + 1]):
            x = g.tails[e]
            if x != hidden and v[x] > 0:
                a_bar[relation] += value_bar * v[x]
                room.v_bar[x] += value_bar * a[relation]
    if v[query.tail] > 0:
        a_bar[stay] += value_bar * v[query.tail]
        room.v_bar[query.tail] += value_bar * a[stay]
    for i in range(room.n_v[c, last]):
        x = room.v_at[c, last, i]
        room.v_bar[x] += total_bar * (_out_of(g, a, x, query, room, c) + a[stay])
        a_bar[stay] += total_bar * v[x]
        if x in (query.head, query.tail):
            for j in range(g.offsets[x], g.offsets[x + 1]):
                a_bar[g.relations[j]] += total_bar * v[x] * _count(g, j, _hidden(query, x, g.relations[j]))
        else:
            room.out_bar[c, x] += total_bar * v[x]


@compiled_part
def _pull_hop(
    g: Steps, a: NDArray[np.float64], t: int, query: Query, room: Room, c: int, a_bar: NDArray[np.float64]
) -> None:
    """Compute the gradient of v_t from that of u_{t+1}."""
    u, z_bar, stay, total = room.u[c, t + 1], room.u_bar[t + 1], 2 * g.n_relations, room.masses[c, t + 1]
    if total <= LEAST:
        return
    together = 0.0
    for i in range(room.n_u[c, t + 1]):
        y = room.u_at[c, t + 1, i]
        together += z_bar[y] * u[y]
    for i in range(room.n_u[c, t + 1]):
        y = room.u_at[c, t + 1, i]
        z_bar[y] = (z_bar[y] - together) / total
    for i in range(room.n_v[c, t]):
        x = room.v_at[c, t, i]
        mass, x_bar = room.v[c, t, x], 0.0
        for j in range(g.offsets[x], g.offsets[x + 1]):
            relation, hidden, ends_bar = g.relations[j], _hidden(query, x, g.relations[j]), 0.0
            for e in range(g.starts[j], g.starts[j + 1]):
                if g.tails[e] != hidden:
                    ends_bar += z_bar[g.tails[e]]
            a_bar[relation] += mass * ends_bar
            x_bar += a[relation] * ends_bar
        a_bar[stay] += mass * z_bar[x]
        x_bar += a[stay] * z_bar[x]
        room.v_bar[x] += x_bar


@compiled_part
def _pull_memory(b: NDArray[np.float64], t: int, room: Room, c: int, b_bar: NDArray[np.float64]) -> None:
    """Add the gradient of v_t to those of u_0 .. u_t, and clear it."""
    for s in range(t + 1):
        if b[s] == 0:
            continue
        for i in range(room.n_u[c, s]):
            x = room.u_at[c, s, i]
            b_bar[s] += room.v_bar[x] * room.u[c, s, x]
            room.u_bar[s, x] += b[s] * room.v_bar[x]
    for i in range(room.n_v[c, t]):
        room.v_bar[room.v_at[c, t, i]] = 0


@compiled_part
def _clean(room: Room, c: int) -> None:
    """Reset the working memory after a query."""
    for s in range(room.u.shape[1]):
        for i in range(room.n_u[c, s]):
            room.u[c, s, room.u_at[c, s, i]] = 0
        room.n_u[c, s] = 0
    for t in range(room.v.shape[1]):
        for i in range(room.n_v[c, t]):
            room.v[c, t, room.v_at[c, t, i]] = 0
        room.n_v[c, t] = 0


@compiled_part
def _close_group(g: Steps, room: Room, c: int, a_bar: NDArray[np.float64]) -> None:
    """Add the summed gradients of a group to the last operator, and reset the group."""
    for i in range(room.n_out[c]):
        x = room.out_at[c, i]
        for j in range(g.offsets[x], g.offsets[x + 1]):
            a_bar[g.relations[j]] += room.out_bar[c, x] * (g.starts[j + 1] - g.starts[j])
        room.out_bar[c, x] = 0
        room.out[c, x] = -1
    room.n_out[c] = 0
