"""The best rules of several learners, measured in groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import Graph, Rule, households
from stablerule.errors import InputError
from stablerule.graph import Dataset
from stablerule_lab.experiments import compared_rules
from stablerule_lab.experiments.cells import Cell
from stablerule_lab.experiments.compared_rules import (
    PAPERS,
    RULES_COMPARED,
    compare,
    groups_of_heads,
    relations_of,
    rule_file,
    summarise,
    tables,
)
from stablerule_lab.experiments.printed_rules import PRINTED_RULES

WORLD = households(families=40, missing=0.1, seed=0).dataset
RULE = "grandparent_of(X,Y) <= parent_of(X,A), parent_of(A,Y)"


def test_heads_are_parted_and_none_is_lost() -> None:
    graph: Graph = WORLD.graph
    parts = groups_of_heads(graph, "parent_of")
    assert len(parts) == 5
    heads = np.unique(graph.facts(graph.vocabulary.relation_id("parent_of"))[0])
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), heads)
    few = Dataset.from_names("few", train=[("a", "r", "b"), ("b", "r", "c")]).graph
    assert len(groups_of_heads(few, "r")) == 1


def test_relations_are_the_papers_or_the_largest() -> None:
    counts = np.bincount(WORLD.test.relations)
    found = [int(counts[WORLD.vocabulary.relation_id(name)]) for name in relations_of(WORLD)]
    assert found == sorted(counts.tolist(), reverse=True)[:4]


def test_rules_of_all_are_measured_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "anyburl-households.txt").write_text(f"100\t80\t0.8\t{RULE}\n")
    monkeypatch.setenv(compared_rules.FOLDER_OF_RULES, str(tmp_path))
    monkeypatch.setattr(compared_rules, "load", lambda _: WORLD)
    monkeypatch.setattr(compared_rules, "relations_of", lambda _: ["grandparent_of"])
    monkeypatch.setattr(compared_rules, "BEST", 100)
    monkeypatch.setattr(compared_rules, "PRINTED_RULES", {"printed": (Rule("grandparent_of", ("parent_of",) * 2),)})
    methods = ("tabular", "anyburl", "printed")
    cells: list[Cell] = [{"graph": "households", "method": method, "seed": 0} for method in methods]
    results: list[dict[str, Any]] = [{"cell": cell, "result": compare(cell, tmp_path)} for cell in cells]
    (in_print,) = results.pop()["result"]["rules"]
    (learned,) = [one for one in results[0]["result"]["rules"] if one["rule"] == in_print["rule"]]
    assert in_print == learned | {"score": None}  # a rule in print has no score
    rows = summarise(results, {})
    spelled = "grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)"
    same = [row for row in rows if row["rule"] == spelled]
    assert {row["method"] for row in same} == {"tabular", "anyburl"}
    assert same[0]["confidence"] == pytest.approx(same[1]["confidence"])
    assert same[0]["by_group"] == same[1]["by_group"]
    assert same[0]["kind"] == "general"  # it is a true rule of this world
    overview, first, second = tables(rows, {})
    assert {line[0] for line in overview.rows} == {"tabular", "anyburl"}
    assert {line[0] for line in first.rows} == {"tabular", "anyburl"}
    assert f"`{spelled}`" in {line[0] for line in second.rows}


def test_rules_in_print_are_asked_for_on_the_papers_graph_alone() -> None:
    cells = RULES_COMPARED.asked_cells(RULES_COMPARED.all_graphs, (), (), {})
    assert {cell["graph"] for cell in cells if cell["method"] in PRINTED_RULES} == {"yago3-10-quarter"}
    assert {rule.head_relation for rule in PRINTED_RULES["printed stablerule"]} == set(PAPERS["yago3-10-quarter"])


def test_where_files_of_rules_are_must_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compared_rules.FOLDER_OF_RULES, raising=False)
    with pytest.raises(InputError, match="Set STABLERULE_RULES to the folder .* such as anyburl-umls.txt"):
        rule_file("umls")
    monkeypatch.setenv(compared_rules.FOLDER_OF_RULES, str(tmp_path))
    with pytest.raises(InputError, match=r"No rule file anyburl-umls\*.txt"):
        rule_file("umls")
