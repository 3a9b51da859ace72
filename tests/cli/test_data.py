"""`stablerule data` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from stablerule import load, read_dataset
from stablerule.cli import main
from stablerule.cli.output import make_printed_table, plain
from stablerule.errors import ReadError
from tests.terminal import fails, program, run


def shell(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80", **environment}
    return subprocess.run(program(*words), capture_output=True, text=True, env=settings, check=False)


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
    assert "1 validation or test fact also in another split" in result.stdout
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
    assert "one-to-one relations  1: capital_of" in text
    assert found["kinds"]["symmetric"] == ["neighbour_of"]


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
    result = run("data", "convert", path, tmp_path / "out", "--to", "parquet", "--shares", "0.8,0.1,0.1")
    assert result.exit_code == 0
    dataset = read_dataset(tmp_path / "out")
    assert [len(part) for part in dataset.splits.values()] == [80, 10, 10]
    assert "already exists" in fails("data", "convert", path, tmp_path / "out")
    assert run("data", "convert", path, tmp_path / "out", "--overwrite").exit_code == 0


def test_get_prints_and_writes(tmp_path: Path) -> None:
    result = run("data", "get", "geography", "-o", tmp_path / "geo")
    assert result.exit_code == 0
    assert "Dataset('geography'" in result.stdout
    assert read_dataset(tmp_path / "geo").sha256 == load("geography").sha256


def test_errors_name_the_problem_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("a\tr\tb\na\tr\n")
    (tmp_path / "good.tsv").write_text("a\tr\tb\n")
    for words, problem in (
        (("data", "stats", "famly"), "Closest: 'family'"),
        (("data", "stats", tmp_path / "nowhere.tsv"), "no such file"),
        (("data", "check", tmp_path / "bad.tsv"), "line 2: expected 3 columns, found 2"),
        (("data", "get", "geograph"), "Closest: 'geography'"),
        (("data", "stats", tmp_path / "bad.tsv", "--separator", "ab"), "must be one character"),
        (("data", "stats", "x" * 300), "can't be read: File name too long"),
        (
            ("data", "stats", tmp_path / "good.tsv", "--shares", "0.8,0.1,0.1", "--shares-seed", "-1"),
            "at least 0, got -1",
        ),
    ):
        assert problem in fails(*words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("data", "stats", "famly"), "Closest: 'family'"),
        (("data", "stats", "geography", "--shares", "0.8,0.1"), "three numbers"),
        (("data", "stats", "--nonsense"), "No such option"),
    ],
)
def test_errors_go_to_standard_error_with_exit_code_2(words: tuple[str, ...], problem: str) -> None:
    result = shell(*words)
    assert (result.returncode, result.stdout) == (2, "")
    assert problem in result.stderr
    assert "Traceback" not in result.stderr


def test_notes_of_the_reader_go_to_standard_error(tmp_path: Path) -> None:
    (tmp_path / "facts.nt").write_text('<x:a> <x:r> <x:b> .\n<x:a> <x:r> "5" .\n')
    result = shell("data", "stats", tmp_path / "facts.nt", "--json")
    assert "skipped 1 facts with a literal as tail" in result.stderr
    assert json.loads(result.stdout)["facts"]["train"] == 1


# More than a pipe holds, so that the writer notices when nobody reads on.
LARGE = """
@main.app.command()
def machine():
    for _ in range(5_000): output.print_json(["x" * 100])
@main.app.command()
def person():
    for _ in range(5_000): output.console.print("x" * 100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [["machine"], ["person"], ["--help"], ["data", "check", "geography"]])
def test_a_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(program(*words, before=LARGE), stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    if words in (["machine"], ["person"]):
        assert os.read(reading, 10)
    os.close(reading)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, b"")


