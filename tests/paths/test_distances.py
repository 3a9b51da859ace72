"""Distances against a plain breadth-first search."""

from __future__ import annotations

import numpy as np
import pytest

from stablerule import Graph, Triples
from stablerule.errors import OptionError
from stablerule.paths import count_pairs_within, measure_pair_distances
from tests.worlds import random_graph


def plain_distance(graph: Graph, head: int, tail: int) -> int:
    if head == tail:
        return 4
    ball = {head}
    for steps in (1, 2, 3):
        ball = {int(t) for e in ball for t in graph.edges(e)[1]}
        if tail in ball:
            return steps
    return 4


@pytest.mark.parametrize("seed", range(5))
def test_distances_agree_with_a_plain_search(seed: int) -> None:
    graph = random_graph(seed, entities=25, relations=3, count=24)
    heads, tails = (a.ravel().astype(np.int32) for a in np.meshgrid(*[np.arange(graph.n_entities)] * 2))
    expected = [plain_distance(graph, h, t) for h, t in zip(heads.tolist(), tails.tolist(), strict=True)]
    assert set(expected) == {1, 2, 3, 4}
    assert measure_pair_distances(graph, heads, tails).tolist() == expected


def test_progress_counts_every_pair() -> None:
    graph = random_graph(0, entities=40, relations=3, count=60)
    triples = Triples(np.array([[h, 0, t] for h in range(30) for t in range(30)]))
    done: list[int] = []
    within = count_pairs_within(graph, triples, progress=done.append)
    assert sum(done) == len(triples)
    assert len(done) > 1
    assert within == count_pairs_within(graph, triples)


def test_no_pairs_and_unequal_lengths() -> None:
    graph = random_graph(0)
    none = np.empty(0, np.int32)
    assert measure_pair_distances(graph, none, none).tolist() == []
    with pytest.raises(OptionError, match="same length"):
        measure_pair_distances(graph, none, np.zeros(1, np.int32))
