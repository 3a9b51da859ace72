"""`stablerule shift` as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stablerule import newsroom, write_dataset
from stablerule.errors import MissingExtra
from stablerule.shifts import distances as distances_module
from stablerule.shifts import report as comparing_module
from stablerule.shifts import signatures as extras_module
from stablerule.shifts.report import FIGURES
from tests.terminal import fails, program, run

# Asked about journalists in train and valid, and about footballers in test.
WORLD = newsroom(people=400, valid=0.25, train_mix=0.2, test_mix=0.8, seed=0)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances_module, "RESAMPLES", 100)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "newsroom"
    write_dataset(WORLD.dataset, folder)
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    options = ("walks=5000", "rules_per_relation=40", "aggregation=max_plus")
    result = run("learn", data, "-o", folder, "--method", "tabular", *(w for o in options for w in ("--set", o)))
    assert result.exit_code == 0, result.output
    return folder


def rows_of(split: str) -> list[tuple[Any, ...]]:
    facts = WORLD.dataset.frame(split).select("head", "relation", "tail").rows()
    return [*facts, *((tail, f"~{relation}", head) for head, relation, tail in facts)]


def written(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The facts of test, with their answers."""
    return written(tmp_path_factory.mktemp("queries") / "mine.tsv", rows_of("test"))


