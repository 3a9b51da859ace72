"""Paths between pairs, by body, against plain enumeration."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph
from stablerule.errors import OptionError
from stablerule.graph import Names, Triples, Vocabulary
from stablerule.paths import links as links_module
from stablerule.paths.links import Links, count_links
from stablerule.paths.walks import unpack_body_keys
from tests.paths.plain import edges
from tests.worlds import Fact, fact_lists, random_graph

Asked = tuple[int, int, int]  # head, tail, relation
Body = tuple[int, ...]


def plain_links(graph: Graph, asked: Asked, max_length: int) -> Counter[Body]:
    """All paths of distinct entities, one after the other."""
    head, tail, relation = asked
    found: Counter[Body] = Counter()
    if head == tail:
        return found
    paths: list[tuple[tuple[int, ...], Body]] = [((head,), ())]
    for _ in range(max_length):
        paths = [
            ((*path, there), (*body, step))
            for path, body in paths
            if path[-1] != tail
            for step, there in edges(graph, path[-1])
            if there not in path
        ]
        found.update(body for path, body in paths if path[-1] == tail and body != (relation,))
    return found


def ask(graph: Graph, asked: list[Asked], *, max_length: int = 3, threads: int | None = None) -> Links:
    heads, tails, relations = np.array(asked, np.int32).reshape(-1, 3).T.copy()
    return count_links(graph, heads, tails, relations, max_length=max_length, threads=threads)


def by_row(found: Links, graph: Graph, rows: int, max_length: int = 3) -> list[Counter[Body]]:
    counted: list[Counter[Body]] = [Counter() for _ in range(rows)]
    bodies = unpack_body_keys(found.keys, graph.n_relations, max_length)
    for row, body, paths in zip(found.rows.tolist(), bodies.tolist(), found.paths.tolist(), strict=True):
        steps = tuple(step for step in body if step >= 0)
        assert steps not in counted[row]
        counted[row][steps] = paths
    return counted


def check_all_pairs(graph: Graph, max_length: int = 3) -> None:
    """Every pair, with every relation and inverse in turn as the one that is asked about."""
    pairs = product(range(graph.n_entities), repeat=2)
    asked = [(head, tail, i % (2 * graph.n_relations)) for i, (head, tail) in enumerate(pairs)]
    found = by_row(ask(graph, asked, max_length=max_length), graph, len(asked), max_length)
    assert found == [plain_links(graph, one, max_length) for one in asked]


@given(fact_lists, st.integers(1, 3))
def test_small_graphs_with_loops_and_several_links_between_two(facts: list[Fact], max_length: int) -> None:
    check_all_pairs(Dataset.from_names("any", train=facts).graph, max_length)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4), st.integers(1, 60))
def test_random_graphs(seed: int, entities: int, relations: int, count: int) -> None:
    check_all_pairs(random_graph(seed, entities, relations, count))


@given(st.integers(0, 10**6))
def test_the_fact_that_is_asked_about_is_no_path_in_either_direction(seed: int) -> None:
    graph = random_graph(seed, entities=6, relations=2, count=20)
    facts = graph.triples
    rows = [(h, t, r) for h, r, t in facts.rows.tolist()]
    inverse = [(t, h, r + graph.n_relations) for h, t, r in rows]
    forth, back = (by_row(ask(graph, asked), graph, len(rows)) for asked in (rows, inverse))
    for (_, _, relation), one, other in zip(rows, forth, back, strict=True):
        assert (relation,) not in one
        assert (relation + graph.n_relations,) not in other
        turned = {tuple(graph.inverse(step) for step in reversed(body)): n for body, n in one.items()}
        assert turned == dict(other)


def crowded(relations: int, entities: int = 4) -> Graph:
    """Every relation between every two entities."""
    names = [f"e{i}" for i in range(entities)]
    facts = [(a, f"r{r}", b) for a, b in product(names, names) for r in range(relations)]
    return Dataset.from_names("crowded", train=facts).graph


def test_the_table_grows_for_many_bodies_and_shrinks_again() -> None:
    graph = crowded(relations=5)  # ten steps between any two: 9 + 2 * 100 + 2 * 1000 paths
    asked = [(0, 1, 0), (0, 1, 7), (2, 2, 0), (1, 3, 4)]
    found = by_row(ask(graph, asked), graph, len(asked))
    assert found == [plain_links(graph, one, 3) for one in asked]
    assert len(found[0]) == 9 + 100 + 1000
    assert set(found[0].values()) == {1, 2}
    assert found[2] == Counter()


def test_a_hub_before_a_pair_with_one_path() -> None:
    """After a table that has grown large, the next pair begins with a small one, and nothing is left in it."""
    hub = [(a, f"r{r}", b) for a, b in product("abcd", repeat=2) for r in range(12)]
    graph = Dataset.from_names("hub", train=[*hub, ("x", "r0", "y"), ("y", "r1", "z")]).graph
    ids = {name: graph.vocabulary.entity_id(name) for name in "abxz"}
    r0, r1 = (graph.vocabulary.relation_id(name) for name in ("r0", "r1"))
    asked = [(ids["a"], ids["b"], 0), (ids["x"], ids["z"], 0), (ids["a"], ids["x"], 0), (ids["b"], ids["a"], 1)]
    found = by_row(ask(graph, asked), graph, len(asked))
    assert found[1] == Counter({(r0, r1): 1})
    assert found[2] == Counter()
    assert len(found[0]) == 23 + 24**2 + 24**3
    assert sum(found[3].values()) == 23 + 2 * 24**2 + 2 * 24**3


@pytest.mark.parametrize("threads", [1, 3])
def test_the_result_is_sorted_whatever_the_chunks_and_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(4, entities=10, relations=3, count=60)
    asked = [(h, t, 0) for h, t in product(range(10), repeat=2)]
    whole = ask(graph, asked, threads=1)
    monkeypatch.setattr(links_module, "PAIRS_AT_ONCE", 7)
    seen: list[int] = []
    heads, tails, relations = np.array(asked, np.int32).T.copy()
    parts = count_links(graph, heads, tails, relations, threads=threads, progress=seen.append)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert sum(seen) == len(asked)
    order = np.lexsort((whole.keys, whole.rows))
    np.testing.assert_array_equal(order, np.arange(len(order)))


def test_nothing_asked_and_nothing_known() -> None:
    graph = random_graph(0)
    assert [len(column) for column in ask(graph, [])] == [0, 0, 0]
    words = Vocabulary(Names(["a", "b"]), Names(["r"]))
    empty = Graph.build(Triples.empty(), words)
    assert len(ask(empty, [(0, 1, 0), (1, 0, 1)]).rows) == 0


def test_lengths_and_relations_that_do_not_fit_are_refused() -> None:
    graph = random_graph(0)
    for length in (0, 4):
        with pytest.raises(OptionError, match="'max_length' of path counts must be in 1..3"):
            ask(graph, [(0, 1, 0)], max_length=length)
    many = Vocabulary(Names(["a", "b"]), Names([f"r{i:07}" for i in range(1_400_000)]))
    wide = Graph.build(Triples(np.array([[0, 1_399_999, 1]])), many)
    with pytest.raises(OptionError, match="1,400,000 relations are too many for paths of length 3"):
        ask(wide, [(0, 1, 0)])
    assert ask(wide, [(0, 1, 0)], max_length=2).keys.tolist() == [1_400_000]
