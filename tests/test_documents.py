"""Figures in documents come from the results files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.accuracy import SEEDS
from benchmarks.accuracy_tables import lever_table, main_table
from benchmarks.answering import answering_table
from benchmarks.expecting import table as expecting_table

ROOT = Path(__file__).parents[1]


def test_the_figures_of_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results" / "reading.json").read_text())
    readme = (ROOT / "README.md").read_text()
    million, twenty = results["million"], results["twenty_million"]
    assert f"CPU time | {million['stablerule']['cpu_seconds']:.2f} s |" in readme
    assert f"{million['pykeen']['cpu_seconds']:.2f} s ({million['times_faster']:.1f} times as much)" in readme
    assert f"peak memory | {twenty['stablerule']['peak_gb']:.1f} GB |" in readme
    assert f"PyKEEN {results['versions']['pykeen']}" in readme


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def test_the_figures_about_learning_are_those_of_the_benchmarks() -> None:
    text = (ROOT / "docs" / "learning.md").read_text()
    learning, choices = results("learning"), results("choices")
    assert f"walks a second | {learning['walking']['walks_a_second'] / 1e6:.1f} million |" in text
    assert f"{learning['step']['times_faster']:.0f} times faster than the same network" in text
    assert f"add to the training time | {learning['weights']['added_share']:.0%} |" in text
    for row in results("decorrelation")["rows"]:
        if row["threads"] == 2:
            assert f"{row['times_faster']:.0f} times faster" in text
    for world, count in (("newsroom", "18 of 18"), ("households", "45 of 45")):
        assert f"{count} in `{world}`" in text
        for method in ("stablerule", "tabular"):
            found = choices["true rules"][f"{world}, {method}"]
            assert f"{found['found']} of {found['of']}" == count


def test_the_figures_of_the_decisions_are_those_of_the_benchmarks() -> None:
    weights = results("learning")["weights"]
    carried = (ROOT / "docs" / "decisions" / "0013-weights-carried.md").read_text()
    assert f"adds {weights['added_share']:.0%} to the training time" in carried
    assert f"ends at {weights['dependence_carried']:.2f}" in carried
    assert f"bring it to {weights['fresh_steps_of_the_paper']['dependence']:.2f}" in carried
    mixed = (ROOT / "docs" / "decisions" / "0010-mixed-lengths.md").read_text()
    for graph in ("family", "fb15k-237"):
        for way, losses in results("choices")[graph].items():
            assert f"| {way} | {' | '.join(f'{loss:.3f}' for loss in losses.values())} |" in mixed


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        assert f"({page.name})" in listed


def test_the_tables_of_accuracy_are_those_of_the_benchmark() -> None:
    text = (ROOT / "docs" / "accuracy.md").read_text()
    found = results("accuracy")
    for line in [*main_table(found), *lever_table(found)]:
        assert line in text


def test_the_figures_about_answering_are_those_of_the_benchmark() -> None:
    text = (ROOT / "docs" / "answering.md").read_text()
    for line in answering_table(results("answering")):
        assert line in text


def test_the_table_of_expected_accuracy_is_that_of_the_benchmark() -> None:
    text = (ROOT / "docs" / "shifts.md").read_text()
    found = results("expecting")
    for line in expecting_table(found):
        assert line in text
    kinds = [(kind, one) for graph in found.values() for kind, one in graph["kinds"].items()]
    for of_paths, words in ((True, "single groups of `by_paths` {:.0%} of {} shifts"), (False, "kinds {:.0%} of {}.")):
        some = [one for kind, one in kinds if (kind == "paths") == of_paths]
        shifts = sum(one["shifts"] for one in some)
        held = sum(round(one["held"] * one["shifts"]) for one in some)
        assert words.format(held / shifts, shifts) in text


def test_the_figures_about_grouping_and_about_seeds_are_those_of_the_benchmarks() -> None:
    grouping, accuracy = results("grouping"), (ROOT / "docs" / "accuracy.md").read_text()
    said = f"takes {grouping['seconds']} s with it, on two cores, in a process of {grouping['peak_gb']} GB"
    assert said in (ROOT / "docs" / "shifts.md").read_text()
    seeds = [results("accuracy")["umls"][row]["mrr"] for row in SEEDS]
    assert ", ".join(f"{mrr:.3f}" for mrr in seeds) in accuracy
