"""Where a relation leads, found by bitmaps, against the sorted edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Graph, Triples
from stablerule.paths.reach import count_bits, find_relation_edges
from tests.graph.parts import graph_of
from tests.worlds import Fact, fact_lists, random_graph

WORD = np.iinfo(np.uint64).max


def sized(entities: int, relations: int, count: int) -> Graph:
    """Random facts among so many entities, the last of them among them, and the two at each border of a word."""
    rng = np.random.default_rng(entities)
    words = graph_of([(f"e{i}", f"r{i % relations}", f"e{i}") for i in range(entities)]).vocabulary
    rows = np.stack([rng.integers(n, size=count) for n in (entities, relations, entities)], 1).astype(np.int32)
    borders = [e for e in (0, 62, 63, 64, 65, 127, 128, entities - 1) if e < entities]
    rows[: len(borders), 0] = borders
    return Graph.build(Triples(rows), words)


def check(graph: Graph) -> None:
    found = 0
    for entity in range(graph.n_entities):
        for relation in range(2 * graph.n_relations):
            low, high = find_relation_edges(graph.stepped, entity, relation)
            assert graph.steps.step_tails[low:high].tolist() == graph.tails(entity, relation).tolist()
            found += high - low
    assert found == 2 * graph.n_facts == len(graph.steps.step_tails)


@pytest.mark.parametrize("entities", [1, 2, 63, 64, 65, 127, 128, 129, 130])
@pytest.mark.parametrize("count", [8, 300])
def test_steps_are_the_edges_at_every_border(entities: int, count: int) -> None:
    check(sized(entities, 1 if entities == 1 else 2, count))


@given(fact_lists)
def test_steps_are_the_edges(facts: list[Fact]) -> None:
    check(graph_of(facts))


def test_every_entity_has_every_step() -> None:
    names = [(f"e{i}", "r", f"e{(i + 1) % 130}") for i in range(130)]
    graph = graph_of(names)
    assert [bin(word).count("1") for word in graph.steps.step_words.ravel().tolist()] == [64, 64, 2] * 2
    check(graph)


def test_a_graph_without_facts_leads_nowhere() -> None:
    check(Graph.build(Triples.empty(), random_graph(0).vocabulary))


def test_steps_are_read_only() -> None:
    for array in random_graph(0).steps:
        assert not array.flags.writeable


@given(st.integers(0, int(WORD)))
def test_bits_are_counted(word: int) -> None:
    assert count_bits(np.uint64(word)) == bin(word).count("1")  # type: ignore[arg-type]


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 2**32 - 1, 2**63 - 1, 0x5555555555555555])
def test_bits_of_words_at_the_border_are_counted(word: int) -> None:
    assert count_bits(np.uint64(word)) == bin(word).count("1")  # type: ignore[arg-type]
