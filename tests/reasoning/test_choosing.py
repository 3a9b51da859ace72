"""How to answer is chosen on facts that the rules did not see, and kept with the model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Tabular, Triples, households, load_model, newsroom
from stablerule.errors import OptionError, ReadError
from stablerule.io.checked_folder import make_record
from stablerule.reasoning import RuleReasoner
from stablerule.reasoning import choosing as module
from stablerule.reasoning.choosing import Queries, choose_aggregation, split_valid_for_choosing
from stablerule.reasoning.evidence_weights import (
    Examples,
    Weights,
    collect_weight_examples,
    fit_evidence_weights,
    rank_weight_examples,
    softmax_loss,
)
from stablerule.reasoning.learned import Choice
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.evidence import COLUMNS
from stablerule.reasoning.scoring.score import AGGREGATIONS, Aggregation, AggregationRecord
from stablerule.reasoning.scoring.theory import By, Encoded, encode_rules
from tests.worlds import random_graph

WORLDS = {
    "households": households(families=6, missing=0.2, noise=0.05, seed=0).dataset,
    "newsroom": newsroom(people=400, valid=0.3, seed=0).dataset,
}


def learner(**options: Any) -> Tabular:
    return Tabular(**{"walks": 20_000, "rules_per_relation": 30, "seed": 0, **options})


@pytest.fixture(scope="module", params=WORLDS)
def world(request: pytest.FixtureRequest) -> Dataset:
    return WORLDS[request.param]


@pytest.fixture(scope="module")
def model(world: Dataset) -> Tabular:
    return learner().fit(world.graph, world.valid)


def choice_of(model: RuleReasoner) -> Choice:
    assert model.learned_.choice is not None
    return model.learned_.choice


def test_the_choice_is_the_best_of_what_was_tried(model: Tabular) -> None:
    choice, chosen = choice_of(model), choice_of(model).aggregation
    assert choice.chosen_on == "valid"
    tried = choice.tried
    assert {way["name"] for way in tried} == set(AGGREGATIONS)
    assert {way["by"] for way in tried} == {"confidence", "score"}
    assert all(0 < way["mrr"] <= 1 for way in tried)
    best = next(way for way in tried if way["mrr"] == max(other["mrr"] for other in tried))
    assert (chosen.name, chosen.by, chosen.top) == (best["name"], best["by"], best["top"])
    assert 0 < choice.judged < choice.fitted


def test_the_mrr_of_the_choice_is_that_of_the_judged_queries(world: Dataset, model: Tabular) -> None:
    """All of valid judged by the fixed ways: near to the half that judged."""
    queries = Queries.both_ways(world.valid, world.graph.n_relations)
    known = Graph.build(Triples.concat(world.graph.triples, world.valid), world.vocabulary)
    for way in choice_of(model).tried:
        if way["name"] != "learned":
            search = RuleSearcher(encode_rules(model.rules, world.graph, way["by"]), aggregation_of(way))
            found = (1 / search.rank(*queries, known).form("realistic")).mean()
            assert found == pytest.approx(way["mrr"], abs=0.1)


def aggregation_of(tried: dict[str, Any]) -> Aggregation:
    return Aggregation(tried["name"], by=tried["by"], top=tried["top"])


def test_the_same_seed_chooses_the_same(world: Dataset, model: Tabular) -> None:
    again = learner().fit(world.graph, world.valid)
    assert choice_of(again).aggregation == choice_of(model).aggregation
    assert choice_of(again) == choice_of(model)


@pytest.mark.slow
def test_without_valid_training_facts_choose(world: Dataset) -> None:
    model = learner().fit(world.graph, refit=False)
    choice = choice_of(model)
    assert choice.chosen_on == "training facts, each hidden in turn"
    assert {way["name"] for way in choice.tried} == set(AGGREGATIONS)
    ranks = model.rank(world.test, graph=world.graph, known=world.graph)
    assert (1 / ranks.form("realistic")).mean() > 0.1


@pytest.mark.parametrize("name", ["count", "noisy_or", "max_plus"])
def test_an_aggregation_that_is_asked_for_is_not_chosen(world: Dataset, name: str) -> None:
    model = learner(aggregation=name, by="score", top=3).fit(world.graph, world.valid)
    assert choice_of(model).aggregation == Aggregation(name, by="score", top=3)  # type: ignore[arg-type]
    assert choice_of(model).tried == ()


def test_learned_is_fitted_when_it_is_asked_for(world: Dataset) -> None:
    model = learner(aggregation="learned").fit(world.graph, world.valid)
    assert choice_of(model).aggregation.name == "learned"
    assert {way["name"] for way in choice_of(model).tried} == {"learned"}
    assert all(len(weights) == len(COLUMNS) for weights in choice_of(model).aggregation.weights.values())


@pytest.mark.parametrize("name", ["learned", "noisy_or"])
def test_a_model_that_was_kept_answers_the_same(world: Dataset, name: str, tmp_path: Path) -> None:
    graph = world.graph
    model = learner(aggregation=name, top=5).fit(graph, world.valid)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert isinstance(loaded, Tabular)
    assert choice_of(loaded).aggregation == choice_of(model).aggregation
    assert loaded.learned_ == model.learned_
    names = [(head, relation) for head, relation, _ in world.vocabulary.decode(world.test).rows()][:40]
    assert list(loaded.answer(names, graph=graph)) == list(model.answer(names, graph=graph))
    ours, theirs = (m.rank(world.test, graph=graph, known=graph) for m in (model, loaded))
    np.testing.assert_array_equal(ours.best, theirs.best)
    np.testing.assert_array_equal(ours.worst, theirs.worst)


def elsewhere(graph: Graph) -> Graph:
    """The same facts about others."""
    facts = [(f"other {h}", r, f"other {t}") for h, r, t in graph.vocabulary.decode(graph.triples).rows()]
    return Dataset.from_names("elsewhere", train=facts).graph


def test_what_constants_say_can_be_left_out_of_evidence() -> None:
    """As if only chains had been asked, when there is room for all rivals."""
    world = WORLDS["households"]
    model = learner().fit(world.graph, world.valid)
    queries, known = Queries.both_ways(world.valid, world.graph.n_relations), world.graph
    room = 2 * world.graph.n_entities
    encoded = [encode_rules(rules, world.graph) for rules in (model.rules, model.rules.filter(kind="chains"))]
    both, chains = (collect_weight_examples(RuleSearcher(one, Aggregation()), *queries, known, room) for one in encoded)
    assert (both.stand_for > 0).sum() > (chains.stand_for > 0).sum() > 0  # constants reach more
    alone = both.by_chains_alone()
    there = alone.stand_for > 0
    reached = chains.stand_for[:, 0] > 0  # otherwise a query has no rows at all
    np.testing.assert_array_equal(there[:, 0], reached)
    np.testing.assert_array_equal(there[reached].sum(1), (chains.stand_for[reached] > 0).sum(1))
    for query in np.flatnonzero(reached):
        ours, theirs = alone.rows[query][there[query]], chains.rows[query][chains.stand_for[query] > 0]
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
        np.testing.assert_allclose(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)], rtol=1e-5)
    assert (np.diff(there[reached].astype(int), axis=1) <= 0).all()  # no gap between rows


def test_where_no_constant_is_known_chains_are_weighed_as_if_alone(world: Dataset) -> None:
    model = learner(aggregation="learned").fit(world.graph, world.valid)
    assert len(model.rules.filter(kind="constants"))
    assert choice_of(model).aggregation.chain_weights
    assert choice_of(model).aggregation.chain_weights != choice_of(model).aggregation.weights
    assert model.rule_searcher(world.graph).ways.aggregation == choice_of(model).aggregation
    used = model.rule_searcher(elsewhere(world.graph)).ways.aggregation
    assert used.weights == choice_of(model).aggregation.chain_weights
    assert replace(used, weights=choice_of(model).aggregation.weights) == replace(
        choice_of(model).aggregation, chain_weights={}
    )


def test_chains_have_no_weights_of_their_own_where_all_rules_are_chains(world: Dataset) -> None:
    model = learner(aggregation="learned", constants=False).fit(world.graph, world.valid)
    assert not choice_of(model).aggregation.chain_weights
    assert model.rule_searcher(elsewhere(world.graph)).ways.aggregation == choice_of(model).aggregation


def test_a_model_from_before_there_were_weights_for_chains_is_read(model: Tabular) -> None:
    kept = choice_of(model).aggregation.to_json()
    del kept["chain_weights"]
    read = reread(kept)
    assert read == replace(choice_of(model).aggregation, chain_weights={})
    assert read.without_constants() == read


@pytest.mark.parametrize("asked", ["auto", "learned"])
def test_too_few_facts_choose_nothing(asked: str) -> None:
    world = WORLDS["newsroom"]
    few = world.valid.take(np.arange(module.FEWEST_TO_CHOOSE // 2 - 1))
    model = learner(aggregation=asked).fit(world.graph, few)
    assert choice_of(model).aggregation == Aggregation("max_plus")
    assert choice_of(model).tried == ()


def test_what_was_not_chosen_is_said() -> None:
    graph = random_graph(0, entities=6, relations=2, count=10)
    asked = learner(walks=200, aggregation="count").fit(graph)
    assert choice_of(asked).chosen_on == "nothing: it was asked for"
    few = learner(walks=200, aggregation="learned").fit(graph)
    assert choice_of(few).aggregation.name == "max_plus"
    assert "queries are too few, it takes 60" in choice_of(few).chosen_on


def test_a_tiny_graph_has_nothing_to_choose_by() -> None:
    graph = random_graph(0, entities=6, relations=2, count=10)
    assert choice_of(learner(walks=200).fit(graph)).aggregation == Aggregation("max_plus")
    assert choice_of(learner(walks=200).fit(graph, Triples.empty())).aggregation == Aggregation("max_plus")


def test_a_relation_has_its_own_way_where_that_is_clearly_better() -> None:
    graph = random_graph(0)
    heads = np.zeros(300, np.int32)
    queries = Queries(heads, np.repeat(np.array([0, 4], np.int32), 150), heads)
    judge = module._Judge(graph, queries, graph, hidden=False)
    usual = np.full(300, 0.5)
    better_there = usual + np.repeat([0.2, -0.3], 150)
    results: list[module.Result] = [
        (Aggregation("max_plus"), usual),
        (Aggregation("count"), better_there),
        (Aggregation("noisy_or", top=5), np.ones(300)),  # another `top`
        (Aggregation("binary", by="score"), np.ones(300)),  # another `by`
    ]
    chosen = judge.with_relations(results[0], results)
    assert (chosen.name, chosen.relations) == ("max_plus", {"r0": "count"})
    assert [chosen.of(name) for name in ("r0", "~r0", "~r1")] == ["count", "max_plus", "max_plus"]
    by_luck = usual + np.where(np.arange(300) % 2, 0.4, -0.39)
    luck: list[module.Result] = [results[0], (Aggregation("count"), by_luck)]
    assert judge.with_relations(luck[0], luck).relations == {}


def test_relations_with_their_own_way_are_ranked_by_it() -> None:
    world = WORLDS["households"]
    encoded = encode_rules(learner(aggregation="count").fit(world.graph).rules, world.graph)
    queries = Queries.both_ways(world.test, world.graph.n_relations)
    own = world.vocabulary.relation_name(int(queries.relations[0]))
    ways = [Aggregation(), Aggregation("count"), Aggregation(relations={own: "count"})]
    usual, other, mixed = (RuleSearcher(encoded, way).rank(*queries, world.graph).best for way in ways)
    np.testing.assert_array_equal(mixed, np.where(queries.relations == queries.relations[0], other, usual))


def reread(kept: dict[str, Any]) -> Aggregation:
    return make_record(AggregationRecord, json.loads(json.dumps(kept)), Path("learned.json")).aggregation


def test_an_aggregation_reads_back_what_it_wrote() -> None:
    weights = {"*": (0.1,) * len(COLUMNS), "r": (1 / 3,) * len(COLUMNS)}
    way = Aggregation("learned", top=0, relations={"r": "count"}, weights=weights)
    assert reread(way.to_json()) == way
    with pytest.raises(ReadError, match="for other evidence"):
        reread({**way.to_json(), "columns": ["something"]})
    few = {"*": [0.0]}  # a kernel would read beyond their end
    for name, wrong, said in (("max_plus", {"r": [0.0] * len(COLUMNS)}, "must stand at"), ("learned", few, "must be")):
        with pytest.raises(ReadError, match=said):
            reread({**way.to_json(), "name": name, "relations": {}, "weights": wrong})
    with pytest.raises(OptionError, match="Closest: 'noisy_or'"):
        Aggregation("noisyor")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="has no weights yet"):
        Aggregation("learned")
    with pytest.raises(OptionError, match="'top' must be 0"):
        Aggregation("noisy_or", top=-1)
    with pytest.raises(OptionError, match="'by' must be"):
        Aggregation(by="support")  # type: ignore[arg-type]


@given(st.integers(0, 2000), st.integers(0, 100))
def test_the_parts_of_valid_are_disjoint_and_complete(n: int, seed: int) -> None:
    rows = np.stack([np.arange(n), np.zeros(n), np.arange(n)], 1).astype(np.int32)
    parts = split_valid_for_choosing(Triples(rows), seed)
    found = [part.heads.tolist() for part in parts if part is not None]
    assert sorted(head for part in found for head in part) == list(range(n))
    assert all(part == sorted(part) for part in found)
    assert (parts[0] is None) == (n == 0)
    assert (parts[1] is None) == (n < module.FEWEST_TO_PART)
    assert [None if p is None else p.heads.tolist() for p in split_valid_for_choosing(Triples(rows), seed)] == [
        None if p is None else p.heads.tolist() for p in parts
    ]
    if parts[0] is not None and parts[1] is not None:
        assert len(parts[1]) < len(parts[0])


def test_without_valid_there_are_no_parts() -> None:
    assert split_valid_for_choosing(None, 0) == (None, None)


def test_only_some_hundreds_of_one_relation_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_A_RELATION", 7)
    relations = np.repeat(np.arange(3, dtype=np.int32), (20, 5, 9))
    heads = np.arange(34, dtype=np.int32)
    kept = module._limit_queries_of_each_relation(Queries(heads, relations, heads))
    assert np.bincount(kept.relations).tolist() == [7, 5, 7]
    assert kept.heads.tolist() == [*range(7), *range(20, 25), *range(25, 32)]


def test_what_is_known_is_no_rival() -> None:
    world = WORLDS["newsroom"]
    rules = learner(aggregation="count").fit(world.graph).rules
    known = Graph.build(Triples.concat(world.graph.triples, world.valid), world.vocabulary)

    def tried(known: Graph) -> tuple[dict[str, Any], ...]:
        def encode(by: By) -> Encoded:
            return encode_rules(rules, world.graph, by)

        return choose_aggregation(encode, world.graph, world.valid, known, only=None, fixed=Aggregation(), seed=0).tried

    with_rivals = tried(Graph.build(Triples.empty(), world.vocabulary))
    pairs = [pair for pair in zip(tried(known), with_rivals, strict=True) if pair[0]["name"] != "learned"]
    assert all(without["mrr"] >= with_["mrr"] for without, with_ in pairs)
    assert any(without["mrr"] > with_["mrr"] for without, with_ in pairs)


# The weights of `learned`.


def random_examples(seed: int, n: int = 30, k: int = 6, columns: int = 4) -> Examples:
    """The answer is better than its rivals by the first column; the last one says nothing.

    Some rows are empty, some stand for many.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, k, columns)).astype(np.float32)
    rows[:, 0, 0] += 1
    rows[:, :, -1] = 1
    stand_for = rng.integers(1, 5, size=(n, k)).astype(np.float32)
    stand_for[:, 0] = 1
    for row, filled in zip(stand_for, rng.integers(2, k + 1, size=n), strict=True):
        row[filled:] = 0
    stand_for[::7] = 0  # no rule reaches the answer
    return Examples(rows, stand_for, rng.integers(2, size=n).astype(np.int32))


