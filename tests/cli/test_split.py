"""`stablerule split` as a user types it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stablerule import households, load, read_dataset, write_dataset
from stablerule.cli.split import KINDS
from tests.terminal import fails, run


@pytest.fixture
def timed(tmp_path: Path) -> Path:
    path = tmp_path / "events.tsv"
    lines = [f"e{i % 4}\tr\te{i}\t{1990 + i}\n" for i in range(20)]
    path.write_text("head\trelation\ttail\ttime\n" + "".join(lines) + lines[0])
    return path


def test_inductive_parts_are_shown_and_written(tmp_path: Path) -> None:
    result = run("split", "geography", "-o", tmp_path / "out", "--kind", "inductive", "--seed", "0")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "geography, inductive, seed 0"
    assert lines[1].split() == ["part", "entities", "relations", "train", "valid", "test"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    for line, (name, part) in zip(lines[2:5], manifest["parts"].items(), strict=True):
        keys = ("entities", "relations", "train", "valid", "test")
        assert line.split() == [name, *(f"{part[key]:,}" for key in keys)]
        assert read_dataset(tmp_path / "out" / name).sha256 == part["sha256"]
    lost = manifest["lost"]["facts"]["crossing parts"]
    assert f"Lost: {lost['facts']:,} of 13,435 facts" in lines
    most = next(iter(lost["relations"]))
    assert f"{lost['facts']:,} crossing parts: {most} {lost['relations'][most]:,}, " in result.stdout
    assert "(random parts: " in result.stdout
    assert result.stderr == f"Saved to {tmp_path / 'out'}\n"


def test_random_is_one_dataset(tmp_path: Path) -> None:
    words = ["--kind", "random", "--shares", "0.6,0.2,0.2", "--seed", "3", "--to", "csv.gz"]
    result = run("split", "geography", "-o", tmp_path / "out", *words)
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir(tmp_path / "out")) == ["manifest.json", "test.csv.gz", "train.csv.gz", "valid.csv.gz"]
    assert "all      4,627         10  8,061  2,687  2,687" in result.stdout
    assert "Lost: 0 of 13,435 facts." in result.stdout
    made = read_dataset(tmp_path / "out")
    assert made.sha256 == KINDS["random"](load("geography"), (0.6, 0.2, 0.2), seed=3).dataset.sha256


def test_by_time_with_shares_and_with_cuts(tmp_path: Path, timed: Path) -> None:
    result = run("split", timed, "-o", tmp_path / "shares", "--kind", "time")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("events, time\n")
    assert "Lost: 1 of 21 facts\n  1 repeated: r 1\n" in result.stdout
    assert "2 of the 2 test facts have an entity or a relation that is not in train (2 entities" in result.stdout
    result = run("split", timed, "-o", tmp_path / "cuts", "--kind", "time", "--cuts", "1995, 2000")
    assert result.exit_code == 0, result.output
    assert [len(part) for part in read_dataset(tmp_path / "cuts").splits.values()] == [5, 5, 10]
    assert "no times in train" in fails("split", "geography", "-o", tmp_path / "geo", "--kind", "time")
    assert not (tmp_path / "geo").exists()


def test_a_model_learned_on_train_is_judged_on_test(tmp_path: Path) -> None:
    write_dataset(households(families=6, seed=0).dataset, tmp_path / "data")
    run(
        "split",
        tmp_path / "data",
        "-o",
        tmp_path / "out",
        "--kind",
        "inductive",
        "--shares",
        "0.6,0,0.4",
        "--regions",
        "1",
    )
    assert sorted(os.listdir(tmp_path / "out")) == ["manifest.json", "test", "train"]
    options = [word for option in ("walks=5000", "max_length=2") for word in ("--set", option)]
    model = tmp_path / "model"
    learned = run("learn", tmp_path / "out" / "train", "-o", model, "--method", "tabular", *options)
    assert learned.exit_code == 0, learned.output
    result = run("evaluate", model, tmp_path / "out" / "test", "--json", "-")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert found["n"] == 2 * manifest["parts"]["test"]["test"]
    assert found["data"]["sha256"] == manifest["parts"]["test"]["sha256"]
    assert found["mrr"] > 0.3


def test_relations_and_entities_that_are_lost_are_named(tmp_path: Path) -> None:
    path = tmp_path / "two.tsv"
    facts = [f"{x}{i}\tr\t{x}{j}\n" for x in "ab" for i in range(6) for j in range(6) if i != j]
    path.write_text("".join([*facts, "a0\t[red]bridge\tb0\n"]))
    options = ("--kind", "inductive", "--shares", "0.5,0,0.5", "--regions", "1")
    result = run("split", path, "-o", tmp_path / "out", *options)
    assert "1 crossing parts: [red]bridge 1" in result.stdout
    assert "1 relations have no facts left: [red]bridge" in result.stdout
    # The leaves of a0 that are more than its half of the entities can't stay with it.
    path.write_text("".join(facts) + "".join(f"a0\tr\tleaf{i}\n" for i in range(30)))
    result = run("split", path, "-o", tmp_path / "other", *options)
    lost = json.loads((tmp_path / "other" / "manifest.json").read_text())["lost"]["entities"]
    assert lost > 0
    assert f"{lost} entities have no facts left" in result.stdout


def test_an_existing_folder_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("split", "geography", "-o", tmp_path / "out", "--kind", "random")
    assert run(*words).exit_code == 0
    assert run(*words, "--overwrite").exit_code == 0

    def worked(*_: object, **__: object) -> None:
        raise AssertionError("too late")

    monkeypatch.setitem(KINDS, "random", worked)
    assert "already exists. Choose another folder, or replace it with overwrite=True (--overwrite)" in fails(*words)
    (tmp_path / "out" / "thesis.docx").write_text("years of work")
    assert "not replaced: 'thesis.docx'" in fails(*words, "--overwrite")
    assert "does not exist. Make it first" in fails(
        "split", "geography", "-o", tmp_path / "a" / "b", "--kind", "random"
    )


def test_what_makes_no_sense_is_refused(tmp_path: Path, timed: Path) -> None:
    def message(*words: str | Path, data: str | Path = "geography") -> str:
        return fails("split", data, "-o", tmp_path / "out", *words)

    for words, problem in (
        (("--kind", "magic"), "--kind must be one of random, inductive, time, test-side, train-side, got 'magic'"),
        (("--kind", "random", "--shares", "0.8,0.3,0.1"), "--shares must be three shares for train, valid and test"),
        (("--kind", "random", "--shares", "most"), "--shares must be three numbers such as 0.8,0.1,0.1, got 'most'"),
        (("--kind", "random", "--seed", "-1"), "--seed must be a whole number of at least 0, got -1"),
        (("--kind", "random", "--context", "0.5"), "--context works only with --kind inductive, got random"),
        (("--kind", "inductive", "--cuts", "1,2"), "--cuts works only with --kind time, got inductive"),
        (("--kind", "inductive", "--regions", "0"), "--regions must be a whole number of at least 1, got 0"),
        (("--kind", "inductive", "--context", "1"), "--context must be above 0 and below 1"),
        (
            ("--kind", "random", "--to", "nt"),
            "A split can't be written as '.nt'. Formats are .tsv, .txt, .csv, .parquet",
        ),
    ):
        assert problem in message(*words)
    assert "--seed works only with --kind random, inductive, test-side, train-side, got time" in message(
        "--kind", "time", "--seed", "1", data=timed
    )
    assert "--cuts must be whole numbers" in message("--kind", "time", "--cuts", "a,b", data=timed)
    assert run("split", "geography", "-o", tmp_path / "out").exit_code == 2
    assert run("split", "geography", "--kind", "random").exit_code == 2
    assert os.listdir(tmp_path) == ["events.tsv"]


@pytest.mark.slow
def test_a_train_side_split_is_learned_from(tmp_path: Path) -> None:
    folder = tmp_path / "biased"
    run("split", "geography", "-o", str(folder), "--kind", "train-side", "--groups", "by_degree", "--bias", "0.9")
    assert (folder / "examples.tsv").is_file()
    found = run("learn", str(folder), "-o", str(tmp_path / "model"), "--method", "tabular", "--examples", str(folder))
    assert "facts are used as examples" in found.stderr
    failed = fails(
        "learn", "geography", "-o", str(tmp_path / "other"), "--method", "tabular", "--examples", str(tmp_path)
    )
    assert "no examples; only a train-side split" in failed
    assert not (tmp_path / "other").exists()


def test_sides_need_groups_and_a_bias(tmp_path: Path) -> None:
    place = str(tmp_path / "out")
    assert "--kind test-side needs --groups" in fails("split", "geography", "-o", place, "--kind", "test-side")
    asked = ("split", "geography", "-o", place, "--kind", "train-side", "--groups", "by_degree")
    assert "--kind train-side needs --bias" in fails(*asked)
    assert "--bias works only with --kind train-side, got random" in fails(
        "split", "geography", "-o", place, "--kind", "random", "--bias", "0.5"
    )
    assert "--bias must be" in fails(*asked, "--bias", "2")
    assert not (tmp_path / "out").exists()


def test_a_test_side_split_has_a_folder_for_each_group(tmp_path: Path) -> None:
    run(
        "split",
        "geography",
        "-o",
        str(tmp_path / "out"),
        "--kind",
        "test-side",
        "--groups",
        "by_attribute=in_continent",
    )
    assert (tmp_path / "out" / "group-africa" / "test.tsv").is_file()
