"""The rule budget: ever more rules of one learner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablerule import Rule, RuleSet, Tabular, evaluate, households
from stablerule_lab.experiments import rule_budget
from stablerule_lab.experiments.rule_budget import BestRule, Choosing, budgets, evaluate_cell, summarise, tables_by

WORLD = households(families=4, missing=0.1, seed=0).dataset


@pytest.fixture(scope="module")
def model() -> Tabular:
    return Tabular(walks=20_000, constants=False, aggregation="max_plus").fit(WORLD.graph, WORLD.valid)


def test_all_rules_by_confidence_are_the_model_itself(model: Tabular) -> None:
    assert evaluate(BestRule(model.rules, "confidence"), WORLD).mrr == pytest.approx(evaluate(model, WORLD).mrr)


def test_budgets_end_where_all_rules_are_kept() -> None:
    rules = RuleSet([Rule("r", (f"s{i}",)) for i in range(7)])
    assert budgets(rules) == [{"kept": kept} for kept in (1, 2, 5, 10)]
    assert budgets(RuleSet()) == [{"kept": 1}]


def test_a_cell_is_a_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Tabular) -> None:
    monkeypatch.setattr(rule_budget, "load", lambda _: WORLD)
    monkeypatch.setitem(rule_budget.METHODS, "plain confidence", Choosing("tabular", by="confidence"))  # as many rules
    found = {}
    for method in ("tabular", "plain confidence"):
        found[method] = evaluate_cell({"graph": "households", "method": method, "seed": 0}, tmp_path)["curve"]
    for curve in found.values():
        counts = [point["rules"] for point in curve]
        assert counts == sorted(counts)
        relations = 2 * WORLD.graph.n_relations
        assert all(point["rules"] <= point["kept"] * relations for point in curve)
        assert all(0 < point["confidence"]["worst"] <= point["confidence"]["mean"] <= 1 for point in curve)
    assert "score" in found["tabular"][0]
    assert "score" not in found["plain confidence"][0]
    # When all rules are kept, it does not matter who chose them.
    last = [curve[-1] for curve in found.values()]
    assert last[0]["rules"] == last[1]["rules"]
    assert last[0]["confidence"]["mrr"] == pytest.approx(last[1]["confidence"]["mrr"])


def test_curves_stand_in_a_table() -> None:
    def cell(method: str, seed: int, point: dict[str, Any]) -> dict[str, Any]:
        return {"cell": {"graph": "g", "method": method, "seed": seed}, "result": {"curve": [point]}}

    both = {"kept": 1, "rules": 10, "score": {"mrr": 0.2}, "confidence": {"mrr": 0.4}}
    more = both | {"score": {"mrr": 0.4}}
    plain = {"kept": 1, "rules": 10, "confidence": {"mrr": 0.5}}
    rows = summarise([cell("tabular", 0, both), cell("tabular", 1, more), cell("plain confidence", 0, plain)], {})
    (table,) = tables_by(rows, "score")
    assert table.headings == ("method", "seeds", "1 rules")
    assert table.rows == (("tabular", "2", "0.300"), ("plain confidence", "1", "0.500"))