def plain_loss(examples: Examples, which: Any, weights: Any) -> float:
    total = 0.0
    for q in which:
        scores = examples.rows[q].astype(float) @ weights
        filled = examples.stand_for[q] > 0
        total += np.log((examples.stand_for[q][filled] * np.exp(scores[filled])).sum()) - scores[0]
    return float(total)


@pytest.mark.parametrize("seed", range(3))
def test_the_slope_of_the_loss_is_that_of_finite_differences(seed: int) -> None:
    examples = random_examples(seed)
    which, weights = examples.useful, np.random.default_rng(seed).normal(size=4)

    def look(at: Any) -> tuple[float, Any, Any]:
        slope, curvature = np.zeros(4), np.zeros((4, 4))
        value = softmax_loss(examples.rows, examples.stand_for, which, at, slope, curvature)
        return value, slope, np.triu(curvature) + np.triu(curvature, 1).T

    value, slope, curvature = look(weights)
    assert value == pytest.approx(plain_loss(examples, which, weights))
    h = 1e-5
    for column, unit in enumerate(np.eye(4)):
        up, down = look(weights + h * unit), look(weights - h * unit)
        assert slope[column] == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-4, abs=1e-4)
        assert curvature[column] == pytest.approx((up[1] - down[1]) / (2 * h), rel=1e-4, abs=1e-4)


