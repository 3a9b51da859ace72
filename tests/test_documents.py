"""Tables in documents are those that the benchmarks make of their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.accuracy_tables import lever_table, main_table
from benchmarks.answering import answering_table
from benchmarks.expecting import table as expecting_table

ROOT = Path(__file__).parents[1]


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def test_tables_are_those_of_the_benchmarks() -> None:
    accuracy = results("accuracy")
    for page, lines in (
        ("accuracy", [*main_table(accuracy), *lever_table(accuracy)]),
        ("answering", answering_table(results("answering"))),
        ("shifts", expecting_table(results("expecting"))),
    ):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert lines
        for line in lines:
            assert line in text, page


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        assert f"({page.name})" in listed
