"""Bodies followed with shared beginnings, against plain enumeration and sparse products."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from stablerule import Dataset, Graph, Triples
from stablerule.paths.trail import Trail, follow_body, make_trail, reset_trail
from tests.paths.plain import reached
from tests.worlds import Fact, fact_lists, random_graph

Body = tuple[int, ...]
LONGEST = 5


def follow(graph: Graph, start: int, body: Body, trail: Trail, own: tuple[int, int] = (-1, -1)) -> Counter[int]:
    """Where a body leads, with path counts, from what stands in the trail."""
    padded = np.full(LONGEST, -1, np.int32)
    padded[: len(body)] = body
    n = follow_body(graph.stepped, graph.n_relations, start, *own, padded, len(body), trail)
    ends = (trail.first, trail.second, trail.last)[min(len(body), 3) - 1][:n].tolist()
    assert len(set(ends)) == len(ends)
    if len(body) == 1:
        return Counter(ends)
    counts = trail.second_counts if len(body) == 2 else trail.last_counts
    return +Counter({end: int(counts[end]) for end in ends})


def without(graph: Graph, head: int, relation: int, tail: int) -> Graph:
    """The graph without one fact, given in either direction."""
    if relation >= graph.n_relations:
        head, relation, tail = tail, relation - graph.n_relations, head
    rows = graph.triples.rows
    return Graph.build(Triples(rows[(rows != (head, relation, tail)).any(1)].copy()), graph.vocabulary)


def some_bodies(graph: Graph, rng: np.random.Generator, count: int) -> list[Body]:
    size = 2 * graph.n_relations
    return [tuple(rng.integers(size, size=rng.integers(1, LONGEST + 1)).tolist()) for _ in range(count)]


@pytest.mark.parametrize("seed", range(4))
def test_sorted_bodies_lead_where_plain_enumeration_does(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=24)
    rng = np.random.default_rng(seed)
    short = [body for n in (1, 2, 3) for body in product(range(4), repeat=n)]
    bodies, trail = sorted([*short, *some_bodies(graph, rng, 30)]), make_trail(graph.n_entities)
    for start in range(graph.n_entities):
        reset_trail(trail)
        for body in bodies:
            assert follow(graph, start, body, trail) == reached(graph, start, body)


@given(fact_lists, st.randoms(use_true_random=False))
def test_bodies_may_come_in_any_order(facts: list[Fact], random: object) -> None:
    graph = Dataset.from_names("any", train=facts).graph
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    trail = make_trail(graph.n_entities)
    for start in rng.integers(graph.n_entities, size=3).tolist():
        reset_trail(trail)
        for body in some_bodies(graph, rng, 25):
            assert follow(graph, start, body, trail) == reached(graph, start, body)


@given(st.integers(0, 10**6))
def test_a_fact_is_no_part_of_its_own_evidence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(seed, entities=8, relations=2, count=20)
    head, relation, tail = graph.triples.rows[rng.integers(graph.n_facts)].tolist()
    if rng.random() < 0.5:
        head, relation, tail = tail, relation + graph.n_relations, head
    poorer, trail = without(graph, head, relation, tail), make_trail(graph.n_entities)
    beginnings = [(relation, *body[1:]) for body in some_bodies(graph, rng, 10)]
    for body in sorted([*beginnings, *some_bodies(graph, rng, 10)]):
        assert follow(graph, head, body, trail, (relation, tail)) == reached(poorer, head, body)


def layered(seed: int, layers: int = 6, width: int = 12) -> Graph:
    """Facts lead from each layer to the next only, so that no path along them meets an entity twice."""
    rng = np.random.default_rng(seed)
    facts = [
        (f"e{layer}.{a}", f"r{rng.integers(2)}", f"e{layer + 1}.{b}")
        for layer in range(layers - 1)
        for a, b in rng.integers(width, size=(40, 2)).tolist()
    ]
    return Dataset.from_names("layers", train=facts).graph


@pytest.mark.parametrize("seed", range(3))
def test_path_counts_are_sparse_products_where_no_entity_can_repeat(seed: int) -> None:
    graph = layered(seed)
    size = (graph.n_entities, graph.n_entities)
    steps = [
        sparse.csr_array((np.ones(len(h), np.int64), (h, t)), shape=size)
        for h, t in (graph.facts(relation) for relation in range(graph.n_relations))
    ]
    bodies = sorted(body for n in range(1, LONGEST + 1) for body in product(range(2), repeat=n))
    trail = make_trail(graph.n_entities)
    products: dict[Body, sparse.csr_array] = {}
    for body in bodies:
        products[body] = products[body[:-1]] @ steps[body[-1]] if len(body) > 1 else steps[body[0]]
    for start in range(graph.n_entities):
        reset_trail(trail)
        for body in bodies:
            row = products[body].toarray()[start]
            assert follow(graph, start, body, trail) == +Counter(dict(enumerate(row.tolist())))


def test_nothing_is_left_behind() -> None:
    graph = random_graph(1, entities=9, relations=2, count=24)
    trail = make_trail(graph.n_entities)
    for start in range(graph.n_entities):
        for body in sorted(some_bodies(graph, np.random.default_rng(start), 20)):
            follow(graph, start, body, trail)
        reset_trail(trail)
        assert not trail.second_counts.any()
        assert not trail.last_counts.any()
        assert trail.state[:5].tolist() == [-1, -1, 0, 0, 0]
        assert trail.state[5] > 0  # edges looked at go on being counted


def test_a_beginning_is_walked_once() -> None:
    graph = random_graph(2, entities=9, relations=2, count=24)
    for start in range(graph.n_entities):
        trail = make_trail(graph.n_entities)
        follow(graph, start, (0, 1, 2), trail)
        seen = trail.state[5]
        for body in ((0,), (0, 1)):
            follow(graph, start, body, trail)
            assert trail.state[5] == seen
