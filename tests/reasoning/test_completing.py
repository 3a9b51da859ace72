"""New facts: really new, really the best, and each with a rule and a path that hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Rule, Tabular, households, load
from stablerule.errors import OptionError, UnknownRelation
from stablerule.graph.behaviour import find_behaviour
from stablerule.learning.options import Mining
from stablerule.reasoning import completing
from stablerule.reasoning.calibration import Calibration
from stablerule.reasoning.completing import Completion, NewFact, TrueFacts, complete, keep_best_new_facts
from stablerule.reasoning.curves import Curve
from stablerule.reasoning.situations import OTHER, Situations
from stablerule.reasoning.wanted import USUAL_TOP, WantedFacts
from tests.worlds import random_graph


def half_of_the_score(graph: Graph) -> Calibration:
    """Give every candidate half of its score as its probability."""
    names = graph.vocabulary.all_relations.to_list()
    curve = Curve((0.0, 1.0), (0.0, 0.5), (99.0, 99.0))
    return Calibration((curve,), dict.fromkeys(names, (0, 0, 0, 0)), facts=graph.n_facts, left_out=10**9)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return households(families=4, seed=0).dataset


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Tabular:
    return Tabular(
        walks=30_000, seed=0, aggregation="max_plus", mining=Mining(constant_support=3, per_constant=100)
    ).fit(dataset.graph)


def everything(dataset: Dataset) -> Graph:
    return Graph.build(dataset.everything, dataset.vocabulary)


def plain_order(fact: NewFact) -> tuple[Any, ...]:
    probability = -1.0 if fact.probability is None else fact.probability
    return -probability, -fact.score, fact.relation, fact.head, fact.tail


def key(fact: NewFact) -> tuple[str, str, str]:
    return fact.head, fact.relation, fact.tail


def facts_of(dataset: Dataset) -> set[tuple[str, str, str]]:
    return {row[:3] for part in ("train", "valid", "test") for row in dataset.frame(part).rows()}


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(["range", "all"]), st.sampled_from(["kind", "observed", "all"]))
def test_no_known_fact_and_none_twice(seed: int, candidates: Any, domain: Any) -> None:
    graph = random_graph(seed)
    model = Tabular(walks=500, aggregation="noisy_or").fit(graph)
    asked: Any = {"candidates": candidates, "domain": domain, "top": "all"}
    found = [key(fact) for fact in complete(model.rule_searcher(), **asked)]
    known = {tuple(row) for row in graph.vocabulary.decode(graph.triples).rows()}
    assert not known & set(found)
    assert len(set(found)) == len(found)
    heads, tails = {row[:2] for row in known}, {row[1:] for row in known}
    assert domain != "observed" or {fact[:2] for fact in found} <= heads
    assert candidates == "all" or {fact[1:] for fact in found} <= tails


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 30), st.booleans())
def test_the_best_of_all_are_the_first_of_a_plain_sort(seed: int, top: int, calibrated: bool) -> None:
    model = Tabular(walks=500, aggregation="noisy_or").fit(random_graph(seed))
    calibration = half_of_the_score(model.rule_searcher().graph) if calibrated else None
    all_of_them = list(complete(model.rule_searcher(), calibration=calibration, candidates="all", top="all"))
    expected = sorted(all_of_them, key=plain_order)
    assert list(complete(model.rule_searcher(), top=top, calibration=calibration, candidates="all")) == expected[:top]
    some = list(complete(model.rule_searcher(), per_relation=top, calibration=calibration, candidates="all"))
    for relation in ("r0", "r1", "r2"):
        of_it = [fact for fact in expected if fact.relation == relation]
        assert [fact for fact in some if fact.relation == relation] == of_it[:top]


def test_it_finds_what_answering_finds(model: Tabular, dataset: Dataset) -> None:
    known = everything(dataset)
    found = list(complete(model.rule_searcher(), known=known, relations=["sibling_of"], per_query=3, top="all"))
    heads = sorted({fact.head for fact in found})
    queries = [(head, "sibling_of") for head in heads]
    relation = dataset.vocabulary.relation_id("sibling_of")
    tails = dataset.vocabulary.entities.names_of(np.unique(known.facts(relation)[1])).to_list()
    answers = model.answer(queries, 3, known=known, candidates=tails)
    expected = {(h, a.entity, a.score) for h, some in zip(heads, answers, strict=True) for a in some}
    assert {(fact.head, fact.tail, fact.score) for fact in found} == expected


def test_known_facts_of_all_splits_are_left_out(model: Tabular, dataset: Dataset) -> None:
    found = {key(fact) for fact in complete(model.rule_searcher(), known=everything(dataset), top="all")}
    assert found
    assert not found & facts_of(dataset)
    more = {key(fact) for fact in complete(model.rule_searcher(), top="all")}
    assert more & facts_of(dataset)  # held-out facts are among the new ones of train alone


def holds(rule: Rule, fact: NewFact, known: set[tuple[str, str, str]]) -> bool:
    """Walk the path of a fact along a rule, by names."""

    def is_fact(head: str, relation: str, tail: str) -> bool:
        if relation.startswith("~"):
            return (tail, relation[1:], head) in known
        return (head, relation, tail) in known

    if rule.constants is None:
        ends = (fact.path[0], fact.path[-1])
        expected = (fact.head, fact.tail)
        body = rule.body
        if rule.head_relation != fact.relation:  # a rule for the inverse, read backwards
            assert rule.head_relation == f"~{fact.relation}"
            body = tuple(step[1:] if step.startswith("~") else f"~{step}" for step in reversed(rule.body))
        steps = zip(body, pairwise(fact.path), strict=True)
        distinct = len(set(fact.path)) == len(fact.path)
        return ends == expected and distinct and all(is_fact(a, step, b) for step, (a, b) in steps)
    constant, near = rule.constants
    owner, other = (fact.head, fact.tail) if rule.head_relation == fact.relation else (fact.tail, fact.head)
    assert other == constant
    owner_of_path, d = fact.path
    return owner == owner_of_path and near in (None, d) and is_fact(owner, rule.body[0], d)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["households", "geography"])
def test_each_rule_concludes_its_fact_along_its_path(name: str) -> None:
    dataset = households(families=4, seed=0).dataset if name == "households" else load("geography")
    model = Tabular(walks=30_000, aggregation="max_plus").fit(dataset.graph)
    train = {row[:3] for row in dataset.frame("train").rows()}
    weights = {str(one.rule): one.confidence for one in model.rules}
    found = list(complete(model.rule_searcher(), per_relation=60, candidates="all", domain="all"))
    kinds = set()
    for fact in found:
        rule = Rule.parse(fact.rule)
        kinds.add(rule.constants is None)
        assert holds(rule, fact, train), fact
        # Under max_plus the score is the weight of the best rule.
        assert weights[fact.rule] == pytest.approx(fact.score, abs=1e-4)
    assert len(found) > 100
    assert True in kinds


def test_a_rule_read_backwards_has_a_path() -> None:
    train = [(f"p{i}", "born_in", f"c{i}") for i in range(6)] + [(f"c{i}", "in", "F") for i in range(6)]
    train += [("F", "home_of", f"p{i}") for i in range(4)]
    dataset = Dataset.from_names("tiny", train=train)
    from stablerule import RuleSet

    model = Tabular(walks=200).fit(dataset.graph)
    rules = RuleSet([(Rule("~home_of", ("born_in", "in")), {"support": 4, "body_count": 6})])
    model = model.with_learned(model.learned_.with_rules(rules))
    found = list(complete(model.rule_searcher(), relations=["home_of"], candidates="all"))
    assert [(fact.tail, fact.path) for fact in found] == [(f"p{i}", ("F", f"c{i}", f"p{i}")) for i in (4, 5)]
    assert found[0].rule == "home_of(Y, X) <- born_in(X, A), in(A, Y)"
    assert "home_of p4" in str(found[0])


def test_thresholds(model: Tabular) -> None:
    search, curves = model.rule_searcher(), half_of_the_score(model.rule_searcher().graph)
    everyone = list(complete(search, calibration=curves, top="all"))
    least = float(np.median([fact.score for fact in everyone]))
    assert list(complete(search, calibration=curves, threshold=least)) == [f for f in everyone if f.score >= least]
    likely = list(complete(search, calibration=curves, min_probability=0.2))
    assert likely == [f for f in everyone if f.probability is not None and f.probability >= 0.2]
    assert 0 < len(likely) < len(everyone)


def test_without_a_limit_the_best_thousand(model: Tabular) -> None:
    search, curves = model.rule_searcher(), half_of_the_score(model.rule_searcher().graph)
    everyone = list(complete(search, calibration=curves, top="all", domain="all", candidates="all", per_query=100))
    best = list(complete(search, calibration=curves, domain="all", candidates="all", per_query=100))
    assert len(everyone) > len(best) == USUAL_TOP
    assert best == sorted(everyone, key=plain_order)[:USUAL_TOP]


def test_an_entity_of_another_kind_has_no_probability(model: Tabular, dataset: Dataset) -> None:
    situations, words = Situations(dataset.graph), dataset.vocabulary
    curves = half_of_the_score(dataset.graph)
    found = list(complete(model.rule_searcher(), calibration=curves, domain="all", candidates="all", per_relation=200))
    for fact in found:
        relation = words.relation_id(fact.relation)
        states = situations.states(relation), situations.states(dataset.graph.inverse(relation))
        ends = words.entity_id(fact.head), words.entity_id(fact.tail)
        other = any(state[end] == OTHER for state, end in zip(states, ends, strict=True))
        assert fact.probability == (None if other else pytest.approx(fact.score / 2))
    assert {fact.probability is None for fact in found} == {True, False}
    assert all(fact.probability is None for fact in complete(model.rule_searcher(), top=5))


def towns(*, lacking: int = 5) -> Dataset:
    """Write of 90 towns with one country, and of some that lack it; a country is one region."""
    facts = []
    for i in range(90):
        facts += [
            (f"t{i}", "in_region", f"r{i % 30}"),
            (f"t{i}", "town_of", f"c{i % 30}"),
            (f"t{i}", "has_mayor", f"p{i}"),
        ]
    for i in range(lacking):
        facts += [(f"u{i}", "in_region", f"r{i}"), (f"u{i}", "has_mayor", f"q{i}")]
    return Dataset.from_names("towns", train=facts)


def test_who_has_its_one_value_is_not_asked_and_who_lacks_it_is() -> None:
    dataset = towns()
    graph, words = dataset.graph, dataset.vocabulary
    relation = words.relation_id("town_of")
    assert find_behaviour(graph).one_valued[relation]
    model = Tabular(walks=3_000, mining=Mining(constant_support=1)).fit(graph)
    found = list(model.complete(relations=["town_of"], top="all"))
    assert {fact.head for fact in found} == {f"u{i}" for i in range(5)}
    assert {(f.head, f.tail) for f in found} >= {(f"u{i}", f"c{i}") for i in range(5)}
    second = Completion(model.rule_searcher(), WantedFacts(second_values=True), relations=["town_of"]).choose_asked(
        relation
    )
    assert (second.one_valued, second.with_value, len(second.heads)) == (False, 0, 95)
    asked = Completion(model.rule_searcher(), WantedFacts(), relations=["town_of"]).choose_asked(relation)
    assert (asked.one_valued, asked.with_value, len(asked.heads)) == (True, 90, 5)
    assert not list(model.complete(relations=["town_of"], domain="observed"))  # all of these have theirs


def test_a_value_that_is_known_elsewhere_is_a_value() -> None:
    dataset = towns()
    extra = Dataset.from_names("more", train=[("u0", "town_of", "c7")]).graph
    model = Tabular(walks=3_000).fit(dataset.graph)
    assert {fact.head for fact in model.complete(relations=["town_of"], known=extra, top="all")} == {
        f"u{i}" for i in range(1, 5)
    }


def test_a_tail_that_has_its_one_head_is_no_answer() -> None:
    """has_money is one-to-one: a country without money is asked for money that no other has."""
    facts = [(f"c{i}", "has_money", f"m{i}") for i in range(80)]
    facts += [(f"c{i}", "has_bank", f"b{i}") for i in range(83)] + [(f"b{i}", "prints", f"m{i}") for i in range(83)]
    model = Tabular(walks=5_000).fit(Dataset.from_names("money", train=facts).graph)
    found = {(fact.head, fact.tail) for fact in model.complete(relations=["has_money"])}
    assert found == {(f"c{i}", f"m{i}") for i in (80, 81, 82)}
    assert ("c3", "m80") not in found


def test_only_pairs_that_nothing_links_yet(model: Tabular, dataset: Dataset) -> None:
    known = everything(dataset)
    words = dataset.vocabulary
    every = [key(f) for f in complete(model.rule_searcher(), known=known, top="all")]
    some = [key(f) for f in complete(model.rule_searcher(), known=known, top="all", unlinked=True)]

    def linked(fact: tuple[str, str, str]) -> bool:
        return bool(len(known.relations_between(words.entity_id(fact[0]), words.entity_id(fact[2]))))

    assert any(map(linked, every))
    assert some
    assert not any(map(linked, some))
    assert {fact for fact in every if not linked(fact)} <= set(some)  # and there is room for others


def test_how_many_are_true_is_added_up_with_both_errors() -> None:
    random = np.random.default_rng(0)
    p, curve = random.random(500), random.integers(3, size=500)
    frame = pl.DataFrame({"probability": [*p, None], "error": [*(p / 10), None], "curve": [*curve, -1]})
    counter = TrueFacts()
    assert counter.expected is None
    for part in (frame[:100], frame[100:]):
        counter.add(part)
    shared = sum((p[curve == c] / 10).sum() ** 2 for c in range(3))
    spread = 1.96 * np.sqrt((p * (1 - p)).sum() + shared)
    assert counter.expected is not None
    assert counter.expected[:3] == pytest.approx((p.sum(), p.sum() - spread, p.sum() + spread), rel=1e-4)
    assert counter.expected.of == 500


def test_small_blocks_change_nothing(model: Tabular, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(complete(model.rule_searcher(), per_relation=7))
    monkeypatch.setattr(completing, "BLOCK", 5)
    assert list(complete(model.rule_searcher(), per_relation=7)) == expected


def test_any_number_of_answers_for_a_head(model: Tabular, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Any = {"relations": ["cousin_of"], "top": "all"}
    every = list(complete(model.rule_searcher(), **asked, per_query=dataset.graph.n_entities))
    assert list(complete(model.rule_searcher(), **asked, per_query=10**12)) == every
    monkeypatch.setattr("stablerule.reasoning.rule_searcher.ANSWERS_AT_ONCE", 1)
    assert list(complete(model.rule_searcher(), **asked, per_query=10**12)) == every


def test_what_is_unlikely_is_left_out_if_nothing_is_asked_for(model: Tabular, monkeypatch: pytest.MonkeyPatch) -> None:
    search, asked = model.rule_searcher(), ["sibling_of"]
    every = list(complete(search, relations=asked, top="all"))
    monkeypatch.setattr("stablerule.reasoning.wanted.USUAL_TOP", len(every))
    least = sorted({fact.score for fact in every})[1]
    monkeypatch.setattr(completing, "UNLIKELY", least)
    usual = list(complete(search, relations=asked))
    assert {key(fact) for fact in usual} == {key(fact) for fact in every if fact.score >= least}
    likely = list(complete(search, relations=asked, calibration=half_of_the_score(search.graph)))
    assert {key(fact) for fact in likely} == {key(fact) for fact in every if fact.score / 2 >= least}
    assert 0 < len(likely) < len(usual) < len(list(complete(search, relations=asked, top=len(every))))


def test_nobody_is_its_own_cousin() -> None:
    # All friends of zoe are her cousins, and so is she, by the letter of the rule.
    train = [(f"p{i}", "friend_of", "zoe") for i in range(9)] + [("zoe", "friend_of", f"p{i}") for i in range(9)]
    train += [(f"p{i}", "cousin_of", "zoe") for i in range(7)] + [("zoe", "cousin_of", f"p{i}") for i in range(7)]
    asked: Any = {"relations": ["cousin_of"], "candidates": "all", "domain": "all", "per_query": 100, "top": "all"}
    for more in ([], [("eve", "cousin_of", "eve")]):
        model = Tabular(walks=500, mining=Mining(constant_support=1)).fit(
            Dataset.from_names("cousins", train=[*train, *more]).graph
        )
        found = [fact for fact in complete(model.rule_searcher(), **asked) if fact.head == fact.tail]
        assert bool(found) == bool(more)


def test_frames_join_although_some_are_empty(model: Tabular) -> None:
    curves = half_of_the_score(model.rule_searcher().graph)
    completion = Completion(model.rule_searcher(), WantedFacts(threshold=0.999999), calibration=curves)
    frames = [completion.of(relation) for relation in completion.relations]
    assert all(frame.schema == completion.nothing().schema for frame in frames)
    assert len(keep_best_new_facts(completion.nothing(), 3)) == 0


def test_what_makes_no_sense_is_refused(model: Tabular) -> None:
    search = model.rule_searcher()

    def fails(**options: Any) -> str:
        with pytest.raises(OptionError) as caught:
            next(complete(search, **options), None)
        return str(caught.value)

    for name in ("top", "per_relation", "per_query"):
        for value in (0, -1, 2.5, True):
            assert f"'{name}' must be a whole number of at least 1" in fails(**{name: value})
    for least in (-0.1, float("nan"), float("inf"), "high"):
        assert "'threshold' must be a number of at least 0" in fails(threshold=least)
    assert "'threshold' must be at most 1" in fails(threshold=1.5)
    assert "'min_probability' must be a number between 0 and 1" in fails(min_probability=1.5)
    assert "needs a calibration: none was passed" in fails(min_probability=0.5)
    assert "needs a calibration: too few. Leave it out, or use" in fails(min_probability=0.5, calibration="too few")
    assert "'candidates' must be range or all" in fails(candidates="some")
    assert "'domain' must be kind or observed or all" in fails(domain="range")
    assert "'top' must be a whole number" in fails(top="some")
    for share in (0, 1, "much"):
        assert "'missing' must be a share between 0 and 1" in fails(missing=share)
    assert "Pass 'sibling_of'" in fails(relations=["~sibling_of"])
    assert "a list of names" in fails(relations="sibling_of")
    assert "complete() has no argument 'per_relations'. Closest: 'per_relation'" in fails(per_relations=1)
    assert "It has graph, known, relations, top, " in fails(foo=1)
    with pytest.raises(UnknownRelation, match="Closest: 'sibling_of'"):
        next(complete(search, relations=["sibling_off"]))


def test_scores_that_are_sums_may_have_a_threshold_above_1(dataset: Dataset) -> None:
    model = Tabular(walks=5_000, aggregation="count").fit(dataset.graph)
    assert all(fact.score >= 1.5 for fact in complete(model.rule_searcher(), threshold=1.5))


@pytest.mark.slow
def test_a_model_completes_and_is_calibrated_only_where_it_learned(dataset: Dataset, model: Tabular) -> None:
    known = everything(dataset)
    curves = model.calibration_for(dataset.graph)
    expected = list(complete(model.rule_searcher(), known=known, relations=["sibling_of"], top=5, calibration=curves))
    assert list(model.complete(known=known, relations=["sibling_of"], top=5)) == expected
    with pytest.raises(OptionError, match="Argument 'top' must be"):
        model.complete(top=0)  # at once
    calibrated = Tabular(walks=2000).fit(dataset.graph)
    calibrated = calibrated.with_learned(replace(calibrated.learned_, calibration=half_of_the_score(dataset.graph)))
    fewer = Graph.build(dataset.graph.triples.take(np.arange(dataset.graph.n_facts - 1)), dataset.vocabulary)
    for graph, there in ((None, True), (dataset.graph, True), (fewer, False)):
        facts = list(calibrated.complete(graph=graph, relations=["sibling_of"], top=5))
        assert facts
        assert all((fact.probability is not None) == there for fact in facts)
    with pytest.raises(OptionError, match="applies only to the graph that the model was trained on, 'households'"):
        calibrated.complete(graph=fewer, min_probability=0.1)
