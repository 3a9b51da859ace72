"""Rules with constants, counted on whole graphs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stablerule import Graph, Rule, Tabular
from stablerule.learning.extraction import find_constant_rules
from stablerule.learning.options import Mining
from stablerule.rules.scored import PESSIMISM, ScoredRule
from tests.graph.parts import graph_of
from tests.worlds import random_graph

FRENCH = [("p0", "born_in", "Paris"), ("p1", "born_in", "Paris"), ("p2", "born_in", "Paris"), ("p3", "born_in", "Rome")]
FRENCH += [(f"p{i}", "speaks", "French") for i in range(3)] + [("p3", "speaks", "Italian")]


def facts_by_name(graph: Graph) -> set[tuple[str, str, str]]:
    """All facts, each with its inverse."""
    rows = [(h, r, t) for h, r, t in graph.vocabulary.decode(graph.triples).rows()]
    return {*rows, *((t, f"~{r}", h) for h, r, t in rows)}


def test_speakers_of_french_are_born_in_paris() -> None:
    found = {s.rule: (s.support, s.body_count) for s in find_constant_rules(graph_of(FRENCH))}
    assert found == {
        Rule("born_in", ("speaks",), ("Paris", "French")): (3, 3),
        Rule("born_in", ("speaks",), ("Paris", None)): (3, 4),
        Rule("speaks", ("born_in",), ("French", "Paris")): (3, 3),
        Rule("speaks", ("born_in",), ("French", None)): (3, 4),
    }


def check_numbers(scored: ScoredRule, facts: set[tuple[str, str, str]]) -> None:
    rule = scored.rule
    assert rule.constants is not None
    constant, near = rule.constants
    have = {h for h, r, t in facts if r == rule.body[0] and near in (None, t)}
    right = {x for x in have if (x, rule.head_relation, constant) in facts}
    assert (scored.support, scored.body_count) == (len(right), len(have))
    assert scored.confidence == pytest.approx(len(right) / (len(have) + PESSIMISM))
    assert scored.head_coverage == pytest.approx(len(right) / sum(r == rule.head_relation for _, r, _ in facts))
    assert scored.confidence_low == scored.confidence_high == scored.confidence
    partial = {x for x in have if any((h, r) == (x, rule.head_relation) for h, r, _ in facts)}
    assert scored.pca_confidence == pytest.approx(len(right) / (len(partial) + PESSIMISM))
    owners = {h: t == constant for h, r, t in facts if r == rule.head_relation}
    owners |= {h: True for h, r, t in facts if r == rule.head_relation and t == constant}
    assert scored.base_rate == pytest.approx(sum(owners.values()) / len(owners))
    assert (rule.head_relation, constant) != (rule.body[0], near)
    assert near is not None or rule.head_relation != rule.body[0]


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_those_of_plain_counting(seed: int) -> None:
    graph = random_graph(seed, entities=8, relations=2, count=30)
    facts = facts_by_name(graph)
    rules = find_constant_rules(graph, min_support=1, min_confidence=0.0)
    for scored in rules:
        check_numbers(scored, facts)
    fewer = find_constant_rules(graph, min_support=2, min_confidence=0.2)
    assert {s.rule for s in fewer} == {s.rule for s in rules if s.support >= 2 and s.confidence >= 0.2}  # type: ignore[operator]
    assert 0 < len(fewer) < len(rules)


@pytest.mark.parametrize("cap", [1, 3])
def test_each_conclusion_keeps_its_best_rules(cap: int) -> None:
    graph = random_graph(0, entities=8, relations=2, count=30)
    everything = find_constant_rules(graph, min_support=1, min_confidence=0.0)
    capped = find_constant_rules(graph, min_support=1, min_confidence=0.0, per_constant=cap)

    def conclusion(scored: ScoredRule) -> tuple[str, str]:
        assert scored.rule.constants is not None
        return scored.rule.head_relation, scored.rule.constants[0]

    sizes = Counter(map(conclusion, everything))
    assert Counter(map(conclusion, capped)) == {key: min(size, cap) for key, size in sizes.items()}
    for key in sizes:
        best = sorted((s.confidence or 0 for s in everything if conclusion(s) == key), reverse=True)[:cap]
        assert sorted((s.confidence or 0 for s in capped if conclusion(s) == key), reverse=True) == best


def test_the_same_rules_every_time() -> None:
    graph = random_graph(1, entities=20, relations=3, count=120)
    first = find_constant_rules(graph, min_support=1, per_constant=2)
    assert find_constant_rules(graph, min_support=1, per_constant=2) == first


def test_where_nothing_holds_often_enough_there_are_no_rules() -> None:
    assert len(find_constant_rules(graph_of([("a", "r", "b")]))) == 0
    assert len(find_constant_rules(graph_of(FRENCH), min_support=100)) == 0


def test_learners_find_them_unless_told_otherwise() -> None:
    rng = np.random.default_rng(0)
    links = [(f"p{a}", "knows", f"p{b}") for a, b in rng.integers(4, size=(8, 2)).tolist()]
    graph = graph_of([*FRENCH, *links])
    rule = Rule("speaks", ("born_in",), ("French", "Paris"))
    assert rule in Tabular(walks=500).fit(graph).rules
    assert not len(Tabular(walks=500, constants=False).fit(graph).rules.filter(kind="constants"))
    assert rule not in Tabular(walks=500, mining=Mining(constant_support=4)).fit(graph).rules
