"""Rule statistics against exhaustive enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph
from stablerule.errors import OptionError
from stablerule.paths import support as support_kernel
from stablerule.paths.withheld import ExampleFacts
from stablerule.rules.measuring import Statistics, Survey, measure_rules
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


def plain_base_rate(graph: Graph, body: tuple[int, ...], head: int) -> float:
    """How often the conclusion of a linked pair holds with another X or another Y, whichever is more often."""
    inverse = graph.inverse(head)
    owners = {r: sum(len(graph.tails(x, r)) > 0 for x in range(graph.n_entities)) for r in (head, inverse)}
    rates = [
        max(len(graph.tails(y, inverse)) / owners[head], len(graph.tails(x, head)) / owners[inverse])
        for x in range(graph.n_entities)
        for y in reached(graph, x, body)
        if owners[head]
    ]
    return sum(rates) / max(len(rates), 1)


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
    assert found.base_rate == pytest.approx([plain_base_rate(graph, b, h) for b, h in rules])
    assert found.confidence_low.tolist() == found.confidence_high.tolist() == found.confidence.tolist()
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


def measure_all(graph: Graph, rules: list[tuple[tuple[int, ...], int]], **how: Any) -> Statistics:
    bodies = np.array([(*b, *[-1] * (5 - len(b))) for b, _ in rules])
    return measure_rules(graph, bodies, np.array([h for _, h in rules]), **how)


def clustered_graph(seed: int) -> Graph:
    """Relations that follow from others for some heads and not for others, so that pairs of one head agree."""
    rng = np.random.default_rng(seed)
    facts = set()
    for head in range(400):
        for relation in range(3):
            tails = rng.choice(400, size=min(int(rng.pareto(1.5)) + 1, 30), replace=False).tolist()
            facts |= {(f"e{head}", f"r{relation}", f"e{tail}") for tail in tails}
            if rng.random() < (0.9, 0.5, 0.1)[relation]:
                facts |= {(f"e{head}", f"r{relation + 3}", f"e{tail}") for tail in tails if rng.random() < 0.9}
    return Dataset.from_names("clustered", train=sorted(facts)).graph


def test_intervals_hold_the_exact_confidence_as_often_as_they_say() -> None:
    inside, widths = [], []
    for seed in range(6):
        graph = clustered_graph(seed)
        rules = all_rules(graph, (1, 2), most=250, seed=seed)
        exact, rough = measure_all(graph, rules, budget=None), measure_all(graph, rules, budget=1, seed=seed)
        sampled = rough.heads_tried < 1
        assert sampled.mean() > 0.5
        inside.append((rough.confidence_low <= exact.confidence) & (exact.confidence <= rough.confidence_high))
        inside[-1] = inside[-1][sampled]
        widths.append((rough.confidence_high - rough.confidence_low)[sampled])
        assert (rough.confidence_low <= rough.confidence).all()
        assert (rough.confidence <= rough.confidence_high).all()
        assert (widths[-1] > 0).all()
    # Pairs of one head count as one observation, which is on the safe side.
    assert np.concatenate(inside).mean() >= 0.95
    assert np.concatenate(widths).mean() < 0.3


def test_counts_are_scaled_up_and_confidences_are_not() -> None:
    graph = dense_graph()
    rules = all_rules(graph, (2, 3), most=150)
    exact = measure_all(graph, rules, budget=None)
    rough = [measure_all(graph, rules, budget=1, seed=seed) for seed in range(10)]
    assert all((found.heads_tried < 1).all() for found in rough)
    assert np.mean([found.body_count / exact.body_count for found in rough]) == pytest.approx(1, abs=0.05)
    seen = rough[0].body_count * rough[0].heads_tried
    expected = rough[0].support * rough[0].heads_tried / (seen + PESSIMISM)
    assert rough[0].confidence == pytest.approx(expected)  # the 5 beside what was seen, not beside what was scaled up


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(0.02, 0.9))
def test_what_is_called_exact_is_exact_whatever_the_budget(seed: int, share: float) -> None:
    graph = random_graph(seed, entities=150, relations=3, count=700)
    rules = all_rules(graph, (1, 2, 3), most=200, seed=seed)
    exact = measure_all(graph, rules, budget=None)
    whole = Survey.of(
        graph,
        np.array([(*b, *[-1] * (3 - len(b))) for b, _ in rules], np.int32),
        np.array([h for _, h in rules], np.int32),
        ExampleFacts.all_of(graph),
        None,
        0,
    ).costs.sum()
    found = measure_all(graph, rules, budget=whole * share, seed=seed)
    counted = found.heads_tried == 1
    for name in Statistics.__dataclass_fields__:
        if name != "base_rate":  # which is estimated from some pairs anyway
            assert getattr(found, name)[counted].tolist() == getattr(exact, name)[counted].tolist(), name
    assert (found.confidence_low[~counted] < found.confidence_high[~counted]).all()


def test_the_best_of_a_sample_are_counted_again() -> None:
    """Who wins in a sample was lucky too, so that the best would all be too high."""
    graph = clustered_graph(1)
    rules = all_rules(graph, (1, 2, 3), most=1500)
    exact = measure_all(graph, rules, budget=None)
    for seed in range(3):
        found = measure_all(graph, rules, budget=2e6, seed=seed)
        assert (found.heads_tried < 1).any()
        best = np.argsort(-found.confidence, kind="stable")[:20]
        assert found.confidence[best].tolist() == exact.confidence[best].tolist()
        assert sorted(exact.confidence[best]) == sorted(exact.confidence)[-20:]  # none that is better was missed


def test_a_body_and_its_inverse_are_counted_from_the_end_that_costs_less() -> None:
    facts = [(f"a{i}", "r", f"b{i % 3}") for i in range(60)] + [(f"b{i}", "s", "c") for i in range(3)]
    graph = Dataset.from_names("funnel", train=facts).graph
    bodies, heads = np.array([[0, 1], [3, 2]], np.int32), np.array([0, 2], np.int32)  # r, s from 60; ~s, ~r from 1
    survey = Survey.of(graph, bodies, heads, ExampleFacts.all_of(graph), None, 0)
    assert survey.bodies.tolist() == [[3, 2]]
    assert survey.turned.tolist() == [True, False]
    found = measure_rules(graph, bodies, heads)
    assert found.body_count.tolist() == [60, 60]


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
    counted = measure_rules(graph, body, head, budget=None)  # what was not followed to its end is not exact
    assert counted.heads_tried[0] < 1
    assert counted.confidence_low[0] < counted.confidence_high[0]
    two, heads = np.array([[0, 1, 2, 0], [1, 2, 0, 1]], np.int32), np.array([1, 1], np.int32)
    needed = Survey.of(graph, two, heads, ExampleFacts.all_of(graph), None, 0).costs
    tried = measure_rules(graph, two, heads, budget=needed[0] * 1.5).heads_tried  # it ends, though nothing is exact
    assert ((tried > 0) & (tried < 1)).all()


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
