"""Tables and figures in documents are those of the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.accuracy_tables import ANYBURL, lever_table, main_table
from benchmarks.answering import answering_table
from benchmarks.calibration import calibration_table
from benchmarks.expecting import table as expecting_table

ROOT = Path(__file__).parents[1]


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def test_tables_are_those_of_the_benchmarks() -> None:
    accuracy = results("accuracy")
    for page, lines in (
        ("accuracy", [*main_table(accuracy), *lever_table(accuracy)]),
        ("answering", answering_table(results("answering"))),
        ("completing", calibration_table(results("calibration"))),
        ("shifts", expecting_table(results("expecting"))),
    ):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert lines
        for line in lines:
            assert line in text, page


def test_figures_of_the_readme_are_those_of_the_results() -> None:
    text = (ROOT / "README.md").read_text()
    accuracy = results("accuracy")
    for graph, line in (("fb15k-237", "| FB15k-237, MRR |"), ("wn18rr", "| WN18RR, MRR |")):
        tabular = accuracy[graph]["tabular"]
        ours = f"**{tabular['mrr']:.3f}** in {tabular['seconds']['process']:.0f} s"
        assert f"{line} {ours} | {ANYBURL[graph]:.3f} after 100 s |" in text
    for learner, method in (("`Tabular`, `--method tabular`", "tabular"), ("`StableRule`, the default", "stablerule")):
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {learner}")]
        seconds = [accuracy[graph][method]["seconds"]["process"] for graph in ("fb15k-237", "wn18rr")]
        assert line.endswith(f"| {seconds[0]:.0f} s | {seconds[1]:.0f} s |")
    cells = [json.loads(line) for line in (ROOT / "lab" / "results" / "methods.jsonl").read_text().splitlines()]
    measured = {tuple(cell["cell"].values()): cell["result"] for cell in cells}
    for method, graph, before in (
        ("complex", "fb15k-237", "Our ComplEx has "),
        ("complex", "wn18rr", "one core and "),
        ("nbfnet", "fb15k-237", "stopped after one epoch ("),
        ("nbfnet", "wn18rr", "and four epochs ("),
        ("nbfnet", "kinship", "NBFNet has an MRR of "),
        ("tabular", "kinship", "and `Tabular` "),
    ):
        assert f"{before}{measured[graph, method, 0]['whole']['realistic']['mrr']:.3f}" in text, (method, graph)


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        assert f"({page.name})" in listed