def test_fitted_weights_can_not_be_bettered_a_little() -> None:
    examples, graph = random_examples(0, n=200), random_graph(0)
    weights = fit_evidence_weights(examples, graph, [1.0])[0]
    assert set(weights) == {"*", "r0", "r1"}
    useful = examples.useful
    stretched = [np.array(weights["*"]) * factor for factor in np.linspace(0.2, 5, 200)]
    common = min(stretched, key=lambda at: plain_loss(examples, useful, at))
    assert common[0] > np.abs(common[1:3]).max()
    least = plain_loss(examples, useful, common)
    for step in 0.3 * np.vstack([np.eye(4), -np.eye(4)])[[0, 1, 2, 4, 5, 6]]:
        assert plain_loss(examples, useful, common + step) > least
    assert fit_evidence_weights(examples, graph, [1.0])[0] == weights


def test_a_score_says_how_often_such_a_candidate_is_the_answer() -> None:
    examples, graph = random_examples(2, n=3000), random_graph(0)
    for name, weights in fit_evidence_weights(examples, graph, [1.0])[0].items():
        here = examples.useful
        if name != "*":
            here = here[examples.relations[here] == int(name[1])]
        counts = examples.stand_for[here]
        shares = 1 / (1 + np.exp(-(examples.rows[here] @ np.array(weights))))
        assert (shares * counts).sum() == pytest.approx(len(here), rel=0.02)  # one answer a query
        for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 1)):
            at = (shares >= low) & (shares < high) & (counts > 0)
            seen = counts[:, 0][at[:, 0]].sum() / counts[at].sum()
            assert seen == pytest.approx((shares * counts)[at].sum() / counts[at].sum(), abs=0.05)


