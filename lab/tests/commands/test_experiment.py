"""`stablerule experiment` on a small world."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stablerule.datasets import load, newsroom
from stablerule.errors import OptionError
from stablerule.registry import MODELS
from stablerule.reports.rendering import make_template_environment
from stablerule_lab.experiments.cells import FORMAT, Cell, add_cell, cell_name, read_cells
from stablerule_lab.experiments.methods import ABLATED, METHODS, RECIPES, made_with
from stablerule_lab.experiments.specs import EXPERIMENTS
from stablerule_lab.experiments.train_side import runs as train_side
from tests.terminal import fails, run

WORLD = newsroom(people=100, missing=0.2, seed=0).dataset
ASKED = ("--graphs", "newsroom", "--methods", "tabular", "--biases", "0,0.9", "--seeds", "1", "--reference", "tabular")


@pytest.fixture(autouse=True)
def _small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_side, "_dataset", lambda _: WORLD)
    monkeypatch.setattr("stablerule_lab.experiments.train_side.body_level.WALKS", 2000)


def test_cells_are_kept_and_told_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("experiment", "train-side", "--results", tmp_path, *ASKED)
    assert result.exit_code == 0, result.output
    assert len(read_cells(tmp_path / "train-side.jsonl")) == 2
    built = tmp_path / "built"
    rows = json.loads((built / "train-side-reference-tabular.json").read_text())
    assert [row["bias"] for row in rows] == [0, 0.9]
    assert f"{rows[1]['mean']:.3f}" in result.stdout
    assert f"| tabular | 0.9 | 1 | {rows[1]['mean']:.3f} |" in (built / "train-side-reference-tabular.md").read_text()

    def worked(*_: object) -> dict[str, object]:
        raise AssertionError("run again")

    monkeypatch.setitem(EXPERIMENTS, "train-side", replace(EXPERIMENTS["train-side"], run=worked))
    again = run("experiment", "train-side", "--results", tmp_path, *ASKED)
    assert again.exit_code == 0
    assert again.stdout == result.stdout


def test_a_cell_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> dict[str, object]:
        raise OSError("no room left")

    monkeypatch.setitem(EXPERIMENTS, "train-side", replace(EXPERIMENTS["train-side"], run=breaks))
    result = run("experiment", "train-side", "--results", tmp_path, *ASKED)
    assert result.exit_code == 1
    assert "no room left" in result.stderr
    assert not (tmp_path / "train-side.jsonl").exists()


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for words, problem in (
        (("magic",), "No experiment 'magic'. Experiments: completion, no-shift"),
        (("train-side", "--graphs", "mars"), "--graphs must be some of newsroom"),
        (("train-side", "--methods", "tabula"), "Closest: 'tabular'"),
        (("train-side", "--biases", "much"), "--biases must be numbers"),
        (("train-side", "--reference", "me"), "--reference must be one of"),
        (("train-side", "--split", "train"), "--split must be one of test, valid"),
        (("train-side", "--minutes", "-1"), "--minutes must be at least 0"),
        (("methods", "--biases", "0.5"), "Experiment 'methods' has no option --biases"),
    ):
        assert problem in fails("experiment", *words, "--results", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_experiments_are_listed_with_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("STABLERULE_DATA", str(tmp_path))
    monkeypatch.setattr("stablerule.datasets.loading.find_dataset_cache", lambda: tmp_path / "cache")
    with monkeypatch.context() as quickly:
        quickly.setitem(EXPERIMENTS, "train-side", replace(EXPERIMENTS["train-side"], **finds(1)))
        assert run("experiment", "train-side", *ASKED).exit_code == 0
    assert len(read_cells(tmp_path / "results" / "train-side.jsonl")) == 2  # by default
    result = run("experiment", "list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in EXPERIMENTS)
    assert "2 of 600 cells" in result.stdout
    assert result.stdout.count("acl-biblio") == 2  # it is asked about, and to be fetched
    (tmp_path / "acl-biblio").mkdir()
    assert run("experiment", "list").stdout.count("acl-biblio") == 1


def test_seeds_are_counted_or_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    def remember(cell: Cell, cache: Path) -> dict[str, Any]:
        ran.append(int(cell["seed"]))
        raise OSError("enough")

    monkeypatch.setitem(EXPERIMENTS, "methods", replace(EXPERIMENTS["methods"], run=remember))
    for text, seeds in (("3", [0, 1, 2]), ("3,", [3]), ("1,4", [1, 4])):
        ran.clear()
        run(
            "experiment",
            "methods",
            "--results",
            tmp_path,
            "--graphs",
            "umls",
            "--methods",
            "popularity",
            "--seeds",
            text,
        )
        assert ran == seeds
    for text in ("0", "-1", "-1,2", ","):
        assert "--seeds must be" in fails("experiment", "methods", "--results", tmp_path, f"--seeds={text}")


def test_what_is_left_out_is_run_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def remember(cell: Cell, cache: Path) -> dict[str, Any]:
        ran.append(str(cell["method"]))
        raise OSError("enough")

    spec = replace(EXPERIMENTS["rule-budget"], run=remember, left_out={("umls", "tabular"): "it is slow"})
    monkeypatch.setitem(EXPERIMENTS, "rule-budget", spec)
    asked = ("experiment", "rule-budget", "--results", tmp_path, "--graphs", "umls,family", "--seeds", "1")
    run(*asked)
    assert ran.count("tabular") == 1  # on the other graph
    assert ran.count("nodecor") == 2
    ran.clear()
    run(*asked, "--methods", "tabular")
    assert ran == ["tabular", "tabular"]
    everything = spec.cells(spec.graphs, spec.methods, spec.seeds, {})
    dear = [cell for cell in everything if cell["seed"] and not spec.is_cheap(str(cell["graph"]), str(cell["method"]))]
    assert dear
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    assert f"0 of {len(everything) - len(dear) - len(spec.seeds)} cells" in run("experiment", "list").stdout


def test_dear_cells_have_one_seed_unless_more_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, int]] = []

    def remember(cell: Cell, cache: Path) -> dict[str, Any]:
        ran.append((str(cell["graph"]), int(cell["seed"])))
        raise OSError("enough")

    dear = replace(EXPERIMENTS["rule-budget"], run=remember, is_cheap=lambda graph, method: graph == "umls")
    monkeypatch.setitem(EXPERIMENTS, "rule-budget", dear)
    asked = ("experiment", "rule-budget", "--results", tmp_path, "--graphs", "umls,family", "--methods", "tabular")
    run(*asked)
    assert ran == [("umls", 0), ("family", 0), ("umls", 1), ("umls", 2)]
    ran.clear()
    run(*asked, "--seeds", "2")
    assert ran == [("umls", 0), ("family", 0), ("umls", 1), ("family", 1)]
    listed = run("experiment", "list").stdout
    told = listed.partition("\nrule-budget\n")[2].partition("\nnatural\n")[0]
    assert "seeds: 1 or 3;" in told


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods, judged in processes of their own."""
    folder = tmp_path_factory.mktemp("cells")
    asked = ("--graphs", "geography", "--methods", "popularity,tabular", "--seeds", "1")
    result = run("experiment", "methods", "--results", folder, *asked)
    assert result.exit_code == 0, result.output
    return folder


