"""Will a model hold on these queries?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import Dataset
from stablerule.errors import InputError
from stablerule.learning import GivenRules
from stablerule.shifts import QuerySet, ShiftReport, Thresholds, compare_queries
from stablerule.shifts import distances as distances_module
from stablerule.shifts.report import FIGURES
from tests.shifts.newsrooms import first, judged


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances_module, "RESAMPLES", 100)


def by_name(world: Any, queries: QuerySet) -> list[tuple[str, str, str]]:
    words = world.dataset.vocabulary
    return [
        (words.entities[int(entity)], words.relation_name(int(relation)), words.entities[int(answer)])
        for entity, relation, answer in zip(queries.entities, queries.relations, queries.answers, strict=True)
    ]


def test_queries_of_the_same_kind_are_similar() -> None:
    world = judged(test_mix=0.2)
    report = world.compare(world.queries("test").without_answers())
    assert report.verdict == "similar"
    (reason,) = report.reasons
    assert "few queries are out of reach" in reason
    assert report.expected.mrr == pytest.approx(report.expected.reference, abs=0.05)
    assert report.measured_mrr is None
    assert report.labelled == 0
    assert report.reach.outside < 0.05


def test_a_planted_shift_of_pathways_is_seen_and_named() -> None:
    world = judged(test_mix=0.8)
    report = world.compare(world.queries("test"))
    assert report.verdict == "shifted"
    (reason,) = report.reasons
    assert reason.startswith("bodies that fire: distance 0.")
    assert "by chance" in reason
    bodies = next(one for one in report.distances if one.measure == "bodies that fire")
    assert bodies.value > 2 * bodies.null_high
    told = " ".join(map(str, report.causes))
    assert any(body in told for body in ("plays_in", "squad_of", "trained_by", "scored"))
    assert any(body in told for body in ("writes_column", "reports_to", "writes_story"))
    expected = report.expected
    assert expected.low is not None
    assert expected.high is not None
    assert report.measured_mrr is not None
    assert expected.low <= report.measured_mrr <= expected.high
    assert report.labelled == len(world.queries("test"))
    assert report.about == {"reference_queries": 200, "current_queries": 200, "method": "tabular"}


def without_measured(report: ShiftReport) -> Any:
    found = json.loads(json.dumps(report.to_json()))
    found.pop("measured")
    found.pop("advice")  # says to find answers
    found["figures"].pop("measured_mrr")
    for spot in found["weak_spots"]:
        spot.pop("measured_mrr")
    return found


def test_answers_change_nothing_but_what_is_measured() -> None:
    world = judged()
    queries = world.queries("test")
    shown, hidden = world.compare(queries), world.compare(queries.without_answers())
    assert without_measured(shown) == without_measured(hidden)
    assert hidden.to_json()["measured"] == {"mrr": None, "queries": 0, "uses_answers": True}
    assert any(spot.measured_mrr is not None for spot in shown.weak_spots)
    assert all(spot.measured_mrr is None for spot in hidden.weak_spots)
    wrong = QuerySet(queries.entities, queries.relations, np.roll(queries.answers, 7))
    lied = world.compare(wrong)
    assert without_measured(lied) == without_measured(hidden)
    assert lied.measured_mrr is not None
    assert shown.measured_mrr is not None
    assert lied.measured_mrr < shown.measured_mrr
    assert any("collect the answers to about 100" in text for text in hidden.advice)


def test_the_same_seed_gives_the_same_report() -> None:
    world = judged()
    queries = first(world.queries("test"), 60)
    assert world.compare(queries, seed=4).to_json() == world.compare(queries, seed=4).to_json()


def test_unseen_names_are_outside() -> None:
    world = judged(test_mix=0.2)
    rows = by_name(world, world.queries("test"))[:60]
    new = [(f"stranger_{i % 15}", "works_for", "?") for i in range(20)] + [("club_1", "sponsors", "?")] * 10
    report = world.compare(QuerySet.from_names(rows + new, world.graph))
    assert report.verdict == "outside"
    assert report.reasons == ["33% of the queries are out of reach (limit: 20%)"]
    assert (report.reach.unseen_entity, report.reach.unseen_relation) == (20, 10)
    assert report.reach.names["relations"] == [("sponsors", 10)]
    assert report.reach.names["entities"][0] == ("stranger_0", 2)
    assert len(report.reach.names["entities"]) == 5
    assert report.advice[0].startswith("The model has no rules for unseen relations (sponsors)")
    assert report.advice[1].startswith("20 queries are about unseen entities")
    # What is lost counts as 0, in what is expected and in what is measured.
    alone = world.compare(QuerySet.from_names(rows, world.graph))
    assert alone.expected.mrr is not None
    assert report.expected.mrr == pytest.approx(alone.expected.mrr * 60 / 90)
    assert report.measured_mrr == pytest.approx(alone.measured_mrr)  # the new ones have no answers
    assert report.figures["outside"] == pytest.approx(30 / 90)


def test_a_query_with_both_names_unseen_is_counted_once() -> None:
    world = judged(test_mix=0.2)
    rows = [*by_name(world, world.queries("test"))[:40], ("stranger", "sponsors", "?")]
    reach = world.compare(QuerySet.from_names(rows, world.graph)).reach
    assert (reach.n, reach.unseen_entity, reach.unseen_relation) == (41, 0, 1)
    assert reach.names == {"entities": [("stranger", 1)], "relations": [("sponsors", 1)]}


def test_answers_that_the_graph_does_not_have_are_lost() -> None:
    world = judged(test_mix=0.2)
    rows = by_name(world, world.queries("test"))[:60]
    some = [(head, relation, tail if i < 30 else "somebody new") for i, (head, relation, tail) in enumerate(rows)]
    half = world.compare(QuerySet.from_names(rows[:30], world.graph))
    report = world.compare(QuerySet.from_names(some, world.graph))
    assert report.labelled == 60
    assert half.measured_mrr is not None
    assert report.measured_mrr == pytest.approx(half.measured_mrr / 2)
    lost = QuerySet.from_names([*rows, ("stranger", "works_for", "club_1")], world.graph)
    whole = world.compare(QuerySet.from_names(rows, world.graph))
    assert whole.measured_mrr is not None
    assert world.compare(lost).measured_mrr == pytest.approx(whole.measured_mrr * 60 / 61)


def test_queries_about_nothing_in_the_graph() -> None:
    world = judged()
    report = world.compare(QuerySet.from_names([("a", "b", "?")] * 30, world.graph))
    assert report.verdict == "outside"
    assert report.distances == ()
    assert report.causes == []
    assert report.weak_spots == []
    assert "100% of the queries are out of reach" in report.reasons[0]
    assert "expected accuracy cannot be estimated: only 0 of these queries have a candidate" in report.reasons[1]
    assert set(report.figures) == set(FIGURES)
    assert report.figures["relation_mix"] is None
    json.dumps(report.to_json())


def test_too_few_queries() -> None:
    world = judged()
    report = world.compare(first(world.queries("test").without_answers(), 5))
    assert report.expected.mrr is None
    assert report.expected.refused == "only 5 of these queries have a candidate; at least 10 are needed"
    assert any("at least 10 are needed" in reason for reason in report.reasons)
    assert report.figures["expected_mrr"] is None
    assert report.figures["worst_mrr"] is None
    assert report.weak_spots == []
    few = world.compare(world.queries("test"), reference=first(world.queries("valid"), 20))
    assert few.expected.refused == "only 20 reference queries have a candidate; at least 40 are needed"


def test_a_reference_without_answers_is_refused() -> None:
    world = judged()
    hidden = world.queries("valid").without_answers()
    with pytest.raises(InputError, match="The reference has no query with an answer"):
        world.compare(world.queries("test"), reference=hidden)
    elsewhere = QuerySet.from_names([("a", "b", "c")] * 50, world.graph)
    with pytest.raises(InputError, match="The reference has no query with an answer"):
        world.compare(world.queries("test"), reference=elsewhere)


def test_thresholds_make_the_verdict() -> None:
    world = judged()
    both = (world.queries("valid"), world.queries("test").without_answers(), world.graph)

    def verdict(**limits: float) -> str:
        return compare_queries(*both, model=world.model, known=world.known, thresholds=Thresholds(**limits)).verdict

    assert verdict() == "shifted"
    assert verdict(distance=0.9) == "similar"


def test_figures_are_all_there() -> None:
    world = judged()
    report = world.compare(world.queries("test"))
    assert list(report.figures) == list(FIGURES)
    assert all(isinstance(value, float) for value in report.figures.values())
    assert report.figures["worst_mrr"] == min(spot.expected_mrr for spot in report.weak_spots)
    found = json.loads(json.dumps(report.to_json()))
    assert found["figures"] == report.figures
    assert found["thresholds"] == {"outside": 0.2, "distance": 0.05}


def test_a_model_that_has_no_chain_and_often_nothing_to_say(tmp_path: Path) -> None:
    """Only a rule with a constant: no body to follow, and no candidate for most queries, which stand by popularity."""
    (tmp_path / "rules.txt").write_text("90\t60\t0.6\tin(X,Europe) <= speaks(X,French)\n")
    languages = {f"c{i}": "French" if i % 3 else "Thai" for i in range(300)}
    facts = [(city, "speaks", language) for city, language in languages.items()]
    places = [(city, "in", "Europe" if language == "French" else "Asia") for city, language in languages.items()]
    dataset = Dataset.from_names("cities", train=facts + places[:100], valid=places[100:200], test=places[200:])
    model = GivenRules(file=str(tmp_path / "rules.txt"), aggregation="max_plus").fit(dataset.graph)
    reference, current = (QuerySet.from_facts(facts, 2).take(np.arange(100)) for facts in (dataset.valid, dataset.test))
    report = compare_queries(reference, current, dataset.graph, model=model)
    assert report.verdict == "similar"  # as much is out of reach as in the reference
    assert report.reach.nothing_fires == sum(language == "Thai" for language in list(languages.values())[200:])
    assert report.measured_mrr is not None
    # Popularity puts Europe before Asia, so that Asia is second.
    assert report.measured_mrr == pytest.approx(report.expected.mrr, abs=0.05)
    assert report.expected.mrr == pytest.approx(2 / 3 + 1 / 3 / 2, abs=0.05)
