"""`stablerule experiment` on a small world."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stablerule.datasets import newsroom
from stablerule.experiments import train_side
from stablerule.experiments.specs import EXPERIMENTS
from tests.terminal import fails, run

WORLD = newsroom(people=200, missing=0.2, seed=0).dataset
ASKED = ("--graphs", "newsroom", "--methods", "tabular", "--biases", "0,0.9", "--seeds", "0", "--reference", "tabular")


@pytest.fixture(autouse=True)
def _small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_side, "_dataset", lambda _: WORLD)
    monkeypatch.setattr("stablerule.experiments.body_level.WALKS", 2000)


def test_cells_are_kept_and_told_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("experiment", "train-side", "-o", tmp_path / "cells", *ASKED)
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "cells").glob("graph=*.json"))) == 2
    rows = json.loads((tmp_path / "cells" / "summary.json").read_text())
    assert [row["bias"] for row in rows] == [0, 0.9]
    assert f"{rows[1]['mean']:.3f}" in result.stdout
    assert f"| tabular | 0.9 | 1 | {rows[1]['mean']:.3f} |" in (tmp_path / "cells" / "summary.md").read_text()

    def worked(*_: object) -> dict[str, object]:
        raise AssertionError("run again")

    monkeypatch.setitem(EXPERIMENTS, "train-side", replace(EXPERIMENTS["train-side"], run=worked))
    again = run("experiment", "train-side", "-o", tmp_path / "cells", *ASKED)
    assert again.exit_code == 0
    assert again.stdout == result.stdout


def test_a_cell_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> dict[str, object]:
        raise OSError("no room left")

    monkeypatch.setitem(EXPERIMENTS, "train-side", replace(EXPERIMENTS["train-side"], run=breaks))
    result = run("experiment", "train-side", "-o", tmp_path, *ASKED)
    assert result.exit_code == 1
    assert "no room left" in result.stderr
    assert not list(tmp_path.glob("graph=*.json"))


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for words, problem in (
        (("magic",), "There is no experiment 'magic'. There are: train-side, methods"),
        (("train-side", "--graphs", "mars"), "--graphs must be some of newsroom"),
        (("train-side", "--methods", "tabula"), "Closest: 'tabular'"),
        (("train-side", "--biases", "much"), "--biases must be numbers"),
        (("train-side", "--reference", "me"), "--reference must be one of"),
        (("train-side", "--split", "train"), "--split must be one of test, valid"),
        (("train-side", "--minutes", "-1"), "--minutes must be at least 0"),
        (("methods", "--biases", "0.5"), "--biases is not for the experiment 'methods'"),
    ):
        assert problem in fails("experiment", *words, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_experiments_are_listed_and_a_place_is_needed() -> None:
    result = run("experiment", "list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in EXPERIMENTS)
    assert "Say where the cells are kept" in fails("experiment", "train-side")


def test_methods_are_judged_in_processes_of_their_own(tmp_path: Path) -> None:
    asked = ("--graphs", "geography", "--methods", "popularity")
    result = run("experiment", "methods", "-o", tmp_path, *asked)
    assert result.exit_code == 0, result.output
    (row,) = json.loads((tmp_path / "summary.json").read_text())
    assert row["method"] == "popularity"
    assert 0 < row["mrr"] <= row["optimistic_mrr"] < 1
    assert row["peak_gb"] > 0
    assert "| popularity |" in (tmp_path / "summary.md").read_text()