def test_several_ridges_at_once_are_each_as_if_alone() -> None:
    examples, graph = random_examples(3, n=200), random_graph(0)
    ridges = [0.5, 8.0, 2.0]
    for ridge, together in zip(ridges, fit_evidence_weights(examples, graph, ridges), strict=True):
        alone = fit_evidence_weights(examples, graph, [ridge])[0]
        for name, weights in alone.items():
            assert together[name] == pytest.approx(weights, rel=0.01, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_the_rank_among_the_rivals_of_the_examples(seed: int) -> None:
    examples, graph = random_examples(seed), random_graph(0)
    examples.rows[::3, 2] = examples.rows[::3, 0]  # a tie
    weights: Weights = {"*": (0.5, -1.0, 0.2, 0.0), "r1": (2.0, 0.0, 0.0, 0.0)}
    reciprocal = []
    for q in examples.useful:
        own = np.array(weights["r1"] if examples.relations[q] == 1 else weights["*"])
        scores = examples.rows[q] @ own
        better = examples.stand_for[q][1:][scores[1:] > scores[0]].sum()
        equal = examples.stand_for[q][1:][scores[1:] == scores[0]].sum()
        reciprocal.append(1 / (1 + better + equal / 2))
    assert rank_weight_examples(examples, graph, weights) == pytest.approx(np.mean(reciprocal))


def test_a_strong_ridge_draws_a_relation_to_the_common_weights() -> None:
    examples, graph = random_examples(1, n=200), random_graph(0)

    def away(ridge: float) -> float:
        weights = fit_evidence_weights(examples, graph, [ridge])[0]
        own, common = np.array(weights["r0"][:-1]), np.array(weights["*"][:-1])
        return float(np.abs(own / np.linalg.norm(own) - common / np.linalg.norm(common)).max())  # but for a stretch

    assert away(1e6) < 1e-3 < away(0.1)


def test_nothing_to_fit_to_gives_no_weights() -> None:
    examples = random_examples(0)
    nothing = Examples(examples.rows, np.zeros_like(examples.stand_for), examples.relations)
    assert len(nothing.useful) == 0
    assert fit_evidence_weights(nothing, random_graph(0), [1.0, 4.0]) == 2 * [{"*": (0.0,) * 4}]
    assert rank_weight_examples(nothing, random_graph(0), {"*": (0.0,) * 4}) == 0
