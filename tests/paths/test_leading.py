"""Which bodies lead anywhere, against plain enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph
from stablerule.paths import links as links_module
from stablerule.paths.links import find_leading_bodies
from tests.paths.plain import reached
from tests.worlds import Fact, fact_lists, random_graph

Body = tuple[int, ...]


def table_of(bodies: dict[int, list[Body]], graph: Graph, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Bodies by relation -> rows filled with -1, sorted within a relation, and where those of each relation begin."""
    sizes = [len(bodies.get(relation, [])) for relation in range(2 * graph.n_relations)]
    rows = [body for relation in sorted(bodies) for body in sorted(bodies[relation])]
    table = np.full((len(rows), width), -1, np.int32)
    for row, body in enumerate(rows):
        table[row, : len(body)] = body
    return table, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def lead(
    graph: Graph, queries: list[tuple[int, int]], bodies: dict[int, list[Body]], width: int = 3
) -> set[tuple[int, int]]:
    table, starts = table_of(bodies, graph, width)
    heads, relations = np.array(queries, np.int32).reshape(-1, 2).T.copy()
    rows, found = find_leading_bodies(graph, heads, relations, table, starts)
    pairs = list(zip(rows.tolist(), found.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert sorted(pairs) == pairs
    return set(pairs)


def plainly(graph: Graph, queries: list[tuple[int, int]], bodies: dict[int, list[Body]]) -> set[tuple[int, int]]:
    found, at = set(), 0
    for relation in sorted(bodies):
        for body in sorted(bodies[relation]):
            found |= {
                (row, at)
                for row, (head, asked) in enumerate(queries)
                if asked == relation and reached(graph, head, body)
            }
            at += 1
    return found


@given(fact_lists, st.integers(0, 10**6))
def test_bodies_lead_where_plain_enumeration_does(facts: list[Fact], seed: int) -> None:
    graph = Dataset.from_names("any", train=facts).graph
    rng, steps = np.random.default_rng(seed), 2 * graph.n_relations
    every = [body for n in (1, 2, 3) for body in product(range(steps), repeat=n)]
    bodies = {
        relation: [every[i] for i in rng.choice(len(every), min(len(every), 15), replace=False)]
        for relation in range(steps)
        if rng.random() < 0.8
    }
    queries = list(product(range(graph.n_entities), range(steps)))
    assert lead(graph, queries, bodies) == plainly(graph, queries, bodies)


def test_every_body_of_a_graph_where_many_paths_come_back() -> None:
    """Paths of length 3 that end where they began are counted and taken off again: what is left may be nothing."""
    graph = random_graph(3, entities=4, relations=1, count=6)
    bodies = {0: [body for n in (1, 2, 3, 4) for body in product(range(2), repeat=n)]}
    queries = [(head, 0) for head in range(graph.n_entities)]
    found = lead(graph, queries, bodies, width=4)
    assert found == plainly(graph, queries, bodies)
    assert len(found) < len(queries) * len(bodies[0])


def test_a_path_there_and_back_leads_nowhere() -> None:
    graph = Dataset.from_names("pair", train=[("a", "r", "b")]).graph
    bodies: dict[int, list[Body]] = {0: [(0,), (0, 1), (0, 1, 0)]}
    assert lead(graph, [(0, 0), (1, 0)], bodies) == {(0, 0)}


def test_many_queries_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1, entities=12, relations=3, count=40)
    bodies = {r: [b for n in (1, 2, 3) for b in product(range(6), repeat=n)] for r in range(6)}
    queries = list(product(range(12), range(6)))
    whole = lead(graph, queries, bodies)
    assert len(whole) > 1024  # more than there was room for at first
    monkeypatch.setattr(links_module, "QUERIES_AT_ONCE", 5)
    assert lead(graph, queries, bodies) == whole


def test_no_query_and_no_body() -> None:
    graph = random_graph(0)
    assert lead(graph, [], {0: [(0,)]}) == set()
    assert lead(graph, [(0, 0), (1, 5)], {}) == set()
