"""Rule statistics where only some facts are examples, against exhaustive enumeration."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Graph, Triples
from stablerule.paths.withheld import ExampleFacts
from stablerule.rules.measuring import Statistics, measure_rules
from stablerule.rules.scored import PESSIMISM
from tests.paths.plain import reached
from tests.paths.withholding import both_ways, some_facts, withheld_of
from tests.worlds import random_graph

Body = tuple[int, ...]
Rules = list[tuple[Body, int]]


class ByHead(NamedTuple):
    """What one head gives a rule: pairs that count, right ones, and pairs if it has an example of the relation."""

    pairs: int
    support: int
    partial: int


def plain_counts(graph: Graph, examples: Triples, body: Body, relation: int, heads: list[int]) -> list[ByHead]:
    right, neither = both_ways(examples, graph), withheld_of(graph, examples)
    found = []
    for head in heads:
        pairs = {tail for tail in reached(graph, head, body) if (head, relation, tail) not in neither}
        support = sum((head, relation, tail) in right for tail in pairs)
        has_example = any((head, relation, tail) in right for tail in range(graph.n_entities))
        found.append(ByHead(len(pairs), support, len(pairs) if has_example else 0))
    return found


def some_rules(graph: Graph, lengths: tuple[int, ...], most: int, seed: int) -> Rules:
    ids = range(2 * graph.n_relations)
    rules = [(b, h) for n in lengths for b in itertools.product(ids, repeat=n) for h in ids if b != (h,)]
    return [rules[i] for i in np.random.default_rng(seed).permutation(len(rules))[:most]]


def measured(
    graph: Graph, rules: Rules, examples: ExampleFacts | None, budget: float | None, seed: int = 0
) -> Statistics:
    bodies = np.array([(*b, *[-1] * (5 - len(b))) for b, _ in rules])
    return measure_rules(graph, bodies, np.array([h for _, h in rules]), examples=examples, budget=budget, seed=seed)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([(1, 2, 3), (4, 5)]), st.sampled_from([0.2, 0.6, 0.9]))
def test_every_number_agrees_with_enumeration(seed: int, lengths: tuple[int, ...], share: float) -> None:
    graph = random_graph(seed, entities=8, relations=2, count=24)
    some = some_facts(graph, seed, share)
    # Many rules with one body, so that what is withheld from one is not from another.
    rules = some_rules(graph, lengths, most=120 if lengths[0] == 1 else 20, seed=seed)
    found = measured(graph, rules, ExampleFacts.of(graph, some), budget=None)
    facts = np.bincount(some.distinct().relations, minlength=graph.n_relations)
    for i, (body, head) in enumerate(rules):
        counts = plain_counts(graph, some, body, head, list(range(graph.n_entities)))
        pairs, support, partial = (sum(column) for column in zip(*counts, strict=True))
        assert (found.support[i], found.body_count[i]) == (support, pairs)
        assert found.confidence[i] == pytest.approx(support / (pairs + PESSIMISM))
        assert found.pca_confidence[i] == pytest.approx(support / (partial + PESSIMISM))
        assert found.head_coverage[i] == pytest.approx(support / max(facts[head % graph.n_relations], 1))
        assert found.confidence_low[i] == found.confidence_high[i] == found.confidence[i]


def test_a_sample_of_pairs_that_count_is_bounded_as_others_are() -> None:
    inside = []
    for seed in range(4):
        graph = random_graph(seed, entities=200, relations=2, count=1500)
        some = ExampleFacts.of(graph, some_facts(graph, seed, 0.5))
        # Bodies of one step are true pairs themselves, so that much of them is withheld.
        rules: Rules = [((step,), head) for step in range(4) for head in range(4) if step != head]
        rules += some_rules(graph, (2, 3), most=60, seed=seed)
        exact, found = measured(graph, rules, some, None), measured(graph, rules, some, budget=1, seed=seed)
        assert (found.heads_tried < 1).all()
        inside += ((found.confidence_low <= exact.confidence) & (exact.confidence <= found.confidence_high)).tolist()
        assert found.body_count.sum() == pytest.approx(exact.body_count.sum(), rel=0.1)
    assert np.mean(inside) >= 0.95


def test_what_is_withheld_from_one_rule_counts_for_another() -> None:
    """Two rules of one body: one leaves pairs out because its relation is withheld, and the other counts them."""
    graph = random_graph(3, entities=10, relations=3, count=60)
    facts = graph.triples
    some = facts.take(facts.relations != 0)
    rules: Rules = [((2,), 0), ((2,), 1)]
    whole, fewer = measured(graph, rules, None, None), measured(graph, rules, ExampleFacts.of(graph, some), None)
    assert whole.support[0] > 0
    assert fewer.support.tolist() == [0, whole.support[1]]
    assert fewer.body_count.tolist() == [whole.body_count[0] - whole.support[0], whole.body_count[1]]
    assert fewer.head_coverage.tolist() == [0, whole.head_coverage[1]]


@pytest.mark.parametrize("budget", [None, 1.0])
def test_withholding_nothing_changes_no_number(budget: float | None) -> None:
    graph = random_graph(4, entities=120, relations=2, count=900)
    nothing = ExampleFacts(graph, np.zeros(2 * graph.n_facts, np.bool_))
    rules = some_rules(graph, (1, 2, 3), most=60, seed=0)
    plain, same = (measured(graph, rules, examples, budget) for examples in (None, nothing))
    for name in Statistics.__dataclass_fields__:
        assert getattr(plain, name).tolist() == getattr(same, name).tolist()
