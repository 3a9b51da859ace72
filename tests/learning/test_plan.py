"""What a run is foretold to cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stablerule import Dataset, Graph, Rule, RuleSet, Tabular, load
from stablerule.learning.options import Mining
from stablerule.learning.plan import (
    EDGES_A_SECOND,
    FEWEST_IN_TIME,
    _estimate_trait_pairs,
    expect_clock_seconds,
    limit_queries_to_budget,
    plan_counting,
)
from stablerule.reasoning.budget import Budget
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules

STAGES = ("walking", "measuring", "constants", "choosing", "calibrating")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("geography").graph


def test_all_stages_are_counted(graph: Graph) -> None:
    plan = plan_counting(graph, Tabular())
    assert tuple(plan.work) == STAGES
    assert all(seconds > 0 for seconds in plan.work.values())
    assert plan.seconds == pytest.approx(expect_clock_seconds(sum(plan.work.values())))


def test_more_work_costs_more(graph: Graph) -> None:
    few, many = (plan_counting(graph, Tabular(walks=walks)).work for walks in (50_000, 5_000_000))
    assert many["walking"] == pytest.approx(100 * few["walking"])
    assert many["measuring"] >= few["measuring"]
    assert plan_counting(graph, Tabular(constants=False)).work["constants"] == 0
    limited = plan_counting(graph, Tabular(mining=Mining(measure_budget=1e4))).work
    assert limited["measuring"] <= 1e4 / EDGES_A_SECOND
    assert replace(Mining(), measure_budget=None).measure_budget is None
    assert plan_counting(graph, Tabular(mining=Mining(measure_budget=None))).work["measuring"] > limited["measuring"]


def test_traits_are_counted_for_each_relation_of_an_entity(graph: Graph) -> None:
    expected = 0
    for entity in range(graph.n_entities):
        roles = {r for r in range(2 * graph.n_relations) if len(graph.tails(entity, r))}
        expected += int(graph.degrees[entity]) * len(roles)
    assert _estimate_trait_pairs(graph) == expected


def test_a_graph_without_anything_to_find_has_a_plan() -> None:
    lonely = Dataset.from_names("lonely", train=[("a", "r", "b")]).graph
    plan = plan_counting(lonely, Tabular(walks=100))
    assert plan.work["measuring"] == 0
    assert np.isfinite(plan.seconds)


def test_a_time_budget_limits_queries_and_says_so(graph: Graph) -> None:
    search = RuleSearcher(
        encode_rules(RuleSet([(Rule("in_continent", ("in_country",)), {"confidence": 0.5})]), graph), Aggregation()
    )
    assert limit_queries_to_budget(Budget(None), search, 10_000, "queries", 0.1) == 10_000
    over = Budget(0)
    assert limit_queries_to_budget(over, search, 10_000, "queries", 0.1) == FEWEST_IN_TIME
    assert limit_queries_to_budget(over, search, 100, "queries", 0.1) == 100
    assert (over.cut_short, over.skipped) == (True, [f"{FEWEST_IN_TIME:,} of 10,000 queries"])
    plenty = Budget(1e9)
    assert limit_queries_to_budget(plenty, search, 10_000, "queries", 0.1) == 10_000
    assert not plenty.cut_short


def test_a_model_says_what_the_time_budget_allowed(graph: Graph) -> None:
    dataset = load("geography")
    model = Tabular(walks=100_000, max_length=2, rules_per_relation=20).fit(dataset.graph, dataset.valid, minutes=0)
    (note,) = model.learned_.notes
    assert note.startswith("the time budget allowed 40,000 of 100,000 walks")
    assert "queries to calibrate on" in note
    assert model.learned_.cut_short
    assert model.learned_.choice is not None
    assert model.learned_.choice.judged <= FEWEST_IN_TIME
    free = Tabular(walks=20_000, max_length=2, rules_per_relation=20).fit(dataset.graph, dataset.valid)
    assert free.learned_.notes == ()
