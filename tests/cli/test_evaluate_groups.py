"""`stablerule evaluate --groups` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablerule import newsroom, read_dataset, write_dataset
from stablerule.shifts import by_paths
from stablerule.shifts import distances as sizes_module
from stablerule.shifts import signatures as extras_module
from tests.terminal import fails, run

WORLD = newsroom(people=160, train_mix=0.5, test_mix=0.5, test=0.3, missing=0.3, seed=0)


@pytest.fixture(autouse=True)
def few_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes_module, "CLASSIFIER_CONTROLS", 2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "newsroom"
    write_dataset(WORLD.dataset, folder)
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    options = ("walks=5000", "rules_per_relation=20", "constants=false", "aggregation=max_plus")
    result = run("learn", data, "-o", folder, "--method", "tabular", *(w for o in options for w in ("--set", o)))
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def labels(data: Path) -> Path:
    file = data.parent / "kinds.tsv"
    heads = WORLD.dataset.frame("test")["head"].to_list()
    file.write_text("".join(f"{head}\t{kind}\n" for head, kind in zip(heads, WORLD.groups, strict=True)))
    return file


@pytest.mark.slow
def test_groups_by_paths_for_people(model: Path, data: Path) -> None:
    result = run("evaluate", model, data, "--groups", "by_paths")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    test = read_dataset(data).test
    sizes = by_paths(test, read_dataset(data).graph, measure=False).sizes
    for name, size in sizes.items():
        (line,) = (line for line in lines if " ".join(line).startswith(name))
        assert line[len(name.split())] == f"{2 * size:,}"
    starts = [" ".join(line) for line in lines]
    for title in (
        "mean of groups 0.",
        "std of groups 0.",
        "std by chance 0.",
        "Worst group by MRR: paths",
    ):
        assert any(start.startswith(title) for start in starts)
    assert any(start.startswith("shift between groups distance by chance up to") for start in starts)
    (bodies,) = (start for start in starts if start.startswith("body coverage"))
    assert bodies.endswith(" shifted")
    (mix,) = (start for start in starts if start.startswith("relation mix"))
    assert mix.endswith(" within chance")
    assert "(std below 0." in result.stdout


@pytest.mark.parametrize(
    ("asked", "kind", "groups"),
    [
        ("by_paths", "by_paths", 5),
        ("by_paths=arbitrary", "by_paths", 5),
        ("by_random", "by_random", 5),
        ("by_relation", "by_relation", 1),
        ("by_degree", "by_degree", None),
        ("by_attribute=lives_in", "by_attribute", None),
        ("FILE", "by_file", 2),
    ],
)
def test_every_way_as_json(model: Path, data: Path, labels: Path, asked: str, kind: str, groups: int | None) -> None:
    result = run("evaluate", model, data, "--groups", labels if asked == "FILE" else asked, "--json", "-")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    grouping, over = found["grouping"], found["groups"]
    assert grouping["kind"] == kind
    assert set(over["names"]) == set(grouping["sizes"])
    assert sum(row["n"] for row in over["names"].values()) == found["n"] == 2 * sum(grouping["sizes"].values())
    assert over["worst"]["mrr"]["value"] == min(row["mrr"] for row in over["names"].values())
    assert groups in (None, len(over["names"]))
    assert grouping["options"].get("align") == {"by_paths": "density", "by_paths=arbitrary": "arbitrary"}.get(asked)
    measures = {"relation mix", "body coverage", "degrees", "classifier"}
    assert set(grouping["shift"]) <= measures
    assert bool(grouping["shift"]) == (len(over["names"]) > 1)
    for note in grouping["notes"]:
        assert note in result.stderr.replace("\n", " ")


def test_footballers_and_journalists_from_a_file(model: Path, data: Path, labels: Path) -> None:
    found = json.loads(run("evaluate", model, data, "--groups", labels, "--json", "-").stdout)
    assert set(found["groups"]["names"]) == {"footballer", "journalist"}
    assert found["grouping"]["shift"]["body coverage"]["is_shifted"]
    assert found["grouping"]["options"] == {"file": "kinds.tsv"}


def test_an_attribute_may_stand_in_any_split(model: Path, data: Path) -> None:
    """works_for is in valid and test as well: labels are not there to answer."""
    found = json.loads(run("evaluate", model, data, "--groups", "by_attribute=works_for", "--json", "-").stdout)
    assert "(no label)" not in found["groups"]["names"]


def test_without_groups_nothing_is_said_of_them(model: Path, data: Path) -> None:
    found = json.loads(run("evaluate", model, data, "--json", "-").stdout)
    assert found["groups"] is None
    assert "grouping" not in found


def test_the_seed_reaches_the_groups(model: Path, data: Path) -> None:
    words = ("evaluate", model, data, "--groups", "by_random", "--json", "-", "--seed")
    one, same, other = (json.loads(run(*words, seed).stdout)["groups"]["names"] for seed in ("1", "1", "2"))
    assert one == same != other
    assert "'seed' must be a whole number of at least 0, got -1" in fails(*words, "-1")


def test_a_group_with_one_fact_is_noted(model: Path, data: Path, tmp_path: Path) -> None:
    head, *others = WORLD.dataset.frame("test")["head"].to_list()
    file = tmp_path / "labels.tsv"
    file.write_text(f"{head}\talone\n" + "".join(f"{other}\trest\n" for other in others))
    result = run("evaluate", model, data, "--groups", file)
    assert result.exit_code == 0, result.output
    assert "1 groups have only one fact: alone." in result.stderr
    file.write_text(f"{head}\talone\n")
    result = run("evaluate", model, data, "--groups", file)
    assert f"{len(others)} of {len(others) + 1} facts have no label." in result.stderr
    assert "(no label)" in result.stdout


def test_names_that_look_like_markup(model: Path, data: Path, tmp_path: Path) -> None:
    heads = WORLD.dataset.frame("test")["head"].to_list()
    file = tmp_path / "labels.tsv"
    file.write_text("".join(f"{head}\t[red]{i % 2}\n" for i, head in enumerate(heads)))
    result = run("evaluate", model, data, "--groups", file)
    assert "[red]0" in result.stdout
    assert "[red]1" in result.stdout


def test_what_makes_no_sense_is_refused(model: Path, data: Path, tmp_path: Path) -> None:
    message = fails("evaluate", model, data, "--groups", "by_path")
    assert "--groups must be by_paths, by_degree, by_relation, by_random, by_paths=arbitrary" in message
    assert "Closest: 'by_paths'" in message
    assert "or an existing file of labels" in fails("evaluate", model, data, "--groups", tmp_path / "nowhere.tsv")
    assert "No relation 'color'" in fails("evaluate", model, data, "--groups", "by_attribute=color")
    file = tmp_path / "labels.tsv"
    file.write_text("nobody\tleft\n")
    assert "None of the 1 labels is for one of the heads and tails" in fails("evaluate", model, data, "--groups", file)
    file.write_text("a\tb\tc\n")
    assert "labels.tsv, line 1: found 'a\\tb\\tc'" in fails("evaluate", model, data, "--groups", file)


def test_fewer_facts_than_groups_and_none_at_all(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "train.tsv").write_text("a\tr\tb\n")
    (folder / "test.tsv").write_text("b\tr\ta\nb\tr\tc\n")
    assert "2 distinct facts are fewer than 5 groups" in fails("evaluate", model, folder, "--groups", "by_random")
    assert run("evaluate", model, folder, "--groups", "by_relation").exit_code == 0
    assert "has no facts in valid" in fails("evaluate", model, folder, "--groups", "by_random", "--split", "valid")


def test_nothing_is_written_if_groups_fail(model: Path, data: Path, tmp_path: Path) -> None:
    assert fails("evaluate", model, data, "--groups", "by_nothing", "--json", tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra(model: Path, data: Path, labels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras_module, "find_spec", lambda name: None)
    assert "pip install 'stablerule[shifts]'" in fails("evaluate", model, data, "--groups", "by_paths")
    found = json.loads(run("evaluate", model, data, "--groups", labels, "--json", "-").stdout)
    assert set(found["grouping"]["shift"]) == {"relation mix", "body coverage", "degrees"}
