"""Which facts may serve as examples, and traits counted without the others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Triples
from stablerule.errors import InputError
from stablerule.paths.traits import count_traits, list_traits, name_traits
from stablerule.paths.withheld import ExampleFacts
from tests.graph.parts import graph_of
from tests.paths.withholding import both_ways, some_facts, withheld_of
from tests.worlds import Fact, fact_lists, random_graph

Trait = tuple[int, int]  # relation, tail; -1 is anything


@given(fact_lists, st.integers(0, 10**6))
def test_a_link_is_withheld_where_its_fact_is_no_example(facts: list[Fact], seed: int) -> None:
    graph = Dataset.from_names("any", train=facts).graph
    some = some_facts(graph, seed)
    examples, withheld = ExampleFacts.of(graph, some), withheld_of(graph, some)
    assert both_ways(examples.facts.triples, graph) == both_ways(some, graph)
    if not withheld:
        assert len(examples.withheld) == 0
        return
    heads = np.repeat(np.arange(graph.n_entities), graph.degrees).tolist()
    links = zip(heads, graph.link_relations.tolist(), graph.link_tails.tolist(), strict=True)
    assert examples.withheld.tolist() == [link in withheld for link in links]


def test_all_facts_are_the_graph_itself() -> None:
    graph = random_graph(0)
    shuffled = graph.triples.take(np.random.default_rng(0).permutation(graph.n_facts))
    for examples in (None, shuffled, graph.triples):
        found = ExampleFacts.of(graph, examples)
        assert found.facts is graph
        assert found.withheld.shape == (0,)


def test_examples_that_can_not_serve() -> None:
    graph = graph_of([("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a")])
    with pytest.raises(InputError, match=r"'examples' is empty. Leave it out to learn from all facts"):
        ExampleFacts.of(graph, Triples.empty())
    rows = [*graph.triples.rows.tolist(), [2, 0, 0], [0, 1, 0], [2, 0, 0]]
    problem = r"must be facts of graph 'facts', but 2 of 5 are not in it, such as \('c', 'r', 'a'\). Take"
    with pytest.raises(InputError, match=problem):
        ExampleFacts.of(graph, Triples(np.array(rows)))
    for row, problem in (([0, 0, 9], r"A tail id must be in 0\.\.2"), ([1, 2, 0], r"A relation id must be in 0\.\.1")):
        with pytest.raises(InputError, match=problem):
            ExampleFacts.of(graph, Triples(np.array([row])))


@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from([0, Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), 1]),
    st.sampled_from([0.2, 0.6, 0.9]),
)
def test_traits_are_counted_without_those_whose_conclusion_is_withheld(
    seed: int, min_support: int, min_confidence: Fraction, share: float
) -> None:
    graph = random_graph(seed, entities=8, relations=2, count=30)
    some = some_facts(graph, seed, share)
    right, neither = both_ways(some, graph), withheld_of(graph, some)
    owners: dict[Trait, set[int]] = {}
    for head, relation, tail in both_ways(graph.triples, graph):
        owners.setdefault((relation, tail), set()).add(head)
        owners.setdefault((relation, -1), set()).add(head)
    expected = {}
    for head, constant in {(relation, tail) for _, relation, tail in right}:
        for trait, have in owners.items():
            asked = {x for x in have if (x, head, constant) not in neither}
            support = sum((x, head, constant) in right for x in asked)
            enough = support >= max(1, min_support) and support >= min_confidence * (len(asked) + 2)
            if enough and trait not in ((head, constant), (head, -1)):
                expected[head, trait, constant] = support, len(asked)
    traits = list_traits(graph)
    least = {"min_support": min_support, "min_confidence": float(min_confidence), "pessimism": 2}
    found = count_traits(graph, traits, examples=ExampleFacts.of(graph, some), **least)  # type: ignore[arg-type]
    names = zip(*(column.tolist() for column in name_traits(traits, graph, found.traits)), strict=True)
    keys = zip(found.heads.tolist(), names, found.constants.tolist(), strict=True)
    numbers = zip(found.support.tolist(), found.body_count.tolist(), strict=True)
    rows = list(zip(keys, numbers, strict=True))
    assert len(dict(rows)) == len(rows)
    assert dict(rows) == expected


@pytest.mark.parametrize("seed", range(3))
def test_withholding_nothing_changes_no_count(seed: int) -> None:
    graph = random_graph(seed, entities=20, relations=3, count=120)
    nothing = ExampleFacts(graph, np.zeros(2 * graph.n_facts, np.bool_))
    traits = list_traits(graph)
    plain, same = (
        count_traits(graph, traits, min_support=1, min_confidence=0.1, pessimism=5, examples=examples)
        for examples in (None, nothing)
    )
    for one, other in zip(plain, same, strict=True):
        np.testing.assert_array_equal(one, other)
