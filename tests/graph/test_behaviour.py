"""Which relations are one-valued or symmetric, by counts that a test checks."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, load
from stablerule.graph.behaviour import ONE_VALUED, bound_behaviour_share, find_behaviour
from tests.worlds import random_graph


def people(count: int, twice: int = 0) -> Graph:
    """So many people with one birthplace, and some of them with a second one."""
    facts = [(f"p{i}", "born_in", f"c{i % 7}") for i in range(count)]
    return Dataset.from_names("people", train=facts + [(f"p{i}", "born_in", "elsewhere") for i in range(twice)]).graph


@pytest.mark.parametrize(
    ("count", "twice", "expected"), [(72, 0, False), (73, 0, True), (1000, 30, True), (1000, 60, False)]
)
def test_one_valued_is_a_matter_of_how_many_agree(count: int, twice: int, expected: bool) -> None:
    found = find_behaviour(people(count, twice))
    assert found.one_valued.tolist() == [expected, False]
    assert found.one_to_one.tolist() == [False]


def test_the_bound_is_wilsons() -> None:
    # Newcombe (1998), table I: 81 of 263 has the 95% interval .2553 to .3662.
    assert bound_behaviour_share(np.array([81]), np.array([263]))[0] == pytest.approx(0.2553, abs=5e-5)


def test_relations_of_the_embedded_graph() -> None:
    graph = load("geography").graph
    found, name = find_behaviour(graph), graph.vocabulary.relation_name
    one_valued = {name(r) for r in np.flatnonzero(found.one_valued).tolist()}
    assert one_valued >= {"capital_of", "~capital_of", "city_in", "in_continent", "in_time_zone", "uses_currency"}
    assert not one_valued & {"speaks", "neighbour_of", "~neighbour_of", "~city_in"}
    assert [name(r) for r in np.flatnonzero(found.one_to_one).tolist()] == ["capital_of"]
    assert [name(r) for r in np.flatnonzero(found.symmetric).tolist()] == ["neighbour_of"]


@given(st.integers(0, 10**6))
def test_shares_are_those_of_a_plain_count(seed: int) -> None:
    graph = random_graph(seed)
    found = find_behaviour(graph)
    tails: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    facts = {tuple(row) for row in graph.triples.rows.tolist()}
    for head, relation, tail in facts:
        tails[relation, head].add(tail)
        tails[relation + graph.n_relations, tail].add(head)
    for relation in range(2 * graph.n_relations):
        counts = [len(some) for (r, _), some in tails.items() if r == relation]
        bound = bound_behaviour_share(np.array([counts.count(1)]), np.array([len(counts)]))[0]
        assert found.one_valued[relation] == (bound >= ONE_VALUED)
    for relation in range(graph.n_relations):
        own = [(h, t) for h, r, t in facts if r == relation and h != t]
        both = sum((t, relation, h) in facts for h, t in own)
        assert found.symmetric[relation] == (bound_behaviour_share(np.array([both]), np.array([len(own)]))[0] >= 0.5)
