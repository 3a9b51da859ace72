"""`stablerule data` as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stablerule import load, read_dataset
from stablerule.cli.main import app


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def shell(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from stablerule.cli.main import run; run()", *map(str, words)]
    settings = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80", **environment}
    return subprocess.run(command, capture_output=True, text=True, env=settings, check=False)


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    (tmp_path / "leaky").mkdir()
    (tmp_path / "leaky" / "train.tsv").write_text("Paris\tin\tFrance\nBonn\tin\tGermany\n")
    (tmp_path / "leaky" / "test.tsv").write_text("Paris\tin\tFrance\n")
    return tmp_path / "leaky"


def test_list_names_every_graph() -> None:
    result = run("data", "list")
    assert result.exit_code == 0
    assert "fb15k-237" in result.stdout
    assert "272,115" in result.stdout
    rows = json.loads(run("data", "list", "--json").stdout)
    assert {row["name"]: row["train"] for row in rows}["wn18rr"] == 86_835


def test_check_is_0_on_sound_data_and_1_on_serious_trouble(leaky: Path) -> None:
    assert run("data", "check", "geography").exit_code == 0
    result = run("data", "check", leaky)
    assert result.exit_code == 1
    assert "1 fact of valid or test in another split as well" in result.stdout
    assert "for example: Paris in France" in result.stdout
    assert "what to do:" in result.stdout
    assert "a test result on this data would be wrong" in result.stdout
    machine = run("data", "check", leaky, "--json")
    assert machine.exit_code == 1
    report = json.loads(machine.stdout)
    assert report["serious"] is True
    assert report["findings"][0]["kind"] == "same_fact_in_two_splits"


def test_stats_for_people_and_machines() -> None:
    text = run("data", "stats", "geography").stdout
    for words in ("entities", "4,627", "in_continent", "within 3", "memory of the graph", "most facts"):
        assert words in text
    found = json.loads(run("data", "stats", "geography", "--json").stdout)
    assert found["facts"]["train"] == 10_756
    assert found["reach"]["within"].keys() == {"1", "2", "3"}


def test_reading_options_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "facts.txt"
    path.write_text("% note\nwhat;who;whom\nin;Paris;France\nin;Köln;Germany\n", encoding="latin-1")
    options = ["--separator", ";", "--columns", "who,what,whom", "--comment", "%", "--encoding", "latin-1"]
    found = json.loads(run("data", "stats", path, "--json", *options).stdout)
    assert (found["entities"], found["facts"]["train"]) == (4, 2)
    numbers = run("data", "stats", path, "--json", *options[:2], "--columns", "1,0,2", "--header", *options[4:])
    assert json.loads(numbers.stdout)["entities"] == 4


def test_convert_splits_and_changes_the_format(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("".join(f"e{i},r,e{j}\n" for i in range(10) for j in range(10)))
    result = run("data", "convert", path, tmp_path / "out", "--to", "parquet", "--split", "0.8,0.1,0.1")
    assert result.exit_code == 0
    dataset = read_dataset(tmp_path / "out")
    assert [len(part) for part in dataset.splits.values()] == [80, 10, 10]
    again = shell("data", "convert", path, tmp_path / "out")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert run("data", "convert", path, tmp_path / "out", "--overwrite").exit_code == 0


def test_get_prints_and_writes(tmp_path: Path) -> None:
    result = run("data", "get", "geography", "-o", tmp_path / "geo")
    assert result.exit_code == 0
    assert "Dataset('geography'" in result.stdout
    assert read_dataset(tmp_path / "geo").sha256 == load("geography").sha256


def test_errors_are_one_line_on_standard_error_with_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("a\tr\tb\na\tr\n")
    for words, problem in (
        (("data", "stats", "famly"), "Closest: 'family'"),
        (("data", "stats", tmp_path / "nowhere.tsv"), "no such file"),
        (("data", "check", tmp_path / "bad.tsv"), "line 2: expected 3 columns, found 2"),
        (("data", "get", "geograph"), "Closest: 'geography'"),
        (("data", "stats", "geography", "--split", "0.8,0.1"), "three numbers"),
        (("data", "stats", tmp_path / "bad.tsv", "--separator", "ab"), "must be one character"),
    ):
        result = shell(*words)
        assert result.returncode == 2, words
        assert problem in result.stderr
        assert result.stdout == ""
        assert "Traceback" not in result.stderr


def test_notes_of_the_reader_go_to_standard_error(tmp_path: Path) -> None:
    (tmp_path / "facts.nt").write_text('<x:a> <x:r> <x:b> .\n<x:a> <x:r> "5" .\n')
    result = shell("data", "stats", tmp_path / "facts.nt", "--json")
    assert "1 facts with a literal as tail were left out" in result.stderr
    assert json.loads(result.stdout)["facts"]["train"] == 1


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -c 'from stablerule.cli.main import run; run()' data list --json | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.stdout == "[\n"
    assert result.stderr == ""


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("stablerule 0.")
    assert "data" in run("--help").stdout
