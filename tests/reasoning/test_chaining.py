"""Answers, scores and explanations against plain path counting."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from stablerule import Dataset, Graph, Rule, RuleSet, Tabular, households, load_model
from stablerule.errors import InputError, OptionError, UnknownEntity, UnknownRelation
from stablerule.paths.following import follow
from stablerule.reasoning.chaining import Chaining
from tests.paths.plain import reached
from tests.worlds import random_graph

FACTS = [
    ("ann", "born_in", "Paris"),
    ("ann", "lives_in", "Lyon"),
    ("bob", "born_in", "Bonn"),
    ("Paris", "city_of", "France"),
    ("Lyon", "city_of", "France"),
    ("Bonn", "city_of", "Germany"),
    ("cid", "nationality", "France"),
]
RULES = RuleSet(
    [
        (Rule("nationality", ("born_in", "city_of")), {"score": 0.8}),
        (Rule("nationality", ("lives_in", "city_of")), {"score": 0.4}),
        (Rule("~nationality", ("~city_of", "~born_in")), {"score": 0.5}),
        (Rule("nationality", ("born_in",), ("France", "Paris")), {"score": 0.9}),
    ]
)
GRAPH = Dataset.from_names("people", train=FACTS).graph


@pytest.mark.parametrize("seed", range(3))
def test_following_is_the_weighted_sum_of_path_counts(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=26)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=30)
    bodies = np.full((30, 5), -1, np.int32)
    for row, length in zip(bodies, lengths, strict=True):
        row[:length] = rng.integers(4, size=length)
    weights = rng.random(30)
    for head in range(graph.n_entities):
        expected: Counter[int] = Counter()
        for body, weight in zip(bodies.tolist(), weights.tolist(), strict=True):
            for entity, count in reached(graph, head, tuple(r for r in body if r >= 0)).items():
                expected[entity] += weight * count
        entities, scores = follow(graph, head, bodies, weights)
        assert entities.tolist() == sorted(expected)
        assert scores == pytest.approx([expected[e] for e in entities.tolist()])


def asked(graph: Graph = GRAPH) -> Chaining:
    return Chaining(RULES, graph)


def test_answers_by_name_in_both_directions() -> None:
    (best,) = asked().answer("ann", "nationality", 5)
    assert best.entity == "France"
    assert best.score == pytest.approx(1.2)
    assert [a.entity for a in asked().answer("Germany", "~nationality", 5)] == ["bob"]
    assert asked().answer("Paris", "nationality", 5) == []
    assert asked().answer("ann", "born_in", 5) == []


def test_scores_of_triples() -> None:
    assert asked().score("ann", "nationality", "France") == pytest.approx(1.2)
    assert asked().score("ann", "nationality", "Germany") == 0
    assert asked().score("bob", "nationality", "Germany") == pytest.approx(0.8)


def test_an_explanation_has_shares_paths_and_names() -> None:
    first, second = asked().explain("ann", "nationality", "France")
    assert first.rule.rule == Rule("nationality", ("born_in", "city_of"))
    assert first.share == pytest.approx(2 / 3)
    assert (first.paths, first.groundings) == (1, (("ann", "Paris", "France"),))
    assert second.share == pytest.approx(1 / 3)
    assert str(second) == "33%  nationality(X, Y) <- lives_in(X, A), city_of(A, Y)  by ann - Lyon - France"
    assert asked().explain("ann", "nationality", "Germany") == []


def test_another_graph_with_new_entities_needs_no_learning() -> None:
    other = Dataset.from_names("new", train=[("eve", "born_in", "Rome"), ("Rome", "city_of", "Italy")]).graph
    # It has no `nationality`, so it can't be asked for; with one fact of it, it can.
    with pytest.raises(UnknownRelation, match="nationality"):
        asked(other).answer("eve", "nationality", 1)
    facts = [("eve", "born_in", "Rome"), ("Rome", "city_of", "Italy"), ("leo", "nationality", "Italy")]
    answers = asked(Dataset.from_names("new", train=facts).graph).answer("eve", "nationality", 3)
    assert [a.entity for a in answers] == ["Italy"]


def test_what_can_not_be_asked() -> None:
    with pytest.raises(UnknownEntity, match="Closest: 'ann'"):
        asked().answer("anne", "nationality", 3)
    with pytest.raises(UnknownRelation, match="Closest: 'nationality'"):
        asked().score("ann", "nationalty", "France")
    with pytest.raises(OptionError, match="'k' must be at least 1, got 0"):
        asked().answer("ann", "nationality", 0)


def test_the_verbs_of_a_learner(tmp_path: Path) -> None:
    graph = households(families=4, seed=0).dataset.graph
    model = Tabular(walks=20_000).fit(graph)
    words = graph.vocabulary
    heads, tails = graph.facts(words.relation_id("grandparent_of"))
    head, tail = words.entity_name(int(heads[0])), words.entity_name(int(tails[0]))
    (answers,) = model.answer([(head, "grandparent_of")], k=50)
    assert tail in [a.entity for a in answers]
    assert [a.score for a in answers] == sorted((a.score for a in answers), reverse=True)
    (score,) = model.score([(head, "grandparent_of", tail)])
    assert score == pytest.approx(next(a.score for a in answers if a.entity == tail))
    reasons = model.explain((head, "grandparent_of", tail))
    assert sum(e.share for e in reasons) == pytest.approx(1)
    assert all(path[0] == head and path[-1] == tail for e in reasons for path in e.groundings)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    with pytest.raises(InputError, match=r"without a graph .* Pass graph="):
        loaded.score([(head, "grandparent_of", tail)])
    assert loaded.score([(head, "grandparent_of", tail)], graph=graph) == [pytest.approx(score)]