def shifted(model: Path, queries: Path, *words: str | Path) -> Any:
    """As JSON, compared with valid."""
    result = run("shift", model, "--queries", queries, "--reference", "valid", "--json", "-", *words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_a_report_for_people(model: Path, queries: Path) -> None:
    result = run("shift", model, "--queries", queries, "--reference", "valid")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "shifted: 160 queries compared with 200 valid queries (model: tabular)"
    assert lines[1].startswith("  bodies that fire: distance 0.")
    for start in ("Expected MRR: ", "Out of reach: 0.0% (", "distance ", "What changed", "weak spots ", "What to do"):
        assert any(line.startswith(start) for line in lines)
    assert "Measured MRR" not in result.stdout
    assert " of the queries for its relation (before: " in result.stdout
    assert "the validation facts also chose the aggregation" in result.stderr


def test_json_parses_and_is_the_same_in_a_file(model: Path, queries: Path, tmp_path: Path) -> None:
    printed = shifted(model, queries)
    result = run("shift", model, "--queries", queries, "--reference", "valid", "--json", tmp_path / "r.json")
    assert "What to do" in result.stdout
    assert json.loads((tmp_path / "r.json").read_text()) == printed
    assert os.listdir(tmp_path) == ["r.json"]
    assert printed["verdict"] == "shifted"
    assert set(printed["figures"]) == set(FIGURES)
    assert printed["about"] == {
        "reference_queries": 200,
        "current_queries": 160,
        "method": "tabular",
        "model": str(model),
        "queries": "mine.tsv",
        "reference": "valid",
        "data": "newsroom",
    }
    assert printed["measured"]["mrr"] is None


def test_answers_are_used_only_if_asked_for(model: Path, queries: Path, tmp_path: Path) -> None:
    without = written(tmp_path / "mine.tsv", [(head, relation, "?") for head, relation, _ in rows_of("test")])
    hidden, unasked = shifted(model, without), shifted(model, queries)
    assert hidden == unasked
    measured = shifted(model, queries, "--labels")
    assert measured["expected"] == hidden["expected"]
    assert measured["measured"] == {"mrr": measured["figures"]["measured_mrr"], "queries": 160, "uses_answers": True}
    assert 0 < measured["measured"]["mrr"] <= 1
    for_people = run("shift", model, "--queries", queries, "--labels")
    assert " on 160 queries with answers" in for_people.stdout
    assert "--labels needs queries with answers" in fails("shift", model, "--queries", without, "--labels")


def test_the_reference_is_test_unless_asked_for(model: Path, queries: Path) -> None:
    result = run("shift", model, "--queries", queries, "--json", "-")
    found = json.loads(result.stdout)
    assert found["about"]["reference"] == "test"
    assert found["verdict"] == "similar"  # the very same queries
    assert result.stderr == ""
    assert "--reference must be one of test, valid, got 'train'" in fails(
        "shift", model, "--queries", queries, "--reference", "train"
    )


def test_the_seed(model: Path, queries: Path) -> None:
    one, same, other = (shifted(model, queries, "--seed", seed) for seed in ("1", "1", "2"))
    assert one == same
    assert one["distances"] != other["distances"]
    assert "--seed must be a whole number of at least 0" in fails("shift", model, "--queries", queries, "--seed", "-1")


def test_a_page(model: Path, queries: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text("an older page")
    result = run("shift", model, "--queries", queries, "--reference", "valid", "-o", place)
    assert result.exit_code == 0, result.output
    assert f"HTML page: {place}" in result.stdout.replace("\n", "")
    page = place.read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "works_for" in page
    assert os.listdir(tmp_path) == ["report.html"]
    both = run("shift", model, "--queries", queries, "--output", place, "--json", "-")
    assert json.loads(both.stdout)["verdict"] == "similar"
    assert place.read_text() != page


def test_conditions_make_the_exit_code(model: Path, queries: Path, tmp_path: Path) -> None:
    words = ("shift", model, "--queries", queries, "--reference", "valid")
    assert run(*words, "--fail-if", "worst_mrr<0.01").exit_code == 0
    result = run(*words, "--fail-if", "worst_mrr<0.01", "--fail-if", "bodies_that_fire>=0.2", "-o", tmp_path / "p.html")
    assert result.exit_code == 1
    assert "--fail-if bodies_that_fire>=0.2: bodies_that_fire is 0." in result.stderr
    assert "worst_mrr<0.01 holds" not in result.stderr
    assert "What to do" in result.stdout  # the report is there all the same
    assert (tmp_path / "p.html").exists()
    result = run(*words, "--fail-if", "measured_mrr<0.3", "--json", "-")
    assert result.exit_code == 1
    assert "--fail-if measured_mrr<0.3: measured_mrr has no value." in result.stderr
    json.loads(result.stdout)


@pytest.mark.slow
def test_the_exit_code_of_the_program(model: Path, queries: Path) -> None:
    words = ("shift", model, "--queries", queries, "--fail-if", "outside>=0")
    found = subprocess.run(program(*words), capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "--fail-if outside>=0: outside is 0.000" in found.stderr
    assert "What to do" in found.stdout


def test_bad_conditions_are_refused_before_any_work(
    model: Path, queries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing_module, "Profiler", None)
    assert "A condition must look like 'worst_mrr<0.3', got 'worst_mrr'" in fails(
        "shift", model, "--queries", queries, "--fail-if", "worst_mrr"
    )
    assert "Closest: 'worst_mrr'" in fails("shift", model, "--queries", queries, "--fail-if", "worst_mr<1")
    assert run("shift", model).exit_code == 2  # no queries
    assert run("shift", "--queries", queries).exit_code == 2


def test_bad_places_are_refused_before_any_work(
    model: Path, queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing_module, "Profiler", None)
    words = ("shift", model, "--queries", queries)
    assert "does not exist. Make it first" in fails(*words, "--json", tmp_path / "no" / "r.json")
    assert "it is a folder. Choose another name" in fails(*words, "-o", tmp_path)
    assert "-o must be a file" in fails(*words, "-o", "")
    # A good place for the page, and a bad one for the JSON: nothing of both.
    assert "Make it first" in fails(*words, "-o", tmp_path / "p.html", "--json", tmp_path / "no" / "r.json")
    assert os.listdir(tmp_path) == []


def test_nothing_is_half_written_when_the_page_fails(
    model: Path, queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import stablerule.cli.shift as command

    def breaks(report: object) -> str:
        raise MissingExtra("Writing a page", package="jinja2", extra="report")

    (tmp_path / "old.html").write_text("old")
    monkeypatch.setattr(command, "render_shift_page", breaks)
    words = ("shift", model, "--queries", queries, "-o", tmp_path / "old.html", "--json", tmp_path / "r.json")
    assert "pip install 'stablerule[report]'" in fails(*words)
    assert (tmp_path / "old.html").read_text() == "old"
    assert os.listdir(tmp_path) == ["old.html"]


def test_a_missing_jinja_is_told_before_the_work(
    model: Path, queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing_module, "Profiler", None)
    words = ("shift", model, "--queries", queries)
    assert "-o must be a file, got '-'. To print the report as JSON: --json -" in fails(*words, "-o", "-")
    monkeypatch.setattr("stablerule.reports.rendering.find_spec", lambda name: None)
    assert "pip install 'stablerule[report]'" in fails(*words, "-o", tmp_path / "p.html")
    assert os.listdir(tmp_path) == []


def test_without_scikit_learn(model: Path, queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras_module, "find_spec", lambda name: None)
    shown = run("shift", model, "--queries", queries)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("similar: ")
    assert "Expected MRR: cannot be estimated (Estimating it needs the package 'scikit-learn'." in shown.stdout
    assert "To see which accuracy to expect: Estimating it needs the package 'scikit-learn'." in shown.stdout
    assert run("shift", model, "--queries", queries, "--fail-if", "expected_mrr<0").exit_code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\tb\n", r"bad.tsv, line 1: found 'a\\tb'. Expected head, relation and tail"),
        (b"a\tr\t?\n?\tr\t?\n", "bad.tsv, line 2: found"),
        (b"a\tr\t\xff\n", "bad.tsv, line 1: not UTF-8"),
        (b"", "bad.tsv: no queries"),
    ],
)
def test_bad_queries_are_named_by_file_and_line(model: Path, tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "bad.tsv"
    file.write_bytes(text)
    assert message.replace("\\\\", "\\") in fails("shift", model, "--queries", file)


def test_one_query_and_queries_about_nothing(model: Path, tmp_path: Path) -> None:
    one = written(tmp_path / "one.tsv", rows_of("test")[:1])
    result = run("shift", model, "--queries", one)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("outside: 1 queries compared with ")
    assert (
        "Expected MRR: cannot be estimated (only 1 of these queries have a candidate; at least 10 are needed"
        in result.stdout
    )
    nothing = written(tmp_path / "nothing.tsv", [("[red]x", "[bold]y", "?")] * 12)
    result = run("shift", model, "--queries", nothing, "-o", tmp_path / "p.html", "--fail-if", "relation_mix>0.5")
    assert result.exit_code == 1, result.output
    assert "Out of reach: 100.0% (unseen entity 0, unseen relation 12, no rule fires 0)" in result.stdout
    assert "[bold]y" in result.stdout
    assert "--fail-if relation_mix>0.5: relation_mix has no value." in result.stderr
    assert "[bold]y" in (tmp_path / "p.html").read_text()


def test_other_data_and_data_without_questions(model: Path, data: Path, queries: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "train.tsv").write_bytes((data / "train.tsv").read_bytes())
    message = fails("shift", model, "--queries", queries, "--graph", folder)
    assert message == "Dataset 'bare' has no test or valid facts to compare with."
    (folder / "valid.tsv").write_bytes((data / "valid.tsv").read_bytes())
    result = run("shift", model, "--queries", queries, "--graph", folder, "--json", "-")
    assert json.loads(result.stdout)["about"]["reference"] == "valid"
    assert "has no test facts to compare with" in fails(
        "shift", model, "--queries", queries, "--graph", folder, "--reference", "test"
    )
    other = tmp_path / "other"
    write_dataset(newsroom(people=120, seed=5).dataset, other)
    result = run("shift", model, "--queries", queries, "--graph", other)
    assert result.exit_code == 0, result.output
    assert "now answers from the training facts of 'other'" in result.stderr


def test_files_that_are_not_there(model: Path, queries: Path, data: Path, tmp_path: Path) -> None:
    assert "no such folder" in fails("shift", tmp_path / "nowhere", "--queries", queries)
    assert "no such file" in fails("shift", model, "--queries", tmp_path / "nowhere.tsv")
    assert "not a model: the folder has no model.json" in fails("shift", data, "--queries", queries)
