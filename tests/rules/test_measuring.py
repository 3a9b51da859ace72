"""Rule statistics against exhaustive enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from stablerule import Dataset, Graph
from stablerule.errors import OptionError
from stablerule.paths import support as support_kernel
from stablerule.rules.measuring import measure_rules
from stablerule.rules.scored import PESSIMISM
from tests.paths.plain import reached
from tests.worlds import random_graph


def plain_statistics(graph: Graph, body: tuple[int, ...], head: int) -> tuple[int, int, int]:
    """Support, body count and PCA body count by walking every path."""
    support = body_count = partial = 0
    for entity in range(graph.n_entities):
        linked = set(reached(graph, entity, body))
        true = set(graph.tails(entity, head).tolist())
        support += len(linked & true)
        body_count += len(linked)
        partial += len(linked) if true else 0
    return support, body_count, partial


def all_rules(graph: Graph, lengths: tuple[int, ...], most: int, seed: int = 0) -> list[tuple[tuple[int, ...], int]]:
    ids = range(2 * graph.n_relations)
    rules = [(b, h) for n in lengths for b in itertools.product(ids, repeat=n) for h in ids if b != (h,)]
    picked = np.random.default_rng(seed).permutation(len(rules))[:most]
    return [rules[i] for i in picked]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lengths", [(1, 2, 3), (4, 5)])
def test_every_number_agrees_with_enumeration(seed: int, lengths: tuple[int, ...]) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=26)
    rules = all_rules(graph, lengths, most=300 if lengths[0] == 1 else 60, seed=seed)
    bodies = np.array([(*b, *[-1] * (5 - len(b))) for b, _ in rules])
    found = measure_rules(graph, bodies, np.array([h for _, h in rules]), budget=None)
    facts = np.diff(graph.fact_offsets)
    expected = [plain_statistics(graph, b, h) for b, h in rules]
    assert found.support.tolist() == [e[0] for e in expected]
    assert found.body_count.tolist() == [e[1] for e in expected]
    assert found.confidence == pytest.approx([s / (n + PESSIMISM) for s, n, _ in expected])
    assert found.pca_confidence == pytest.approx([s / (n + PESSIMISM) for s, _, n in expected])
    coverage = [e[0] / facts[h % graph.n_relations] for e, (_, h) in zip(expected, rules, strict=True)]
    assert found.head_coverage == pytest.approx(coverage)
    assert not found.confidence_error.any()
    assert (found.heads_tried == 1).all()
    assert max(e[0] for e in expected) > 0


def test_going_there_and_back_is_no_evidence() -> None:
    """Without object identity r <- r, ~r, r would look perfect."""
    graph = Dataset.from_names("star", train=[(f"a{i}", "r", "hub") for i in range(20)]).graph
    found = measure_rules(graph, np.array([[0, 1, 0]]), np.array([0]))
    assert found.body_count.tolist() == [0]
    assert found.confidence.tolist() == [0]


def dense_graph() -> Graph:
    rng = np.random.default_rng(0)
    facts = [
        (f"e{h}", f"r{r}", f"e{t}")
        for h, r, t in zip(*(rng.integers(n, size=6000) for n in (600, 3, 600)), strict=True)
    ]
    return Dataset.from_names("dense", train=facts).graph


def test_a_sample_is_near_the_truth_within_its_stated_error() -> None:
    graph = dense_graph()
    rules = all_rules(graph, (2, 3), most=150)
    bodies = np.array([(*b, *[-1] * (3 - len(b))) for b, _ in rules])
    heads = np.array([h for _, h in rules])
    exact = measure_rules(graph, bodies, heads, budget=None)
    misses, total = 0, 0
    for seed in range(10):
        rough = measure_rules(graph, bodies, heads, budget=1, seed=seed)
        assert (rough.heads_tried < 1).all()
        assert (rough.confidence_error > 0).any()
        off = np.abs(rough.confidence - exact.confidence)
        misses += int((off > 2 * rough.confidence_error + 1e-12).sum())
        total += len(off)
    # Two standard errors should be passed about one time in twenty; errors of rare events are rough themselves.
    assert misses / total < 0.12
    assert np.mean(rough.body_count / exact.body_count) == pytest.approx(1, abs=0.05)


def test_same_seed_same_numbers_whatever_the_threads() -> None:
    graph = dense_graph()
    rules = all_rules(graph, (1, 2, 3), most=100)
    bodies = np.array([(*b, *[-1] * (3 - len(b))) for b, _ in rules])
    heads = np.array([h for _, h in rules])
    one, two = (measure_rules(graph, bodies, heads, budget=1e5, seed=1, threads=n) for n in (1, 3))
    assert one.confidence.tolist() == two.confidence.tolist()


def test_long_bodies_end_at_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = dense_graph()
    body, head = np.array([[0, 1, 2, 0]]), np.array([1])
    whole = measure_rules(graph, body, head, budget=1)
    monkeypatch.setattr(support_kernel, "LONG_CAP", 50)
    capped = measure_rules(graph, body, head, budget=1)
    assert 0 < capped.body_count[0] < whole.body_count[0]


def test_no_rules_and_rules_that_do_not_fit_together() -> None:
    graph = random_graph(0)
    assert len(measure_rules(graph, np.empty((0, 3), int), np.empty(0, int)).support) == 0
    with pytest.raises(OptionError, match="one head each"):
        measure_rules(graph, np.zeros((2, 3), int), np.zeros(1, int))


@pytest.mark.parametrize("seed", range(3))
def test_only_pairs_of_some_heads_count(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=26)
    rules = all_rules(graph, (1, 2, 3), most=120, seed=seed)
    bodies = np.array([(*b, *[-1] * (3 - len(b))) for b, _ in rules])
    heads = np.array([h for _, h in rules])
    some = np.array([1, 4, 7], np.int32)
    rest = np.setdiff1d(np.arange(graph.n_entities), some).astype(np.int32)
    parts = [measure_rules(graph, bodies, heads, among=among, budget=None) for among in (some, rest)]
    whole = measure_rules(graph, bodies, heads, budget=None)
    assert (parts[0].support + parts[1].support).tolist() == whole.support.tolist()
    assert (parts[0].body_count + parts[1].body_count).tolist() == whole.body_count.tolist()
    covered = [sum(int(head in some) for head in graph.facts(int(h))[0].tolist()) for h in heads]
    expected = parts[0].support / np.maximum(covered, 1)
    assert parts[0].head_coverage == pytest.approx(expected)
    nobody = measure_rules(graph, bodies, heads, among=np.empty(0, np.int32), budget=None)
    assert not nobody.support.any()
    assert not nobody.confidence.any()