def test_methods_are_judged_in_processes_of_their_own(judged: Path) -> None:
    rows = json.loads((judged / "built" / "methods.json").read_text())
    assert {row["method"] for row in rows} == {"popularity", "tabular"}
    row = rows[0]
    assert 0 < row["whole"]["realistic"]["mrr"] <= row["whole"]["optimistic"]["mrr"] < 1
    assert row["peak_gb"] > 0
    assert "| popularity |" in (judged / "built" / "methods.md").read_text()


def test_the_same_models_are_judged_by_groups_and_on_all_of_test(judged: Path) -> None:
    """No cell is run again: the three experiments read the same ones."""
    before = (judged / "methods.jsonl").read_bytes()
    cells = {cell_name(one["cell"]): one["result"] for one in read_cells(judged / "methods.jsonl")}
    asked = ("--results", judged, "--graphs", "geography", "--seeds", "1", "--minutes", "0")
    grouped = run("experiment", "completion", *asked)
    assert grouped.exit_code == 0, grouped.output
    rows = {row["method"]: row for row in json.loads((judged / "built" / "completion.json").read_text())}
    for name, row in rows.items():
        cell = cells[f"graph=geography,method={name},seed=0"]
        groups = cell["groups"]["density"]["groups"]
        assert len(groups) == 5
        assert sum(group["n"] for group in groups.values()) == 2 * len(load("geography").test)
        figures = [group["realistic"]["mrr"] for group in groups.values()]
        found = row["density"]["realistic"]["mrr"]
        assert found["mean"] == pytest.approx(sum(figures) / 5)
        assert found["worst"] == min(figures)
        whole = sum(group["n"] * group["realistic"]["mrr"] for group in groups.values())
        assert whole / sum(group["n"] for group in groups.values()) == pytest.approx(cell["whole"]["realistic"]["mrr"])
    page = (judged / "built" / "completion.html").read_text()
    assert (judged / "built" / "completion-groups.svg").read_text().strip() in page
    assert f"{rows['tabular']['density']['realistic']['mrr']['mean']:.3f}" in page
    arbitrary = run("experiment", "completion", *asked, "--align", "arbitrary")
    assert f"{rows['tabular']['arbitrary']['realistic']['mrr']['mean']:.3f}" in arbitrary.stdout
    assert "--align must be one of density, arbitrary" in fails("experiment", "completion", *asked, "--align", "none")
    assert (judged / "methods.jsonl").read_bytes() == before


