"""Costs of bodies, against counting them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from stablerule import Dataset, Graph
from stablerule.paths.support import count_relation_heads, estimate_body_costs
from tests.paths.plain import edges
from tests.worlds import random_graph


def plain_cost(graph: Graph, body: tuple[int, ...]) -> int:
    """Edges of the last step and one for each entity it is taken from, whatever was passed before."""
    cost = 0
    for head in range(graph.n_entities):
        here = [head]
        for relation in body[:-1]:
            here = [tail for one in here for step, tail in edges(graph, one) if step == relation]
            here = sorted(set(here)) if len(body) == 3 and relation == body[1] else here
        if len(body) == 1:
            cost += sum(step == body[0] for step, _ in edges(graph, head))
        else:
            cost += sum(1 + sum(step == body[-1] for step, _ in edges(graph, one)) for one in here)
    return cost


def as_ids(bodies: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(sorted((*b, *[-1] * (5 - len(b))) for b in bodies), np.int32)


@pytest.mark.parametrize("seed", range(3))
def test_short_bodies_cost_what_they_cost_and_longer_ones_no_less(seed: int) -> None:
    graph = random_graph(seed, entities=12, relations=2, count=30)
    bodies = as_ids([b for n in (1, 2, 3, 4, 5) for b in itertools.product(range(4), repeat=n)][:500])
    costs = estimate_body_costs(graph, bodies)
    for row, cost in zip(bodies.tolist(), costs.tolist(), strict=True):
        body = tuple(step for step in row if step >= 0)
        if len(body) < 3:
            assert cost == plain_cost(graph, body)
        else:
            assert cost >= plain_cost(graph, body)
    assert len(estimate_body_costs(graph, np.empty((0, 3), np.int32))) == 0


def test_of_large_relations_some_facts_represent_all() -> None:
    graph = random_graph(0, entities=300, relations=2, count=4000)
    bodies = as_ids([b for n in (2, 3) for b in itertools.product(range(4), repeat=n)])
    whole = estimate_body_costs(graph, bodies)
    some = estimate_body_costs(graph, bodies, most_facts=400)
    assert some.tolist() != whole.tolist()
    assert ((some / whole > 0.5) & (some / whole < 2)).all()


def test_heads_of_a_relation_are_counted_once() -> None:
    graph = Dataset.from_names("pair", train=[("a", "r", "b"), ("a", "r", "c"), ("b", "s", "c")]).graph
    assert count_relation_heads(graph).tolist() == [1, 1, 2, 1]
