"""How to answer is chosen on facts that the rules did not see, and kept with the model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, RuleSet, Tabular, Triples, households, load_model, newsroom
from stablerule.errors import OptionError, ReadError
from stablerule.io.checked_folder import make_record
from stablerule.reasoning import RuleReasoner
from stablerule.reasoning import choosing as module
from stablerule.reasoning.choosing import (
    FOLDS,
    Result,
    choose_aggregation,
    choose_result,
    deal_into_folds,
    is_clearly_better,
    split_valid_for_choosing,
)
from stablerule.reasoning.evidence_examples import (
    Examples,
    FirstWeights,
    NestedSets,
    Queries,
    collect_weight_examples,
    fire_queries,
)
from stablerule.reasoning.evidence_weights import (
    Weights,
    fit_evidence_weights,
    fit_weights_by_folds,
    rank_weight_examples,
    softmax_loss,
)
from stablerule.reasoning.learned import Choice
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.evidence import COLUMNS
from stablerule.reasoning.scoring.score import AGGREGATIONS, Aggregation, AggregationRecord
from stablerule.reasoning.scoring.theory import encode_rules
from tests.reasoning.plain import random_rules
from tests.worlds import random_graph

NAMES = ("name", "by", "top")
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


def test_learned_stands_unless_something_else_is_clearly_better(model: Tabular) -> None:
    choice, chosen = choice_of(model), choice_of(model).aggregation
    assert choice.chosen_on == "the validation facts"
    tried = choice.tried
    assert {way["name"] for way in tried} == set(AGGREGATIONS)
    assert {way["by"] for way in tried} == {"confidence"}
    assert all(0 < way["mrr"] <= 1 and len(way["folds"]) == FOLDS for way in tried)
    best = next(way for way in tried if way["mrr"] == max(other["mrr"] for other in tried))
    assert (chosen.name, chosen.by, chosen.top) in [("learned", "confidence", 0), tuple(best[k] for k in NAMES)]
    assert choice.judged == choice.fitted > 0  # each query fits and judges


def test_the_mrr_of_the_choice_is_that_of_the_judged_queries(world: Dataset, model: Tabular) -> None:
    """All of valid judged by the fixed ways: near to the part that judged."""
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
    assert choice_of(asked).chosen_on == "nothing: set by an option"
    few = learner(walks=200, aggregation="learned").fit(graph)
    assert choice_of(few).aggregation.name == "max_plus"
    assert "queries are too few to choose, at least 60 are needed" in choice_of(few).chosen_on


def test_a_tiny_graph_has_nothing_to_choose_by() -> None:
    graph = random_graph(0, entities=6, relations=2, count=10)
    assert choice_of(learner(walks=200).fit(graph)).aggregation == Aggregation("max_plus")
    assert choice_of(learner(walks=200).fit(graph, Triples.empty())).aggregation == Aggregation("max_plus")


def test_a_relation_has_its_own_way_where_that_is_clearly_better() -> None:
    graph = random_graph(0)
    heads = np.zeros(300, np.int32)
    queries = Queries(heads, np.repeat(np.array([0, 4], np.int32), 150), heads)
    usual = np.full(300, 0.5)
    better_there = usual + np.repeat([0.2, -0.3], 150)
    first = Result(Aggregation("max_plus"), usual)
    # Those with another `top` or `by` are better for that relation alone, where they can't be taken.
    others = [Result(way, better_there + 0.01) for way in (Aggregation("noisy_or", top=5), Aggregation(by="score"))]
    chosen = choose_result([first, Result(Aggregation("count"), better_there), *others], queries, graph)
    assert (chosen.name, chosen.relations) == ("max_plus", {"r0": "count"})
    assert [chosen.of(name) for name in ("r0", "~r0", "~r1")] == ["count", "max_plus", "max_plus"]
    by_luck = Result(Aggregation("count"), usual + np.where(np.arange(300) % 2, 0.4, -0.39))
    assert choose_result([first, by_luck], queries, graph) == Aggregation("max_plus")
    assert choose_result([first, Result(Aggregation("count"), usual + 0.01)], queries, graph).name == "count"


def test_what_is_clearly_better_is_better_by_two_standard_errors() -> None:
    usual, gain = np.full(400, 0.5), np.where(np.arange(400) % 2, 0.2, -0.1)  # mean .05, standard error .0075
    assert is_clearly_better(usual + gain, usual)
    assert not is_clearly_better(usual + gain - 0.036, usual)
    assert not is_clearly_better(usual, usual)


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
    for name, wrong, said in (("max_plus", {"r": [0.0] * len(COLUMNS)}, "need an entry"), ("learned", few, "must be")):
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


def test_facts_are_dealt_into_folds_with_both_their_queries() -> None:
    graph = random_graph(0, relations=3)
    relations = np.repeat(np.arange(3, dtype=np.int32), (20, 5, 9))
    heads = np.arange(34, dtype=np.int32)
    queries, folds = deal_into_folds(Triples(np.stack([heads, relations, heads + 100], 1)), graph, seed=0, most=38)
    assert np.bincount(queries.relations).tolist() == 2 * [7, 5, 7]
    there, back = queries.take(np.arange(19)), queries.take(np.arange(19, 38))
    np.testing.assert_array_equal(there.heads, back.answers)
    np.testing.assert_array_equal(folds[:19], folds[19:])
    for relation in range(3):  # each relation is dealt out evenly
        assert np.ptp(np.bincount(folds[:19][there.relations == relation], minlength=FOLDS)) <= 1


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 100))
def test_relations_with_few_facts_have_all_of_them(sizes: list[int], most: int) -> None:
    relations = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    if not len(relations):
        return
    limit = module._limit_each_relation(relations, most)
    counts = np.array(sizes)
    assert np.minimum(counts, limit).sum() <= max(most, len(sizes))
    assert limit >= counts.max() or np.minimum(counts, limit + 1).sum() > most  # no more is possible


def test_what_is_known_is_no_rival() -> None:
    world = WORLDS["newsroom"]
    rules = learner(aggregation="count").fit(world.graph).rules
    known = Graph.build(Triples.concat(world.graph.triples, world.valid), world.vocabulary)

    def tried(known: Graph) -> tuple[dict[str, Any], ...]:
        encoded = encode_rules(rules, world.graph)
        return choose_aggregation(encoded, world.valid, known, only=None, fixed=Aggregation(), seed=0).tried

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
    names = (*(f"column {i}" for i in range(columns - 1)), "one")
    return Examples(rows, stand_for, rng.integers(2, size=n).astype(np.int32), columns=names)


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
    nothing = replace(examples, stand_for=np.zeros_like(examples.stand_for))
    assert len(nothing.useful) == 0
    assert fit_evidence_weights(nothing, random_graph(0), [1.0, 4.0]) == 2 * [{"*": (0.0,) * 4}]
    assert rank_weight_examples(nothing, random_graph(0), {"*": (0.0,) * 4}) == 0


@pytest.mark.parametrize("seed", range(3))
def test_weights_without_a_fold_are_those_of_the_other_examples(seed: int) -> None:
    examples, graph = random_examples(seed, n=300), random_graph(0)
    folds = np.arange(300) % 3
    for ridge, fitted in zip((1.0, 8.0), fit_weights_by_folds(examples, folds, 2, [1.0, 8.0]), strict=True):
        for fold in range(3):
            others = examples.take(np.flatnonzero(folds != fold))
            (alone,) = fit_weights_by_folds(others, np.zeros(len(others), np.int64), 2, [ridge])
            # The spread of the columns is that of all examples, so that the ridge is nearly the same.
            np.testing.assert_allclose(fitted.table[:, fold], alone.table[:, -1], rtol=0.05, atol=0.05)
        everything = fit_evidence_weights(examples, graph, [ridge])[0]
        own = np.array(everything["r0"])[:-1] / fitted.table[0, -1][:-1]
        np.testing.assert_allclose(own, own[0], rtol=0.03)  # but for a stretch


def test_each_query_is_ranked_by_weights_that_were_fitted_without_its_fold() -> None:
    examples = random_examples(1, n=60)
    folds = np.arange(60) % 2
    (fitted,) = fit_weights_by_folds(examples, folds, 2, [1.0])
    found = fitted.rank(examples, folds, np.full(60, 0.125))
    for q in range(60):
        if not examples.stand_for[q, 0]:
            assert found[q] == 0.125
            continue
        scores = examples.rows[q] @ fitted.table[examples.relations[q], folds[q]]
        ahead = examples.stand_for[q][1:][scores[1:] > scores[0]].sum()
        assert found[q] == pytest.approx(1 / (1 + ahead))


# One firing serves all.


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_one_firing_ranks_under_every_aggregation(seed: int, hidden: bool) -> None:
    graph = random_graph(seed, entities=15, relations=2, count=50)
    encoded = encode_rules(random_rules(graph, seed, steps=8), graph)
    others = np.random.default_rng(seed).integers((15, 2, 15), size=(60, 3)).astype(np.int32)
    queries = Queries.both_ways(graph.triples if hidden else Triples(others), graph.n_relations)
    fired = fire_queries(
        RuleSearcher(encoded, Aggregation()), queries, graph, 4, hidden=hidden, aggregations=module.FIXED
    )
    for i, way in enumerate(module.FIXED):
        ranks = RuleSearcher(encoded, way).rank(*queries, graph, hidden=hidden)
        np.testing.assert_array_equal(fired.tried[:, i], 1 / ranks.form("realistic"), err_msg=str(way))


@pytest.mark.parametrize("hidden", [False, True])
def test_weights_rank_and_find_the_strongest_candidates_for_each_query_by_its_fold(hidden: bool) -> None:
    graph = random_graph(2, entities=40, relations=2, count=120)
    encoded = encode_rules(random_rules(graph, 2), graph)
    queries = Queries.both_ways(graph.triples, graph.n_relations)
    rng = np.random.default_rng(0)
    weights = FirstWeights(rng.normal(size=(4, 2, len(COLUMNS))), rng.integers(2, size=len(queries.heads)))
    search, k = RuleSearcher(encoded, Aggregation()), 9
    fired = fire_queries(search, queries, graph, k, hidden=hidden, weights=weights)
    whole = collect_weight_examples(search, *queries, graph, 60, hidden=hidden)
    for fold in range(2):
        names = map(graph.vocabulary.relation_name, range(4))
        table = {name: tuple(weights.table[r, fold]) for r, name in enumerate(names)}
        way = Aggregation("learned", weights=table | {"*": (0.0,) * len(COLUMNS)})
        here = weights.folds == fold
        ranks = RuleSearcher(encoded, way).rank(*queries.take(np.flatnonzero(here)), graph, hidden=hidden)
        np.testing.assert_array_equal(fired.ranked[here], 1 / ranks.form("realistic"))
    few = fired.examples[0]
    strong = 3 * (k - 1) // 4
    assert (few.stand_for.sum(1) == whole.stand_for.sum(1)).all()  # some stand for the rest
    for q in np.flatnonzero(whole.stand_for[:, k] > 0):
        own = weights.table[queries.relations[q], weights.folds[q]]
        scores = np.sort(whole.rows[q][1:][whole.stand_for[q][1:] > 0] @ own)[::-1]
        np.testing.assert_allclose(np.sort(few.rows[q][1 : 1 + strong] @ own)[::-1], scores[:strong], atol=1e-4)
        assert len(set(few.entities[q])) == k


@pytest.mark.parametrize("seed", range(3))
def test_nested_sets_of_rules_give_the_evidence_that_each_gives_alone(seed: int) -> None:
    graph = random_graph(seed, entities=15, relations=2, count=50)
    rules = random_rules(graph, seed)
    queries = Queries.both_ways(graph.triples, graph.n_relations)
    encoded = encode_rules(rules, graph)
    parts = np.random.default_rng(seed).random((3, len(rules))) < [[0.2], [0.6], [1.1]]
    members = (parts * [[1], [2], [4]]).sum(0).astype(np.uint8)[encoded.rows]
    search = RuleSearcher(encoded, Aggregation())
    fired = fire_queries(search, queries, graph, 40, sets=NestedSets(members, 3))
    for part, found, reached in zip(parts, fired.examples, fired.missed.T, strict=True):
        alone = RuleSet.from_frame(rules.to_frame().filter(pl.Series(part)))
        # A rule for r alone is read backwards for ~r: both sets have to conclude the same relations.
        if alone.filter(kind="chains").relations != rules.filter(kind="chains").relations:
            continue
        theirs = fire_queries(RuleSearcher(encode_rules(alone, graph), Aggregation()), queries, graph, 40)
        np.testing.assert_array_equal(found.stand_for, theirs.examples[0].stand_for)
        for ours, other in zip(found.rows, theirs.examples[0].rows, strict=True):
            np.testing.assert_allclose(ours[np.lexsort(ours.T)], other[np.lexsort(other.T)], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(reached, theirs.missed[:, 0])


def test_columns_beside_those_of_rules_come_after_them() -> None:
    examples = random_examples(0, n=200)
    more = examples.with_columns(["similar"], np.where(np.arange(6) == 0, 1.0, 0.0)[None, :, None].repeat(200, 0))
    assert more.columns == (*examples.columns, "similar")
    assert more.one == examples.one == 3
    weights = fit_evidence_weights(more, random_graph(0), [1.0])[0]["*"]
    assert len(weights) == 5
    assert weights[4] > 0
    ours, theirs = (
        rank_weight_examples(e, random_graph(0), fit_evidence_weights(e, random_graph(0), [1.0])[0])
        for e in (more, examples)
    )
    assert ours == 1 > theirs