def test_again_replaces_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("--graphs", "umls", "--methods", "popularity", "--seeds", "1")
    for words, found, kept in (((), 1, 1), (("--resume",), 2, 1), (("--again",), 3, 3)):
        monkeypatch.setitem(
            EXPERIMENTS, "no-shift", replace(EXPERIMENTS["no-shift"], methods=("popularity",), **finds(found))
        )
        assert run("experiment", "no-shift", "--results", tmp_path, *asked, *words).exit_code == 0
        (cell,) = read_cells(tmp_path / "methods.jsonl")
        assert cell["result"] == {"figure": kept}


def finds(figure: float) -> dict[str, Any]:
    """The parts of an experiment that finds the same in each cell, without work."""
    return {
        "run": lambda cell, cache: {"figure": figure},
        "summarise": lambda results, own: [],
        "tables": lambda rows, own: [],
    }


def test_methods_are_asked_about_entities_that_they_have_not_seen(tmp_path: Path) -> None:
    asked = ("--graphs", "geography-inductive", "--methods", "popularity", "--seeds", "1")
    result = run("experiment", "inductive", "--results", tmp_path, *asked)
    assert result.exit_code == 0, result.output
    (row,) = json.loads((tmp_path / "built" / "inductive.json").read_text())
    assert len(row["density"]["queries"]) == 5
    learned_from, judged_on = read_cells(tmp_path / "inductive.jsonl")[0]["result"]["data"]
    assert learned_from != judged_on
    assert "printed" not in (tmp_path / "built" / "inductive.md").read_text()  # the paper has no such graph


def test_methods_that_know_entities_by_name_are_not_asked_about_others(tmp_path: Path) -> None:
    failed = run(
        "experiment", "inductive", "--results", tmp_path, "--graphs", "geography-inductive", "--methods", "rotate"
    )
    assert failed.exit_code != 0
    assert "rotate" in str(failed.exception)


def test_every_row_of_every_table_is_a_learner_with_options_that_it_has() -> None:
    for variant in (METHODS | ABLATED).values():
        MODELS[variant.learner].with_options(variant.options).check_options()


def test_the_full_recipe_has_the_hyper_parameters_of_the_paper_for_each_graph() -> None:
    for graph, size in (("umls", 512), ("kinship", 1024), ("yago3-10-quarter", 1024)):
        made = {name: made_with({"graph": graph, "method": name, "seed": 0}) for name in RECIPES}
        assert {one["settings"]["training.size"] for one in made.values()} == {size}
        assert made["full recipe"]["settings"]["decorrelation.literal"]
        assert made["full recipe nodecor"]["settings"]["decorrelation"] is None
        control = made["full recipe random weights"]["settings"]
        assert control == made["full recipe"]["settings"] | {"decorrelation.random": True}
        assert {one["minutes"] for one in made.values()} == {120}
    assert all(("geography", name) in EXPERIMENTS["ablation"].left_out for name in RECIPES)
    with pytest.raises(OptionError, match="No paper settings for 'geography'"):
        made_with({"graph": "geography", "method": "full recipe", "seed": 0})


