"""Scores become probabilities that hold on facts that nothing was fitted to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Tabular, Triples, households, load_model
from stablerule.errors import ReadError
from stablerule.io.records import make_record
from stablerule.reasoning import calibration as module
from stablerule.reasoning.calibration import Calibration, Curve, calibrate, judge
from stablerule.reasoning.choosing import split_valid
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.searcher import Found


def candidates(scores: Any, labels: Any, weights: Any = None, sizes: Any = None) -> module._Candidates:
    n = len(scores)
    ones = np.ones(n)
    return module._Candidates(
        np.arange(n),
        np.zeros(n, np.int32),
        np.asarray(scores, float),
        np.asarray(labels, bool),
        ones if weights is None else np.asarray(weights, float),
        ones if sizes is None else np.asarray(sizes, float),
    )


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return households(seed=0).dataset


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Tabular:
    return Tabular(walks=50_000, max_length=2, seed=0).fit(dataset.graph, dataset.valid)


some_scores = st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.floats(1, 50)), min_size=40, max_size=300).filter(
    lambda rows: sum(label for _, label, _ in rows) >= module.FEWEST
)


@given(some_scores, st.lists(st.floats(-1, 2), min_size=2))
def test_a_curve_never_falls_and_stays_between_0_and_1(
    rows: list[tuple[float, bool, float]], asked: list[float]
) -> None:
    curve = module._fit(candidates(*zip(*rows, strict=True)))
    assert curve is not None
    values = curve.at(np.sort(np.array(asked)))
    assert (np.diff(values) >= 0).all()
    assert values.min() >= 0
    assert values.max() <= 1


def test_a_curve_may_rise_between_neighbouring_numbers() -> None:
    curve = module.Curve((0.0, 5e-324, 1.0), (0.25, 0.3, 0.8))
    assert curve.at(np.array([-1, 0, 5e-324, 0.5, 1, 2])).tolist() == pytest.approx([0.25, 0.25, 0.3, 0.55, 0.8, 0.8])
    asked = np.linspace(-0.5, 1.5, 99)
    steep = module.Curve((0.2, 0.4, 0.9), (0.1, 0.5, 0.6))
    np.testing.assert_allclose(steep.at(asked), np.interp(asked, steep.scores, steep.probabilities), atol=1e-15)


@given(some_scores)
def test_a_curve_has_the_mean_of_what_it_was_fitted_to(rows: list[tuple[float, bool, float]]) -> None:
    """Isotonic regression moves nothing as a whole; scores between two steps may, so each score stands often."""
    rows = [(round(score, 1), label, weight) for score, label, weight in rows]
    scores, labels, weights = (np.repeat(column, module.STEP) for column in zip(*rows, strict=True))
    curve = module._fit(candidates(scores, labels, weights))
    assert curve is not None
    assert np.average(curve.at(scores), weights=weights) == pytest.approx(np.average(labels, weights=weights))


def test_a_known_probability_is_found_again() -> None:
    random = np.random.default_rng(0)
    scores = random.random(40_000)
    curve = module._fit(candidates(scores, random.random(40_000) < scores**2 / 2))
    assert curve is not None
    at = np.linspace(0.05, 0.95, 10)
    assert np.abs(curve.at(at) - at**2 / 2).max() < 0.04


def test_what_stands_for_many_counts_for_many() -> None:
    scores, labels = np.repeat([0.2, 0.8], 100), np.tile([True, False], 100)
    weights = np.tile([1.0, 9.0], 100)
    curve = module._fit(candidates(scores, labels, weights))
    assert curve is not None
    assert curve.at(np.array([0.2, 0.8])) == pytest.approx([0.1, 0.1])


def test_the_few_best_are_not_certain_by_chance() -> None:
    # All the best are of heads that have a calibrating fact, each for one; the others stand for a hundred.
    scores = np.concatenate([np.linspace(0.9, 1, 40), np.linspace(0, 0.89, 400)])
    labels = np.arange(440) < 40
    weights, sizes = np.where(labels, 1, 100), np.where(labels, 0.01, 1)
    curve = module._fit(candidates(scores, labels, weights, sizes))
    assert curve is not None
    assert curve.at(np.ones(1))[0] < 0.02


def test_too_few_give_no_curve() -> None:
    assert module._fit(candidates(np.linspace(0, 1, 100), np.arange(100) < 5)) is None


def test_probabilities_hold_on_facts_that_were_not_fitted(model: Tabular, dataset: Dataset) -> None:
    calibration = model.learned_.calibration
    assert isinstance(calibration, Calibration)
    assert calibration.positives >= module.FEWEST
    figures = calibration.reliability
    assert figures["brier"] < figures["brier_of_the_mean"]
    assert figures["ece"] < 0.02
    for one in figures["bins"]:
        assert one["from"] <= one["predicted"] <= one["to"]
    assert sum(one["n"] for one in figures["bins"]) == pytest.approx(figures["n"], abs=len(figures["bins"]))
    names = [dataset.vocabulary.relation_name(r) for r in range(2 * dataset.graph.n_relations)]
    for name in names:
        values = calibration.probability(name, np.linspace(0, 1, 50))
        known = values[~np.isnan(values)]
        assert ((known >= 0) & (known <= 1)).all()
        assert (np.diff(known) >= 0).all()


def test_everybody_asked_gives_the_share_of_all_candidates(model: Tabular, dataset: Dataset) -> None:
    """The sample stands for all: what it counts is near what asking everybody counts."""
    graph, search = dataset.graph, model.rule_searcher(dataset.graph)
    _, facts = split_valid(dataset.valid, 0)
    assert facts is not None
    held_out = Graph.build(facts, graph.vocabulary)
    totals = []
    for most in ((50, 50), (10**9, 10**9)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "OTHERS", most)
            queries = module._sample_queries(graph, held_out, np.random.default_rng(1))
        found = module._candidates(search, queries, held_out, graph)
        totals.append((queries.stand_for.sum(), found.stand_for.sum(), (found.labels * found.stand_for).sum()))
    (asked, some, positives), (all_asked, everything, all_positives) = totals
    assert asked == pytest.approx(all_asked)
    assert some == pytest.approx(everything, rel=0.3)
    assert positives == pytest.approx(all_positives)


def test_known_facts_are_no_candidates_but_calibrating_ones_are(model: Tabular, dataset: Dataset) -> None:
    graph = dataset.graph
    choosing, facts = split_valid(dataset.valid, 0)
    assert choosing is not None
    assert facts is not None
    known = Graph.build(Triples.concat(dataset.train, dataset.valid), dataset.vocabulary)
    search, seen = model.rule_searcher(graph), []

    def watch(heads: Any, relations: Any, k: int, left_out: Graph, limits: Any) -> Any:
        seen.append(left_out)
        return type(search).answer(search, heads, relations, k, left_out, limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "answer", watch)
        assert isinstance(calibrate(search, facts, known), Calibration)
    (left_out,) = seen
    assert left_out.contains(dataset.train).all()
    assert left_out.contains(choosing).all()
    assert not left_out.contains(facts).any()


def test_a_share_makes_each_positive_stand_for_others(model: Tabular, dataset: Dataset) -> None:
    _, facts = split_valid(dataset.valid, 0)
    known = Graph.build(Triples.concat(dataset.train, dataset.valid), dataset.vocabulary)
    whole, part = (calibrate(model.rule_searcher(dataset.graph), facts, known, share=share) for share in (1.0, 0.15))
    assert isinstance(whole, Calibration)
    assert isinstance(part, Calibration)
    high = np.ones(1)
    assert part.probability("*", high)[0] > whole.probability("*", high)[0]


def test_it_comes_back_from_disk(model: Tabular, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    kept = load_model(tmp_path / "model")
    assert isinstance(kept, Tabular)
    assert kept.learned_.calibration == model.learned_.calibration
    assert json.loads((tmp_path / "model" / "learned.json").read_text())["calibration"]["positives"] > 0


def test_without_enough_facts_there_is_none_and_a_reason(dataset: Dataset) -> None:
    learner = Tabular(walks=5_000, max_length=2)
    learner.fit(dataset.graph, refit=False)
    assert "valid split" in str(learner.learned_.calibration)
    assert learner.calibration_for(dataset.graph) == learner.learned_.calibration
    few = dataset.valid.take(np.arange(5))
    found = calibrate(learner.rule_searcher(), few, dataset.graph)
    assert isinstance(found, str)
    assert "of 5 calibrating facts" in found


def test_scores_that_say_nothing_give_no_calibration(
    model: Tabular, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, facts = split_valid(dataset.valid, 0)
    known = Graph.build(Triples.concat(dataset.train, dataset.valid), dataset.vocabulary)
    random, ask = np.random.default_rng(0), RuleSearcher.answer

    def answer_at_random(*words: Any) -> Any:
        tails, scores, _ = ask(*words)
        return Found(tails, random.random(scores.shape))

    monkeypatch.setattr(RuleSearcher, "answer", answer_at_random)
    found = calibrate(model.rule_searcher(dataset.graph), facts, known)
    assert isinstance(found, str)
    assert "it shows no skill" in found
    monkeypatch.setattr(module, "_fit", lambda some: None)
    assert "too few to judge it" in str(calibrate(model.rule_searcher(dataset.graph), facts, known))


def test_skill_is_more_than_chance() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(2000) < 0.3
    some = candidates(np.zeros(2000), labels)
    assert not module._beats_the_mean(np.full(2000, labels.mean()), some)
    assert not module._beats_the_mean(rng.random(2000), some)
    assert module._beats_the_mean(np.where(labels, 0.4, 0.25), some)
    assert not module._beats_the_mean(np.empty(0), some.take(np.empty(0, np.int64)))


def reread(kept: dict[str, Any]) -> Calibration:
    return make_record(Calibration, json.loads(json.dumps(kept)), Path("learned.json"))


def test_a_damaged_curve_is_refused() -> None:
    good = Calibration({"*": Curve((0.0, 1.0), (0.0, 0.5)), "r": None}, 40, 100, {})
    assert reread(good.to_json()) == good
    assert np.isnan(good.probability("r", np.ones(2))).all()
    for scores, probabilities in (([0, 1], [0.5, 0.2]), ([1, 0], [0, 1]), ([0], [1.5]), ([], []), ([0, 1], [1])):
        damaged = good.to_json() | {"curves": {"*": {"scores": scores, "probabilities": probabilities}}}
        with pytest.raises(ReadError, match=r"field 'curves\.\*' makes no sense: this is no curve"):
            reread(damaged)


def test_judging_against_a_plain_sum() -> None:
    random = np.random.default_rng(3)
    predicted, labels, weights = random.random(500), random.random(500) < 0.4, random.random(500) + 1
    found = judge(predicted, labels, weights)
    assert found["brier"] == pytest.approx(
        sum(w * (p - y) ** 2 for p, y, w in zip(predicted, labels, weights, strict=True)) / weights.sum(), rel=1e-3
    )
    assert judge(np.empty(0), np.empty(0, bool))["n"] == 0
