"""`stablerule evaluate` as a user types it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stablerule import households, write_dataset
from stablerule.errors import StableRuleError
from stablerule.evaluation import Evaluation, evaluate
from stablerule.io import read_dataset
from stablerule.reasoning import RuleReasoner
from stablerule.registry import load_model
from tests.terminal import fails, run


def judge(model: Path, data: Path) -> Evaluation:
    loaded: Any = load_model(model)
    return evaluate(loaded, read_dataset(data))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "families"
    write_dataset(households(families=3, missing=0.4, seed=0).dataset, folder)
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    # Few rules and the plainest aggregation, so that some answers stand equal.
    options = ("walks=20000", "rules_per_relation=20", "constants=false", "aggregation=max_plus")
    result = run("learn", data, "-o", folder, "--method", "tabular", *(w for o in options for w in ("--set", o)))
    assert result.exit_code == 0, result.output
    return folder


def test_a_table_for_people(model: Path, data: Path) -> None:
    result = run("evaluate", model, data)
    assert result.exit_code == 0, result.output
    expected = judge(model, data)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("families, test:")
    assert f"{expected.n:,} queries" in lines[0]
    assert "answered by tabular from train" in lines[0]
    realistic, interval, optimistic, pessimistic = lines[3:7]
    assert realistic.split() == ["realistic", *(f"{value:.3f}" for value in expected.figures().metrics.values())]
    assert "95% interval" in interval
    assert optimistic.split()[1] == f"{expected.figures('optimistic').mrr:.3f}"
    assert pessimistic.split()[1] == f"{expected.figures('pessimistic').mrr:.3f}"
    for words in ("direction", "degree of the entity", "worst relations", "have no candidate.", "Ranked in"):
        assert words in result.stdout
    assert (
        f"{expected.coverage:.1%} of the correct answers are reached by a rule; the others are ranked by popularity."
        in result.stdout
    )
    assert "--per-relation shows all" in result.stderr
    assert expected.mrr > 0.1


def test_every_relation_on_request(model: Path, data: Path) -> None:
    result = run("evaluate", model, data, "--per-relation")
    relations = judge(model, data).by_relation()
    for name, figures in relations.items():
        (line,) = (line for line in result.stdout.splitlines() if line.startswith(f"{name} "))
        assert line.split()[1:3] == [f"{figures.n:,}", f"{figures.mrr:.3f}"]
    assert result.stderr == ""


def test_json_to_a_file_and_to_standard_output(model: Path, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "result.json"
    place.write_text("an older result")
    result = run("evaluate", model, data, "--json", place, "--seed", "3")
    assert "MRR" in result.stdout
    written = json.loads(place.read_text())
    printed = run("evaluate", model, data, "--json", "-", "--seed", "3")
    assert printed.stderr == ""
    shown = json.loads(printed.stdout)
    assert shown.pop("seconds") >= 0
    written.pop("seconds")
    assert shown == written
    assert written["options"]["seed"] == 3
    assert written["model"]["method"] == "tabular"
    assert written["data"]["sha256"] == read_dataset(data).sha256
    assert os.listdir(tmp_path) == ["result.json"]


def test_options_reach_the_evaluator(model: Path, data: Path) -> None:
    words = ["--split", "valid", "--ties", "optimistic", "--answer-from", "train+valid", "--json", "-"]
    result = run("evaluate", model, data, *words)
    found = json.loads(result.stdout)
    assert found["options"]["split"] == "valid"
    assert found["options"]["graph"] == "train+valid"
    assert found["mrr"] == found["forms"]["optimistic"]["mrr"] >= found["forms"]["realistic"]["mrr"]
    assert found["in_graph"] == found["n"] // 2
    assert "evaluated facts are also in the graph that the model answers from (train+valid)" in result.stderr
    lines = run("evaluate", model, data, "--ties", "pessimistic").stdout.splitlines()
    pessimistic, realistic = float(lines[3].split()[1]), float(lines[5].split()[1])
    assert pessimistic < realistic
    assert [line.split()[0] for line in lines[3:7]] == ["pessimistic", "95%", "realistic", "optimistic"]


def test_a_single_file_is_cut_by_shares(model: Path, data: Path) -> None:
    train = next(data.glob("train*"))
    result = run("evaluate", model, train, "--shares", "0.8,0.1,0.1", "--json", "-")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["n"] > 0
    assert "the model was trained on 'families'" in result.stderr
    message = fails("evaluate", model, train)
    assert "Dataset 'train' has no facts in test to evaluate on; train has " in message
    assert "(--split train). To split a single file, pass split=(0.8, 0.1, 0.1) (--shares 0.8,0.1,0.1)." in message
    assert run("evaluate", model, train, "--shares", "0.8").exit_code == 2


def test_data_is_read_as_the_model_s_own_was(data: Path, tmp_path: Path) -> None:
    """Separator, columns and shares are kept with the model; what is given on the command line counts more."""
    lines = [";".join(line.split("\t")[::-1]) for line in next(data.glob("train*")).read_text().splitlines()]
    path, more = tmp_path / "facts.csv", tmp_path / "more.csv"
    path.write_text("\n".join(lines) + "\n")
    how = ("--separator", ";", "--columns", "2,1,0", "--no-header")
    cut = ("--shares", "0.7,0.1,0.2")
    learned = run("learn", path, "-o", tmp_path / "m", "--method", "tabular", "--set", "walks=3000", *how, *cut)
    assert learned.exit_code == 0, learned.output
    found = run("evaluate", tmp_path / "m", path, "--json", "-")
    assert (found.exit_code, found.stderr) == (0, "")
    asked = run("evaluate", tmp_path / "m", path, *how, *cut, "--json", "-")
    figures, same = json.loads(found.stdout), json.loads(asked.stdout)
    assert figures["n"] > 20
    assert {**figures, "seconds": 0} == {**same, "seconds": 0}
    more.write_text("\n".join([*lines, "a;knows;b"]) + "\n")
    assert "has no facts in test" in fails("evaluate", tmp_path / "m", more)  # another file: it is not cut
    other = run("evaluate", tmp_path / "m", more, "--split", "train", "--json", "-")
    assert json.loads(other.stdout)["n"] == 2 * (len(lines) + 1)
    cut_anew = run("evaluate", tmp_path / "m", more, "--shares", "0.5,0.1,0.4", "--json", "-")
    assert 0 < json.loads(cut_anew.stdout)["n"] < 2 * len(lines)
    parts = run("evaluate", tmp_path / "m", data, "--columns", "0,1,2", "--separator", "tab", "--json", "-")
    assert parts.exit_code == 0, parts.output  # a folder has splits of its own


def test_split_names_a_part_and_shares_cut_a_file_in_every_command(data: Path, tmp_path: Path) -> None:
    train = next(data.glob("train*"))
    for words in (("data", "stats", train), ("learn", train, "-o", tmp_path / "m"), ("data", "check", train)):
        message = fails(*words, "--split", "0.8,0.1,0.1")
        assert message.endswith("To split a single file: --shares 0.8,0.1,0.1.")
        assert "--split" not in run(*words, "--help").stdout.replace("--shares", "")


def test_other_data_is_noted(model: Path, tmp_path: Path) -> None:
    write_dataset(households(families=4, seed=9).dataset, tmp_path / "others")
    result = run("evaluate", model, tmp_path / "others")
    assert result.exit_code == 0, result.output
    assert "not on the training facts of 'others'" in result.stderr


def test_without_data_the_model_is_evaluated_on_its_own(model: Path, data: Path, tmp_path: Path) -> None:
    for split in ("test", "valid"):
        named, own = (json.loads(run("evaluate", *words, "--split", split, "--json", "-").stdout)
                      for words in ((model, data), (model,)))  # fmt: skip
        assert {**own, "seconds": 0} == {**named, "seconds": 0}
    (tmp_path / "one.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    learned = run("learn", tmp_path / "one.tsv", "-o", tmp_path / "m", "--method", "popularity")
    assert learned.exit_code == 0, learned.output
    message = fails("evaluate", tmp_path / "m")
    assert "its data has no facts in test. Pass the facts to evaluate as DATA." in message
    load_model(model).save(tmp_path / "bare", graph=False)
    assert "saved without its graph" in fails("evaluate", tmp_path / "bare")


def test_names_that_look_like_markup_are_shown_as_they_are(model: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "train.tsv").write_text("a\t[red]r\tb\n")
    (tmp_path / "odd" / "test.tsv").write_text("b\t[red]r\ta\n")
    assert "[red]r" in run("evaluate", model, tmp_path / "odd").stdout


def test_what_makes_no_sense_is_refused(model: Path, data: Path, tmp_path: Path) -> None:
    assert "--split must be one of train, valid, test, got '0.8,0.1,0.1'. To split a single file: --shares." in fails(
        "evaluate", model, data, "--split", "0.8,0.1,0.1"
    )
    assert "--ties must be one of realistic, optimistic, pessimistic" in fails(
        "evaluate", model, data, "--ties", "mean"
    )
    assert "--answer-from must be one of train, train+valid" in fails("evaluate", model, data, "--answer-from", "all")
    assert "'seed' must be a whole number" in fails("evaluate", model, data, "--seed", "-1")
    assert "no such folder" in fails("evaluate", tmp_path / "nowhere", data)
    assert "not a model: the folder has no model.json" in fails("evaluate", data, data)
    assert "Options for reading DATA (header) need DATA." in fails("evaluate", model, "--no-header")


def test_a_bad_place_is_refused_before_any_work(
    model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked(*_: object, **__: object) -> None:
        raise AssertionError("too late")

    monkeypatch.setattr(RuleReasoner, "rank", worked)
    assert "does not exist. Make it first" in fails("evaluate", model, data, "--json", tmp_path / "no" / "r.json")
    assert "it is a folder. Choose another name" in fails("evaluate", model, data, "--json", tmp_path)
    assert "--json must be a file" in fails("evaluate", model, data, "--json", "")
    assert os.listdir(tmp_path) == []


def test_nothing_is_written_when_the_work_fails(
    model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise StableRuleError("no luck")

    (tmp_path / "old.json").write_text("old")
    monkeypatch.setattr(RuleReasoner, "rank", breaks)
    assert fails("evaluate", model, data, "--json", tmp_path / "old.json") == "no luck"
    assert (tmp_path / "old.json").read_text() == "old"
    assert os.listdir(tmp_path) == ["old.json"]