def test_without_the_extras_there_are_tables_still(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_template_environment.cache_clear()
    monkeypatch.setattr("stablerule.reports.rendering.find_spec", lambda name: None)
    (judged / "built" / "no-shift.html").unlink(missing_ok=True)
    result = run("experiment", "no-shift", "--results", judged, "--graphs", "umls", "--minutes", "0")
    assert result.exit_code == 0
    assert "Figures and HTML page skipped" in result.stderr
    assert not (judged / "built" / "no-shift.html").exists()
    assert (judged / "built" / "no-shift.md").exists()


def test_all_cells_are_exported_as_one_flat_table(tmp_path: Path) -> None:
    """Of two experiments with different keys and results."""
    groups = {"paths 0": {"mrr": 0.5, "n": 3}, "paths 1": {"mrr": 1, "n": 2}}
    settings = {"size": 8, "negatives": None}
    result = {"groups": groups, "settings": settings, "cut": False, "curve": [{"kept": 1}], "seconds": 7}
    spare = {"format": FORMAT, "seconds": 2.5, "versions": {"python": "3.13"}, "made_with": {"settings": settings}}
    for file, cell, found in (
        ("train-side", {"graph": "umls", "bias": 0.9, "method": "rff", "seed": 0}, {"mrr": 0.25, "seconds": 0.5}),
        ("methods", {"graph": "umls", "method": "ncrl", "seed": 1}, result),
        ("methods", {"graph": "family", "method": "ncrl", "seed": 0}, {"mrr": None}),
    ):
        add_cell(tmp_path / f"{file}.jsonl", spare | {"cell": cell, "result": found})
    told = run("experiment", "export", "--results", tmp_path)
    assert told.exit_code == 0, told.output
    assert "wrote 3 cells" in told.stderr
    table = pl.read_parquet(tmp_path / "built" / "cells.parquet")
    assert table.columns[:5] == ["experiment", "graph", "method", "seed", "bias"]
    keys = table.select("experiment", "graph", "seed", "bias").rows()
    assert keys == [("methods", "family", 0, None), ("methods", "umls", 1, None), ("train-side", "umls", 0, 0.9)]
    assert table.row(1, named=True) == {
        "experiment": "methods",
        "graph": "umls",
        "method": "ncrl",
        "seed": 1,
        "bias": None,
        "seconds": 2.5,
        "versions.python": "3.13",
        "made_with.settings": json.dumps(settings),
        "result.mrr": None,
        "result.groups.paths 0.mrr": 0.5,
        "result.groups.paths 0.n": 3,
        "result.groups.paths 1.mrr": 1.0,
        "result.groups.paths 1.n": 2,
        "result.settings": json.dumps(settings),
        "result.cut": False,
        "result.curve": json.dumps([{"kept": 1}]),
        "result.seconds": 7.0,
    }
    kinds = {"seed": pl.Int64, "bias": pl.Float64, "result.cut": pl.Boolean, "result.seconds": pl.Float64}
    assert {name: table.schema[name] for name in kinds} == kinds


def test_an_export_replaces_no_file_unasked(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    asked = ("experiment", "export", "--results", tmp_path / "results", "-o")
    place = tmp_path / "cells.parquet"
    assert "results: has no finished cells. Run an experiment first" in fails(*asked, place)
    cell = {"format": FORMAT, "cell": {"graph": "umls", "method": "ncrl", "seed": 0}, "result": {}}
    add_cell(tmp_path / "results" / "methods.jsonl", cell)
    assert "-o must be a .parquet file" in fails(*asked, tmp_path / "cells.csv")
    place.write_text("mine")
    assert "already exists. Choose another file, or add --overwrite." in fails(*asked, place)
    assert place.read_text() == "mine"
    assert run(*asked, place, "--overwrite").exit_code == 0
    assert pl.read_parquet(place).height == 1
    for _ in range(2):  # what is built may be built again
        assert run("experiment", "export", "--results", tmp_path / "results").exit_code == 0
    assert "-o and --overwrite only work with export" in fails("experiment", "list", "-o", place)
