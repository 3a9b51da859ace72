"""The graph against plain sets of tuples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from stablerule import Dataset, Graph, Triples
from stablerule.errors import InputError
from stablerule.graph import triples
from tests.worlds import Fact, fact_lists, random_graph


def directed(facts: list[Fact]) -> set[Fact]:
    """Every fact and its inverse, by name."""
    return {*facts, *((t, f"~{r}", h) for h, r, t in facts)}


@given(fact_lists)
def test_adjacency_holds_exactly_the_facts_and_their_inverses(facts: list[Fact]) -> None:
    graph = Dataset.from_names("g", train=facts).graph
    words = graph.vocabulary
    expected = directed(facts)
    by_relation, by_tail = set(), set()
    for head in range(graph.n_entities):
        for relation in range(2 * graph.n_relations):
            for tail in graph.tails(head, relation).tolist():
                by_relation.add((words.entity_name(head), words.relation_name(relation), words.entity_name(tail)))
        for tail in range(graph.n_entities):
            for relation in graph.relations_between(head, tail).tolist():
                by_tail.add((words.entity_name(head), words.relation_name(relation), words.entity_name(tail)))
    assert by_relation == expected
    assert by_tail == expected
    assert graph.n_facts == len(set(facts))
    assert graph.degrees.sum() == 2 * graph.n_facts


@given(fact_lists)
def test_edges_are_sorted_and_facts_of_an_inverse_are_swapped(facts: list[Fact]) -> None:
    graph = Dataset.from_names("g", train=facts).graph
    for head in range(graph.n_entities):
        relations, tails = graph.edges(head)
        assert sorted(zip(relations.tolist(), tails.tolist(), strict=True)) == list(zip(relations, tails, strict=True))
    for relation in range(graph.n_relations):
        heads, tails = graph.facts(relation)
        back = graph.facts(graph.inverse(relation))
        assert np.array_equal(heads, back[1])
        assert np.array_equal(tails, back[0])
        assert graph.inverse(graph.inverse(relation)) == relation


@given(fact_lists, fact_lists)
def test_contains_agrees_with_a_set(known: list[Fact], asked: list[Fact]) -> None:
    dataset = Dataset.from_names("g", train=known, test=asked)
    expected = [fact in set(known) for fact in asked]
    assert dataset.graph.contains(dataset.test).tolist() == expected


@given(fact_lists, fact_lists)
def test_contains_knows_inverses(known: list[Fact], asked: list[Fact]) -> None:
    dataset = Dataset.from_names("g", train=known, test=asked)
    rows = dataset.test.rows[:, ::-1] + np.array([0, dataset.graph.n_relations, 0], np.int32)
    assert dataset.graph.contains(Triples(rows)).tolist() == [fact in set(known) for fact in asked]


@pytest.mark.parametrize("row", [[0, 0, 5], [0, 0, -1], [5, 0, 0], [0, 6, 0], [0, -1, 0]])
def test_contains_refuses_ids_that_do_not_exist(row: list[int]) -> None:
    graph = Dataset.from_names("g", train=[(f"e{i}", f"r{i % 3}", f"e{(i * 2) % 5}") for i in range(5)]).graph
    assert (graph.n_entities, graph.n_relations) == (5, 3)
    with pytest.raises(InputError, match="id must be in"):
        graph.contains(Triples(np.array([row])))


def test_methods_refuse_ids_that_do_not_exist() -> None:
    graph = Dataset.from_names("g", train=[("a", "r", "b"), ("b", "r", "a")]).graph
    words = graph.vocabulary
    asked: list[tuple[Callable[..., object], tuple[int, ...], str]] = [
        (graph.facts, (99,), r"A relation id must be in 0\.\.1 \(inverses included\), got 99"),
        (graph.facts, (-1,), "A relation id"),
        (graph.inverse, (2,), "A relation id"),
        (graph.edges, (-1,), r"An entity id must be in 0\.\.1, got -1"),
        (graph.tails, (-1, 0), "An entity id"),
        (graph.tails, (0, 2), "A relation id"),
        (graph.relations_between, (0, -1), "An entity id"),
        (graph.relations_between, (2, 0), "An entity id"),
        (words.relation_name, (-1,), "A relation id"),
        (words.entity_name, (-1,), "An entity id"),
        (words.entity_name, (2,), "An entity id"),
    ]
    for method, ids, problem in asked:
        with pytest.raises(InputError, match=problem):
            method(*ids)


def test_rows_that_do_not_fit_into_63_bits_give_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = random_graph(0)
    monkeypatch.setattr(triples.TriplePacking, "fits", property(lambda _: False))
    plain = random_graph(0)
    for name, array in packed.arrays.items():
        assert np.array_equal(array, plain.arrays[name]), name
    assert plain.contains(plain.triples).all()
    swapped = plain.triples.rows[:, ::-1] + np.array([0, plain.n_relations, 0], np.int32)
    assert plain.contains(Triples(swapped)).all()


def test_memory_stays_below_48_bytes_a_fact_and_24_an_entity() -> None:
    graph = random_graph(1, entities=500, relations=40, count=3000)
    assert graph.nbytes == sum(array.nbytes for array in graph.arrays.values())
    assert graph.nbytes <= 48 * graph.n_facts + 24 * graph.n_entities


def test_many_entities_and_relations_need_no_table_of_both() -> None:
    """Five million entities by 800 relations would be 16 GB as a table; the arrays here are a few megabytes."""
    entities, relations = 50_000, 800
    rng = np.random.default_rng(0)
    names = [(f"e{h}", f"r{i % relations}", f"e{t}") for i, (h, t) in enumerate(rng.integers(entities, size=(2000, 2)))]
    graph = Dataset.from_names("wide", train=names).graph
    assert max(array.size for array in graph.arrays.values()) <= max(2 * graph.n_facts, graph.n_entities + 1)


def test_arrays_are_read_only() -> None:
    graph = random_graph(2)
    for array in graph.arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        graph.triples.rows[0, 0] = 1


def test_an_entity_without_training_facts_has_degree_zero() -> None:
    dataset = Dataset.from_names("g", train=[("a", "r", "b")], test=[("c", "r", "a")])
    assert dataset.graph.degrees.tolist() == [1, 1, 0]
    assert dataset.graph.tails(2, 0).tolist() == []


def test_ids_beyond_the_vocabulary_are_refused() -> None:
    words = Dataset.from_names("g", train=[("a", "r", "b")]).vocabulary
    with pytest.raises(InputError, match=r"head id must be in 0\.\.1, got 7"):
        Graph.build(Triples(np.array([[7, 0, 1]])), words)
    with pytest.raises(InputError, match="relation id"):
        Graph.build(Triples(np.array([[0, -1, 1]])), words)
