"""Traits by number, and rules counted from them, against sets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Triples
from stablerule.paths.traits import Traits, count_traits, find_trait_numbers, list_traits, name_traits
from tests.worlds import Fact, fact_lists, random_graph

Trait = tuple[int, int]  # relation, tail; -1 is anything


def traits_of(graph: Graph, entity: int) -> set[Trait]:
    relations, tails = graph.edges(entity)
    named = set(zip(relations.tolist(), tails.tolist(), strict=True))
    return named | {(relation, -1) for relation, _ in named}


def owners_of(graph: Graph) -> dict[Trait, set[int]]:
    found: dict[Trait, set[int]] = {}
    for entity in range(graph.n_entities):
        for trait in traits_of(graph, entity):
            found.setdefault(trait, set()).add(entity)
    return found


def named(traits: Traits, graph: Graph, numbers: np.ndarray) -> list[Trait]:
    relations, tails = name_traits(traits, graph, numbers.astype(np.int32))
    return list(zip(relations.tolist(), tails.tolist(), strict=True))


@given(fact_lists)
def test_traits_have_numbers_names_and_owners(facts: list[Fact]) -> None:
    graph = Dataset.from_names("any", train=facts).graph
    traits, owners = list_traits(graph), owners_of(graph)
    everything = np.arange(len(traits.owner_offsets) - 1, dtype=np.int32)
    names = named(traits, graph, everything)
    assert len(set(names)) == len(names)
    assert set(names) == set(owners)
    relations, tails = (np.array(column, np.int32) for column in zip(*names, strict=True))
    assert find_trait_numbers(traits, graph, relations, tails).tolist() == everything.tolist()
    for number, name in enumerate(names):
        here = traits.owners[traits.owner_offsets[number] : traits.owner_offsets[number + 1]].tolist()
        assert here == sorted(owners[name])
    for entity in range(graph.n_entities):
        mine = traits.traits[traits.offsets[entity] : traits.offsets[entity + 1]].tolist()
        assert mine == sorted(mine)
        assert {names[number] for number in mine} == traits_of(graph, entity)


def test_a_trait_that_nobody_has_is_none() -> None:
    graph = Dataset.from_names("two", train=[("a", "r", "b"), ("b", "s", "c")]).graph
    words = graph.vocabulary
    asked = [("r", "b"), ("r", "a"), ("~r", "a"), ("~s", "c"), ("~s", "b")]
    relations, tails = np.array([(words.relation_id(r), words.entity_id(e)) for r, e in asked], np.int32).T
    numbers = find_trait_numbers(list_traits(graph), graph, relations, tails)
    assert (numbers >= 0).tolist() == [True, False, True, False, True]


def test_a_graph_without_facts_has_no_named_traits() -> None:
    graph = Graph.build(Triples.empty(), random_graph(0).vocabulary)
    traits = list_traits(graph)
    assert len(traits.keys) == 0
    assert len(traits.owners) == 0
    assert len(count_traits(graph, traits, min_support=1, min_confidence=0, pessimism=5).heads) == 0


Found = tuple[int, Trait, int]


def plainly_counted(graph: Graph, min_support: int, min_confidence: Fraction, pessimism: int) -> dict[Found, Trait]:
    """For each rule r(X, c) <- trait of X that holds often enough: support and body count."""
    owners, found = owners_of(graph), {}
    for (head, constant), both in owners.items():
        for trait, have in owners.items():
            support = len(both & have)
            if constant < 0 or trait in ((head, constant), (head, -1)) or support < max(1, min_support):
                continue
            if support >= min_confidence * (len(have) + pessimism):
                found[head, trait, constant] = (support, len(have))
    return found


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0, Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)]))
def test_rules_are_counted_as_sets_count_them(seed: int, min_support: int, min_confidence: Fraction) -> None:
    graph = random_graph(seed, entities=8, relations=2, count=30)
    traits = list_traits(graph)
    least = float(min_confidence)
    columns = count_traits(graph, traits, min_support=min_support, min_confidence=least, pessimism=5)
    keys = zip(columns.heads.tolist(), named(traits, graph, columns.traits), columns.constants.tolist(), strict=True)
    numbers = zip(columns.support.tolist(), columns.body_count.tolist(), strict=True)
    found = list(zip(keys, numbers, strict=True))
    assert len(dict(found)) == len(found)
    assert dict(found) == plainly_counted(graph, min_support, min_confidence, 5)


def test_more_rules_than_there_is_room_for_at_first() -> None:
    graph = random_graph(0, entities=40, relations=1, count=700)
    found = count_traits(graph, list_traits(graph), min_support=1, min_confidence=0, pessimism=5)
    assert np.bincount(found.heads).max() > 2048
    assert len(found.heads) == len(plainly_counted(graph, 1, Fraction(0), 5))


@pytest.mark.parametrize("seed", range(3))
def test_a_conclusion_is_never_its_own_reason(seed: int) -> None:
    graph = random_graph(seed, entities=6, relations=2, count=30)
    traits = list_traits(graph)
    found = count_traits(graph, traits, min_support=1, min_confidence=0, pessimism=0)
    for head, trait, constant in zip(found.heads, named(traits, graph, found.traits), found.constants, strict=True):
        assert trait not in ((head, constant), (head, -1))