@pytest.mark.slow
def test_an_output_that_can_not_be_written_is_an_error() -> None:
    for words in (["data", "check", "geography"], ["data", "list", "--json"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run(program(*words), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (result.returncode, result.stderr) == (2, "Error: No space left on device.\n")


def test_an_interrupt_is_one_word_and_130() -> None:
    waiting = """
@main.app.command()
def wait():
    import time
    print("waiting", flush=True)
    time.sleep(60)
"""
    command = program("wait", before=waiting)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "Interrupted.\n")


def run_here(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """Run a command that ends with an error, without a process of its own."""

    def command(**_: object) -> None:
        raise error

    monkeypatch.setattr(main, "app", command)
    return main._run_command_line()


def test_what_is_unexpected_is_not_called_serious(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 is for `data check`; a bug has a code of its own, one line, and a way to see more."""
    monkeypatch.delenv("STABLERULE_DEBUG", raising=False)
    for error in (RuntimeError("no idea"), pl.exceptions.PanicException("no idea")):
        assert run_here(monkeypatch, error) == 3
        said = capsys.readouterr().err
        assert f"Error: {type(error).__name__}: no idea." in said
        assert "STABLERULE_DEBUG=1" in said
        assert "Traceback" not in said
    monkeypatch.setenv("STABLERULE_DEBUG", "1")
    assert run_here(monkeypatch, RuntimeError("no idea")) == 3
    assert "Traceback" in capsys.readouterr().err


def test_every_other_end_has_its_code(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_here(monkeypatch, ReadError("no such file.")) == 2
    assert run_here(monkeypatch, typer.BadParameter("not that")) == 2
    assert run_here(monkeypatch, KeyboardInterrupt()) == 130
    assert run_here(monkeypatch, typer.Abort()) == 130
    assert run_here(monkeypatch, SystemExit(0)) == 0
    assert "not that" in capfd.readouterr().err


@pytest.mark.slow
def test_names_are_shown_to_the_letter_and_controls_are_not_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    names = [":smile:", "[red]x[/red]", "\x1b[31mred", "a\\", "[/]", "\x9b2J", "\u202egnp"]
    path.write_text("".join(f"a\t{name}\tb\n" for name in names))
    result = run("data", "stats", path)
    assert result.exit_code == 0
    relations = [line.removeprefix("    1  ").rstrip() for line in result.stdout.splitlines()[-len(names) :]]
    shown = [":smile:", "[red]x[/red]", "\\x1b[31mred", "a\\", "[/]", "\\x9b2J", "\\u202egnp"]
    assert sorted(relations) == sorted(shown)
    (tmp_path / "\x1b[31m.tsv").write_text("a\tr\n")
    failed = shell("data", "stats", tmp_path / "\x1b[31m.tsv")
    assert "\\x1b[31m.tsv, line 1: expected 3 columns" in failed.stderr
    (tmp_path / "\x1b[31m.nt").write_text('<x:a> <x:r> <x:b> .\n<x:a> <x:r> "5" .\n')
    assert "Note: " in (noted := shell("data", "stats", tmp_path / "\x1b[31m.nt")).stderr
    assert "\x1b" not in result.stdout + failed.stderr + noted.stdout + noted.stderr


@given(st.text(st.sampled_from("a[]/\\:b =#1") | st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"])))
def test_plain_text_is_printed_as_it_is(text: str) -> None:
    for markup in (plain(text), f"[bold]{plain(text)}[/bold]", f"{plain(text)} and {plain(text)}"):
        assert Text.from_markup(markup, emoji=False).plain in (text, f"{text} and {text}")


@pytest.mark.slow
def test_a_terminal_without_the_letters_gets_their_codes(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("😀\tÜ\t😀\n", encoding="utf-8")
    people = shell("data", "stats", path, PYTHONIOENCODING="ascii")
    assert people.returncode == 0
    assert "\\U0001f600" in people.stdout
    machines = shell("data", "stats", path, "--json", PYTHONIOENCODING="ascii")
    assert json.loads(machines.stdout)["frequent_relations"] == [["Ü", 1]]


def test_numbers_stay_whole_on_a_narrow_terminal() -> None:
    lines = CliRunner().invoke(main.app, ["data", "list"], env={"COLUMNS": "40"}).stdout.splitlines()
    row = next(line.split() for line in lines if line.startswith("yago3-10 "))
    assert row[:6] == ["yago3-10", "123,182", "37", "1,079,040", "5,000", "5,000"]
    assert len(row) > 6
    made = make_printed_table("facts", "relation", right=("facts",))
    made.add_row("1,234,567", "a_name_that_is_long")
    with (narrow := Console(width=14)).capture() as printed:
        narrow.print(made)
    assert "1,234,567" in printed.get()


def test_convert_refuses_before_it_makes_a_folder(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    convert = ("data", "convert", tmp_path / "facts.tsv", tmp_path / "out")
    for words, problem in (
        (("--to", "docx"), "can't write '.docx'"),
        (("--to", "nt"), "--base https://example.org/"),
        (("--to", "nt", "--base", "example"), "must be an IRI"),
    ):
        message = fails(*convert, *words)
        assert problem in message
        assert ".stablerule" not in message
        assert os.listdir(tmp_path) == ["facts.tsv"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.docx").write_text("years of work")
    assert "'thesis.docx'" in fails(*convert, "--overwrite")
    assert os.listdir(tmp_path / "out") == ["thesis.docx"]


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("stablerule 0.")
    assert "data" in run("--help").stdout
