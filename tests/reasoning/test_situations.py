"""Who is of the kind of a relation's heads, by counts that a test checks; and what is known of a candidate's ends."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Graph, Triples, load
from stablerule.graph.behaviour import MISSED, PESSIMISM
from stablerule.reasoning.situations import HAVING, LACKING, NOWHERE, OTHER, Situations
from tests.worlds import random_graph


@given(st.integers(0, 10**6))
def test_kinds_are_those_of_a_plain_count(seed: int) -> None:
    graph = random_graph(seed)
    size = 2 * graph.n_relations
    has = [{int(r) for r in graph.edges(e)[0]} for e in range(graph.n_entities)]
    owners = Counter(r for own in has for r in own)
    kinds = Situations(graph)
    for relation in range(size):

        def look(entity: int, relation: int = relation) -> float:
            others = [r for r in has[entity] if r != relation]
            both = {r: sum(relation in has[e] and r in has[e] for e in range(len(has)) if e != entity) for r in others}
            return sum(both[r] / (owners[r] + PESSIMISM) for r in others) / max(len(others), 1)

        looks = [look(entity) for entity in range(graph.n_entities)]
        heads = sorted(looks[e] for e in range(graph.n_entities) if relation in has[e])
        for entity, state in enumerate(kinds.states(relation).tolist()):
            alike = bool(heads) and looks[entity] >= heads[int(MISSED * len(heads))] - 1e-9 and looks[entity] > 0
            assert state == (HAVING if relation in has[entity] else LACKING if alike else OTHER)


def test_nine_of_ten_heads_that_lost_their_value_are_found_again() -> None:
    """And nothing that is no city is asked which country it is in."""
    dataset = load("geography")
    relation = dataset.vocabulary.relation_id("city_in")
    hidden = (dataset.train.relations == relation) & (np.random.default_rng(0).random(len(dataset.train)) < 0.1)
    graph = Graph.build(dataset.train.take(~hidden), dataset.vocabulary)
    states, cities = (
        Situations(graph).states(relation),
        np.unique(dataset.everything.heads[dataset.everything.relations == relation]),
    )
    lost = dataset.train.take(hidden).heads
    assert (states[lost] == LACKING).mean() > 0.85
    assert set(np.flatnonzero(states > OTHER)) <= set(cities)


@given(st.integers(0, 10**6))
def test_a_hidden_fact_is_in_the_situation_that_it_has_without_it(seed: int) -> None:
    """But for the likeness, which is that of the graph with the fact."""
    graph = random_graph(seed)
    for row in graph.triples.rows[:5]:
        head, relation, tail = row.tolist()
        hidden = Triples(row[None].copy())
        rest = Graph.build(graph.triples.take(~hidden_rows(graph, row)), graph.vocabulary)
        (found,) = Situations(graph).of_hidden(relation, hidden.heads, hidden.tails).tolist()
        has_others = len(rest.tails(head, relation)) > 0, len(rest.tails(tail, graph.inverse(relation))) > 0
        alike = graph.kinds.alike(relation)[head], graph.kinds.alike(graph.inverse(relation))[tail]
        known = all(some or like for some, like in zip(has_others, alike, strict=True))
        assert found == (2 * has_others[0] + has_others[1] if known else NOWHERE)


def hidden_rows(graph: Graph, row: object) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray((graph.triples.rows == row).all(1))
