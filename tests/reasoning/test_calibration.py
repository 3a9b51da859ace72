"""Scores become probabilities that hold on facts that were really missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, RuleSet, Tabular, Triples, households, load_model
from stablerule.errors import ReadError
from stablerule.io.checked_folder import make_record
from stablerule.reasoning import calibration as module
from stablerule.reasoning.calibration import EARLIER, Calibration, calibrate, judge_probabilities
from stablerule.reasoning.curves import STEP, Curve, ScoredCandidates, fit_curve
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.theory import encode_rules, forget_own_facts, set_rule_weights
from stablerule.reasoning.situations import SITUATIONS, Situations


def scored(scores: Any, stand_for: float = 1.0) -> ScoredCandidates:
    n = len(scores)
    return ScoredCandidates(
        np.zeros(n, np.int32), np.zeros(n, np.int8), np.asarray(scores, float), np.full(n, stand_for)
    )


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return households(seed=0).dataset


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Tabular:
    return Tabular(walks=50_000, max_length=2, seed=0).fit(dataset)


some_scores = st.lists(st.floats(0.01, 1), min_size=1, max_size=200)


@given(some_scores, some_scores, st.floats(0.05, 3), st.lists(st.floats(-1, 2), min_size=2))
def test_a_curve_never_falls_and_stays_between_0_and_1(
    hidden: list[float], found: list[float], stand_for: float, asked: list[float]
) -> None:
    curve = fit_curve(scored(hidden, stand_for), scored(found))
    assert curve is not None
    values = curve.at(np.sort(np.array(asked)))
    assert (np.diff(values) >= -1e-12).all()
    assert values.min() >= 0
    assert values.max() <= 1


def test_a_curve_may_rise_between_neighbouring_numbers() -> None:
    curve = Curve((0.0, 5e-324, 1.0), (0.25, 0.3, 0.8), (9, 9, 9))
    assert curve.at(np.array([-1, 0, 5e-324, 0.5, 1, 2])).tolist() == pytest.approx([0.25, 0.25, 0.3, 0.55, 0.8, 0.8])


def test_a_known_share_is_found_again() -> None:
    """Of candidates with score s, the share s ** 2 / 2 is missing; each hidden fact stands for a ninth of one."""
    random = np.random.default_rng(0)
    found = random.random(40_000)
    missing, hidden = (random.random(n) for n in (40_000, 9 * 40_000))
    found_right = missing[random.random(len(missing)) < missing**2 / 2]
    hidden = hidden[random.random(len(hidden)) < hidden**2 / 2]
    curve = fit_curve(scored(hidden, 1 / 9), scored(found))
    assert curve is not None
    at = np.linspace(0.05, 0.95, 10)
    assert np.abs(curve.at(at) - at**2 / 2).max() < 0.05
    assert curve.at(found).sum() == pytest.approx(len(found_right), rel=0.03)


def test_facts_that_would_be_candidates_are_not_missing() -> None:
    """No candidate scores nearly as high as most hidden facts: they say nothing of those with low scores."""
    curve = fit_curve(scored(np.full(90, 0.9), 0.1), scored(np.linspace(0.01, 0.2, 500)))
    assert curve is not None
    assert curve.at(np.array([0.2]))[0] == 0


def test_where_there_is_room_for_few_nobody_knows_which() -> None:
    """100 facts are expected to be missing, and 20 candidates are there: the graph lacks fewer than was assumed."""
    curve = fit_curve(scored(np.full(100, 0.9)), scored(np.full(20, 0.9)))
    assert curve is not None
    assert curve.at(np.array([0.9]))[0] == pytest.approx(1.5 * 20 / 100)


@given(some_scores)
def test_equal_scores_have_one_share(scores: list[float]) -> None:
    found = np.repeat(np.round(scores, 1), STEP)
    curve = fit_curve(scored(found[::2], 0.3), scored(found))
    assert curve is not None
    assert curve.at(found).sum() == pytest.approx(0.3 * len(found[::2]), rel=1e-6)


def test_own_facts_are_forgotten() -> None:
    """Of seven of eight, six of eight are left without the fact; a rule for two facts would not have been found."""
    train = [(f"p{i}", "born_in", "Rome") for i in range(8)] + [(f"p{i}", "speaks", "Latin") for i in range(7)]
    train += [("p0", "sings", "Latin"), ("p1", "sings", "Latin")]
    graph = Dataset.from_names("people", train=train).graph
    rules = Tabular(walks=100).fit(graph).rules.filter(head_relation="speaks")
    encoded = encode_rules(rules, graph)
    forgotten, frame = forget_own_facts(encoded).theory, rules.to_frame()
    chains = np.arange(len(encoded.rows)) < encoded.n_chains
    supports = frame["support"].to_numpy()[encoded.rows]
    fewest = {kind: supports[chains == kind].min(initial=np.inf) for kind in (True, False)}
    assert len(rules) > 3
    for i, row in enumerate(encoded.rows.tolist()):
        support, body_count = frame["support"][row], frame["body_count"][row]
        left = (support - 1) / (body_count + 5) if support - 1 >= fewest[bool(chains[i])] else 0
        assert forgotten.own_weights[i] in (pytest.approx(left), 0)
        assert forgotten.weights[i] == encoded.theory.weights[i]
    assert (forgotten.own_weights > 0).any()
    assert forget_own_facts(encode_rules(RuleSet(), graph)).n_chains == 0


def test_hidden_scores_are_those_of_a_graph_that_lacks_the_fact(model: Tabular, dataset: Dataset) -> None:
    """With the same rules and weights, the score of a hidden fact is that on the graph without it."""
    graph = dataset.graph
    search = model.rule_searcher(graph)
    weights = search.encoded.theory.weights
    same = RuleSearcher(set_rule_weights(search.encoded, weights, weights), search.ways.aggregation)
    for place in (3, 500, 2_000):
        fact = graph.triples.take(np.array([place]))
        rest = np.delete(np.arange(graph.n_facts), place)
        without = model.rule_searcher(Graph.build(graph.triples.take(rest), dataset.vocabulary))
        asked = fact.heads, fact.relations, fact.tails
        assert same.score(*asked, hidden=True) == pytest.approx(without.score(*asked), rel=1e-4)


def test_probabilities_hold_on_facts_that_were_missing() -> None:
    """A tenth of the facts is hidden, and found again about as often as the probabilities say."""
    dataset = households(seed=3).dataset
    hidden = np.random.default_rng(1).random(len(dataset.train)) < 0.1
    graph = Graph.build(dataset.train.take(~hidden), dataset.vocabulary)
    lost = {row[:3] for row in dataset.vocabulary.decode(dataset.train.take(hidden)).rows()}
    model = Tabular(walks=30_000, max_length=2).fit(Dataset.of_graph(graph, dataset.valid, dataset.test))
    known = Graph.build(Triples.concat(dataset.valid, dataset.test), dataset.vocabulary)
    found = list(model.complete(known=known, min_probability=0.1))
    p = np.array([fact.probability for fact in found], float)
    right = np.array([(fact.head, fact.relation, fact.tail) in lost for fact in found])
    assert len(found) > 300
    assert right.mean() == pytest.approx(p.mean(), abs=0.06)
    assert judge_probabilities(p, p[right])["ece"] < 0.1
    likely = p > 0.7
    assert right[likely].mean() > 0.7


def test_another_share_of_missing_facts_and_facts_that_are_known_since() -> None:
    curve = Curve((0.0, 1.0), (0.0, 0.4), (10**6, 10**6))
    found = Calibration((curve,), {"r": (0, -1, 0, 0)}, facts=900, left_out=900)
    score, where = np.ones(1), np.zeros(1, np.int64)

    def read(calibration: Calibration) -> float:
        return float(calibration.read("r", score, where).probabilities[0])

    assert read(found) == pytest.approx(0.4)
    # As many candidates, half as many of them missing facts: (0.05 / 0.95) / (0.1 / 0.9) of them.
    assert read(found.assume(missing=0.05)) == pytest.approx(0.4 * 9 / 19)
    # 50 facts were candidates and are known by now, for 100 that are missing: 0.2 candidates of 1 are gone.
    assert read(found.assume(known=950)) == pytest.approx(0.4 / 0.8)
    assert read(found.assume(known=10**6)) == pytest.approx(1, abs=1e-4)
    assert np.isnan(found.read("r", score, np.array([1])).probabilities[0])
    assert np.isnan(found.read("unknown", score, where).probabilities[0])
    assert np.isnan(found.read("r", score, np.array([-1])).probabilities[0])


def test_a_relation_with_few_facts_reads_a_curve_of_those_that_behave_alike(model: Tabular, dataset: Dataset) -> None:
    calibration, words = model.learned_.calibration, dataset.vocabulary
    assert isinstance(calibration, Calibration)
    readers: dict[int, set[str]] = {}
    for name, numbers in calibration.reads.items():
        assert len(numbers) == len(SITUATIONS)
        for number in numbers:
            readers.setdefault(number, set()).add(name)
    shared = [names for number, names in readers.items() if number >= 0 and len(names) > 1]
    assert any(len(names) == 1 for names in readers.values())  # of one relation
    assert shared
    for names in shared:
        assert len({name.startswith("~") for name in names}) == 1  # an inverse shares with inverses
    assert set(calibration.reads) == set(words.all_relations.to_list())


def test_known_facts_are_no_candidates(model: Tabular, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Graph.build(Triples.concat(dataset.valid, dataset.test), dataset.vocabulary)
    search, seen, ask = model.rule_searcher(dataset.graph), [], RuleSearcher.answer

    def watch(self: RuleSearcher, heads: Any, relations: Any, k: int, left_out: Graph, limits: Any) -> Any:
        seen.append(left_out)
        return ask(self, heads, relations, k, left_out, limits)

    monkeypatch.setattr(RuleSearcher, "answer", watch)
    found = calibrate(search, known)
    assert isinstance(found, Calibration)
    (left_out,) = seen
    assert left_out.contains(dataset.everything).all()
    assert found.left_out == left_out.n_facts


def test_answers_have_probabilities_and_known_facts_have_none(model: Tabular, dataset: Dataset) -> None:
    known = Graph.build(dataset.everything, dataset.vocabulary)
    words, found = dataset.vocabulary, []
    heads = words.entities.names_of(dataset.test.heads[:40]).to_list()
    for head, answers in zip(heads, model.answer([(head, "sibling_of") for head in heads], 10), strict=True):
        for answer in answers:
            fact = np.array([[words.entity_id(head), words.relation_id("sibling_of"), words.entity_id(answer.entity)]])
            in_graph = dataset.graph.contains(Triples(fact.astype(np.int32)))[0]
            assert not (in_graph and answer.probability is not None)
            found.append(answer.probability)
    there = [p for p in found if p is not None]
    assert len(there) > 20
    assert all(0 <= p <= 1 for p in there)
    (new,) = model.answer([(heads[0], "sibling_of")], 10, known=known)
    completed = {
        f.tail: f.probability
        for f in model.complete(known=known, relations=["sibling_of"], top="all")
        if f.head == heads[0]
    }
    for answer in new:
        if answer.entity in completed:
            assert answer.probability == completed[answer.entity]


def test_it_comes_back_from_disk(model: Tabular, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").learned_.calibration == model.learned_.calibration
    path = tmp_path / "model" / "learned.json"
    saved = json.loads(path.read_text())
    assert saved["calibration"]["hidden"] > module.FEWEST
    # Earlier versions saved other curves, which hold for other candidates.
    saved["calibration"] = {"curves": {"*": None}, "positives": 40, "queries": 100, "reliability": {}}
    path.write_text(json.dumps(saved))
    about = tmp_path / "model" / "model.json"
    kept = json.loads(about.read_text())
    del kept["checksums"]["learned.json"]
    about.write_text(json.dumps(kept))
    assert load_model(tmp_path / "model").learned_.calibration == EARLIER


def test_facts_of_valid_that_chose_nothing_check_it(model: Tabular) -> None:
    calibration = model.learned_.calibration
    assert isinstance(calibration, Calibration)
    figures = calibration.reliability
    assert figures["ece"] < 0.05
    for one in figures["bins"]:
        assert one["from"] <= one["predicted"] <= one["to"]


def test_without_enough_facts_there_is_none_and_a_reason() -> None:
    graph = Dataset.from_names("few", train=[("a", "r", "b"), ("b", "s", "a"), ("c", "r", "d")]).graph
    learner = Tabular(walks=200).fit(graph)
    assert "of the facts hidden for calibration; at least 30 are needed" in str(learner.learned_.calibration)
    assert learner.calibration_for(graph) == learner.learned_.calibration


def test_facts_without_competing_candidates_calibrate_nothing() -> None:
    rows = [row for i in range(60) for row in ((f"a{i}", "r", f"b{i}"), (f"b{i}", "s", f"a{i}"))]
    learner = Tabular(walks=2_000, constants=False).fit(Dataset.from_names("pairs", train=rows).graph)
    assert learner.learned_.calibration == "no relation has 30 hidden facts with competing candidates"


def reread(kept: dict[str, Any]) -> Calibration:
    return make_record(Calibration, json.loads(json.dumps(kept)), Path("learned.json"))


def test_damaged_curves_are_refused() -> None:
    good = Calibration((Curve((0.0, 1.0), (0.0, 0.5), (40, 50)),), {"r": (0, -1, 0, 0)}, 40, 100, 3, 4, {"ece": 0.1})
    assert reread(good.to_json()) == good
    falling, backwards, negative = ([0, 1], [0.5, 0.2]), ([1, 0], [0, 1]), ([0], [-1])
    for scores, shares in (falling, backwards, negative, ([], []), ([0, 1], [1]), ([0], [np.nan])):
        damaged = good.to_json() | {"curves": [{"scores": scores, "shares": shares, "counts": [1] * len(scores)}]}
        with pytest.raises(ReadError, match="curves"):
            reread(damaged)
    for numbers in ([0, 0, 0], [0, 0, 0, 1], [0, 0, 0, -2]):
        with pytest.raises(ReadError, match="uses curves that do not exist"):
            reread(good.to_json() | {"reads": {"r": numbers}})


def test_judging_against_a_plain_count() -> None:
    random = np.random.default_rng(3)
    predicted, labels = random.random(500), random.random(500) < 0.4
    found = judge_probabilities(predicted, predicted[labels], least=0.1)
    assert found["n"] == (predicted >= 0.1).sum()
    for one in found["bins"]:
        here = (predicted >= one["from"]) & (predicted < one["to"])
        assert one["n"] == here.sum()
        assert one["observed"] == pytest.approx(labels[here].mean(), abs=1e-6)
    away = sum(one["n"] * abs(one["predicted"] - one["observed"]) for one in found["bins"])
    assert found["ece"] == pytest.approx(away / found["n"], abs=1e-5)
    assert judge_probabilities(np.empty(0), np.empty(0)) == {"n": 0, "ece": None, "bins": []}
    assert Situations(Dataset.from_names("x", train=[("a", "r", "b")]).graph).states(0).tolist() == [2, 0]
