"""The best rule behind a fact and one path of it, for very many facts: in compiled code, and no more than that.

`explain` says everything about one fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stablerule.paths.compiling import NOTHING, compiled
from stablerule.paths.ordering import first_at_least
from stablerule.paths.reach import edges_between
from stablerule.reasoning.firings import N_CANDIDATES, N_FIRINGS, close_relation, fire, no_firings, open_relation
from stablerule.rules import Rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Stepped
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.asking import Asked, Desk
    from stablerule.reasoning.search import Search
    from stablerule.reasoning.theory import Encoded, Theory

MOST_EDGES = 5_000_000  # looked at for the path of one fact


def name_reasons(search: Search, relation: int, heads: Ids, tails: Ids) -> dict[str, pl.Series]:
    """Return the best rule behind each fact of a relation, and one path of it by name, as columns rule and path.

    Where no rule leads to a fact, as when something else scored it, the rule is null and the path empty.
    """
    encoded, names = search.encoded, search.graph.vocabulary.entities.table
    rules = best_rules(search, relation, heads, tails)
    used, which = np.unique(rules, return_inverse=True)
    places = paths_of(search.graph, encoded.theory, relation, heads, tails, rules)
    # No entity has the id -1: it gives null, which is then left out of the list.
    steps = [names.gather(pl.Series(column).replace(-1, None)).alias(f"{i}") for i, column in enumerate(places.T)]
    return {
        "rule": pl.Series(spelled_rules(encoded, used), dtype=pl.String).gather(which),
        "path": pl.DataFrame(steps).select(pl.concat_list(pl.all()).list.drop_nulls()).to_series(),
    }


def best_rules(search: Search, relation: int, heads: Ids, tails: Ids) -> Ids:
    """(n,): the rule of the theory that weighs most, of those that fired for each fact; -1 where none did."""
    rules = np.full(len(heads), -1, np.int32)

    def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
        some = np.empty(len(rows), np.int32)
        find_best_rules(asked, heads[rows], tails[rows], desk, some)
        rules[rows] = some

    search._in_parts(np.full(len(rules), relation, np.int32), heads, part)
    return rules


def spelled_rules(encoded: Encoded, rules: Ids) -> list[str | None]:
    """Spell rules of a theory; -1 is none."""
    frame = encoded.rules.to_frame()[encoded.rows[rules[rules >= 0]]]
    columns = frame.select("head_relation", "body", "constant", "body_constant").iter_rows()
    spelled = (str(Rule(head, tuple(body), None if c is None else (c, d))) for head, body, c, d in columns)
    return [next(spelled) if rule >= 0 else None for rule in rules.tolist()]


def paths_of(graph: Graph, theory: Theory, relation: int, heads: Ids, tails: Ids, rules: Ids) -> Ids:
    """(n, L + 1): the entities of one path for each fact, -1 behind its end."""
    paths = np.full((len(rules), theory.bodies.shape[1] + 1), -1, np.int32)
    find_paths(graph.stepped, graph.n_relations, theory, relation, heads, tails, rules, paths)
    return paths


@compiled
def find_best_rules(a: Asked, heads: Ids, tails: Ids, desk: Desk, rules: Ids) -> None:
    """Fill rules (n,); facts come sorted by head, and what fired for one head serves all its tails."""
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = no_firings(desk.workplace)
    weights = a.theory.weights
    best = np.empty(0, np.int32)
    for q in range(len(heads)):
        if q == 0 or heads[q] != heads[q - 1]:
            f = fire(a.g, a.relations, a.theory, heads[q], a.relation, NOTHING, desk.workplace, f)
            best = np.empty(f.sizes[N_CANDIDATES], np.int32)
            for slot in range(len(best)):
                best[slot] = -1
            for i in range(f.sizes[N_FIRINGS]):
                slot, rule = f.slots[i], f.rules[i]
                if best[slot] < 0 or weights[rule] > weights[best[slot]]:
                    best[slot] = rule
        slot = f.slot_of[tails[q]]
        rules[q] = best[slot] if slot >= 0 else -1
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)


@compiled
def find_paths(
    g: Stepped, relations: int, t: Theory, relation: int, heads: Ids, tails: Ids, rules: Ids, paths: Ids
) -> None:
    """Fill paths (n, L + 1), filled with -1 before, with one path of each rule; it stays empty where none was found."""
    chains, known = len(t.lengths), len(t.traits.keys)
    for i in range(len(rules)):
        rule = rules[i]
        if rule < 0:
            continue
        if rule < chains:
            if not find_path(g, heads[i], tails[i], t.bodies[rule], t.lengths[rule], paths[i]):
                for place in range(paths.shape[1]):
                    paths[i, place] = -1
            continue
        rule -= chains
        # q(X, c) <- trait of X: X is the head where q is the relation asked, and else the tail.
        of_head = t.trait_starts[relation] <= rule < t.trait_starts[relation + 1]
        owner, trait = heads[i] if of_head else tails[i], t.rule_traits[rule]
        paths[i, 0] = owner
        if trait < known:
            paths[i, 1] = t.traits.keys[trait] // (2 * relations)
        else:
            low, _ = edges_between(g, owner, trait - known)
            paths[i, 1] = g.step_tails[low]


@compiled
def find_path(g: Stepped, head: int, tail: int, body: Ids, length: int, path: Ids) -> bool:
    """Walk along a body until one path ends at the tail, its entities distinct; tells whether there was one."""
    path[0], path[length] = head, tail
    if length == 1:
        return True
    at, end = np.empty(length, np.int64), np.empty(length, np.int64)
    at[0], end[0] = edges_between(g, head, body[0])
    depth, seen = 0, 0
    while depth >= 0 and seen < MOST_EDGES:
        if at[depth] == end[depth]:
            depth -= 1
            continue
        here = g.step_tails[at[depth]]
        at[depth] += 1
        seen += 1
        again = here == tail
        for i in range(depth + 1):
            again = again or path[i] == here
        if again:
            continue
        depth += 1
        path[depth] = here
        at[depth], end[depth] = edges_between(g, here, body[depth])
        if depth + 1 == length:  # one step is left, and the tails stand sorted
            low, high = at[depth], end[depth]
            place = first_at_least(g.step_tails, low, high, tail)
            if place < high and g.step_tails[place] == tail:
                return True
            depth -= 1
    return False
