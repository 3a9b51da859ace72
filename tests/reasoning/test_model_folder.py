"""A model's folder: whole, and whatever is wrong with it is an error of ours that names the file."""

from __future__ import annotations

import inspect
import json
import os
import shutil
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError

from stablerule import StableRule, Tabular, Triples, households, load_model, open_graph, read_dataset
from stablerule.errors import InputError, ReadError, StableRuleError, WriteError
from stablerule.io.checked_folder import sum_files
from stablerule.io.tensors import write_tensors
from stablerule.reasoning import Reasoner
from stablerule.reasoning.model_folder import Reading
from tests.io.test_saved_graph import changed_bytes

WORLD = households(families=4, seed=0).dataset
JSON_FILES = ("model.json", "learned.json", "graph.json")
SMALL: dict[str, Any] = {"walks": 20_000, "max_length": 2, "training.steps": 20, "training.size": 8}


@pytest.fixture(scope="module")
def model() -> StableRule:
    return StableRule.with_options(SMALL).fit(WORLD)


@pytest.fixture(scope="module")
def saved(model: StableRule, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    model.save(folder, source="/dev/zero", reading={"split": [0.8, 0.1, 0.1]})
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "m"))


def with_right_checksums(folder: Path) -> Path:
    """Whoever changes a file on purpose changes its checksum as well."""
    about = json.loads((folder / "model.json").read_text())
    about["checksums"] = sum_files(folder, about["checksums"])
    (folder / "model.json").write_text(json.dumps(about))
    return folder


def use(folder: Path) -> list[Any]:
    """Do with a model what a user does; the result is the same each time."""
    loaded = load_model(folder)
    assert isinstance(loaded, StableRule)
    head, relation, tail = WORLD.frame("test").row(0)[:3]
    network = loaded.network()
    known = loaded.dataset.known.n_facts
    return [list(loaded.answer([(head, relation)])), loaded.explain(head, relation, tail), known, str(network)]


def test_a_loaded_model_answers_as_it_did(model: StableRule, saved: Path) -> None:
    loaded = load_model(saved)
    queries = [(h, r) for h, r, *_ in WORLD.frame("test").rows()]
    assert list(loaded.answer(queries)) == list(model.answer(queries))
    assert list(loaded.complete(top=20)) == list(model.complete(top=20))
    assert isinstance(loaded.dataset.graph.edge_tails.base, np.memmap)
    assert loaded.dataset.sha256 == WORLD.sha256
    assert open_graph(saved).sha256 == WORLD.graph.sha256


def test_valid_and_test_facts_are_not_new(saved: Path, model: StableRule) -> None:
    facts = {split: {row[:3] for row in WORLD.frame(split).rows()} for split in ("train", "valid", "test")}
    for one in (model, load_model(saved)):
        new = {(fact.head, fact.relation, fact.tail) for fact in one.complete()}
        assert not new & (facts["train"] | facts["valid"] | facts["test"])
        newer = {(fact.head, fact.relation, fact.tail) for fact in one.complete(known=())}
        assert newer & facts["valid"]
        assert newer & facts["test"]
        assert not newer & facts["train"]
        queries = [(head, relation) for head, relation, _ in facts["test"]]
        answered = zip(queries, one.answer(queries, k=50, new=True), strict=True)
        found = {(*query, answer.entity) for query, answers in answered for answer in answers}
        assert found
        assert not found & (facts["train"] | facts["valid"] | facts["test"])


def test_a_model_without_its_graph_needs_one(model: StableRule, tmp_path: Path) -> None:
    model.save(tmp_path / "m", graph=False, source="facts.tsv")
    loaded = load_model(tmp_path / "m")
    assert not [name for name in os.listdir(tmp_path / "m") if name.endswith(".npy") or name == "graph.json"]
    query = WORLD.frame("test").row(0)[:2]
    with pytest.raises(InputError, match=r"saved without its graph \('households', .* facts, from .*'facts.tsv'\)"):
        next(loaded.answer([query]))
    ours, theirs = (next(m.answer([query], graph=WORLD.graph)) for m in (model, loaded))
    assert [(one.entity, one.score) for one in theirs] == [(one.entity, one.score) for one in ours]
    loaded.save(tmp_path / "again")
    assert not (tmp_path / "again" / "graph.json").exists()


def test_a_model_of_the_second_format_needs_a_graph(model: StableRule, tmp_path: Path) -> None:
    """It had no graph and no checksums, and the source that it names is not opened."""
    model.save(tmp_path / "m", graph=False, source="/dev/zero")
    about = json.loads((tmp_path / "m" / "model.json").read_text())
    old = {name: value for name, value in about.items() if name not in ("kept", "checksums")}
    (tmp_path / "m" / "model.json").write_text(json.dumps(old | {"format": 2, "network_bytes": 1}))
    loaded = load_model(tmp_path / "m")
    assert isinstance(loaded, StableRule)
    assert str(loaded.network()) == str(model.network())
    with pytest.raises(InputError, match=r"from '/dev/zero'\). Pass graph="):
        loaded.score([WORLD.frame("test").row(0)[:3]])
    assert evaluate_one(loaded) == evaluate_one(model)


def test_every_option_of_reading_is_remembered() -> None:
    options = set(inspect.signature(read_dataset).parameters) - {"source"}
    assert {f.name for f in fields(Reading)} == options


def evaluate_one(model: Reasoner) -> list[float]:
    return model.score([row[:3] for row in WORLD.frame("test").rows()], graph=WORLD.graph)


def test_a_graph_and_its_valid_facts_are_saved_without_a_test(tmp_path: Path) -> None:
    model = Tabular(walks=5_000, max_length=1, constants=False).fit(WORLD.graph, WORLD.valid)
    model.save(tmp_path / "m")
    kept = load_model(tmp_path / "m").dataset
    assert [len(part) for part in kept.splits.values()] == [WORLD.graph.n_facts, len(WORLD.valid), 0]
    assert kept.valid == Triples(WORLD.valid.rows)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["*", "learned"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def spoil(data: st.DataObject, value: Any) -> Any:
    """Change a JSON value somewhere."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 3)):
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        place = data.draw(st.sampled_from(places))
        if not data.draw(st.integers(0, 5)):
            del value[place]
        else:
            value[place] = spoil(data, value[place])
        return value
    return data.draw(values)


def copied(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.getbasetemp() / "spoiled"
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(saved, folder))


@settings(max_examples=40)
@given(data=st.data())
def test_any_json_value_is_read_or_refused(
    data: st.DataObject, saved: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied(saved, tmp_path_factory)
    path = folder / data.draw(st.sampled_from(JSON_FILES))
    path.write_text(json.dumps(spoil(data, json.loads(path.read_text()))))
    with suppress(StableRuleError):
        use(with_right_checksums(folder) if path.name != "model.json" else folder)


@settings(max_examples=40)
@given(data=st.data())
def test_changed_bytes_are_read_as_they_were_or_refused(
    data: st.DataObject, saved: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied(saved, tmp_path_factory)
    path = folder / data.draw(st.sampled_from(sorted(os.listdir(saved))))
    path.write_bytes(changed_bytes(data, path.read_bytes()))
    with suppress(StableRuleError):
        found = use(folder)
        assert path.name == "model.json" or found == use(saved)


@pytest.mark.parametrize(
    ("file", "field", "value", "said"),
    [
        ("model.json", "format", 99, "written by stablerule .* in format 99; this version reads up to 3"),
        ("model.json", "method", 7, r"model.json: damaged \(field 'method' must be a string, found 7\)"),
        ("model.json", "data.facts", "many", "field 'data.facts' must be a whole number, found \"many\""),
        ("model.json", "data.entities", 3, "field 'data' does not match the"),
        (
            "model.json",
            "data.sha256",
            "0",
            r"graph.json: damaged \(it is not the graph that the model was trained on\)",
        ),
        ("model.json", "data.reading.split", "all", "field 'split' must be a list, found \"all\""),
        ("model.json", "kept.test", -1, "'kept.test' must be 0 or more"),
        ("model.json", "kept.valid", 7, r"valid.npy: damaged \(not an array of 7 x 3 values"),
        ("model.json", "options", [], "field 'options' must be an object, found a list"),
        ("model.json", "options.seed", "x", "its options do not fit this version"),
        ("model.json", "rules", 3, "rules instead of 3"),
        ("learned.json", "aggregation.top", 1.5, "field 'aggregation.top' must be a whole number, found 1.5"),
        ("learned.json", "aggregation.name", "best", "field 'aggregation.name' must be one of 'count'"),
        (
            "learned.json",
            "aggregation.weights",
            {"*": [1.0]},
            r"learned.json: damaged \(field 'aggregation' is invalid",
        ),
        ("learned.json", "choice.tried", [1], r"field 'choice.tried\[0\]' must be an object, found 1"),
        ("learned.json", "course.seconds", None, "field 'course.seconds' must be a number, found null"),
        ("learned.json", "calibration", {}, "field 'calibration.curves' is missing"),
        ("graph.json", "arrays.offsets", 3, "field 'arrays' does not match the names"),
    ],
)
def test_a_wrong_value_is_named_with_its_file_and_field(
    folder: Path, file: str, field: str, value: Any, said: str
) -> None:
    path, (*groups, last) = folder / file, field.split(".")
    whole = found = json.loads(path.read_text())
    for name in groups:
        found = found[name]
    found[last] = value
    path.write_text(json.dumps(whole))
    with pytest.raises(ReadError, match=said):
        load_model(with_right_checksums(folder))


@pytest.mark.parametrize("file", JSON_FILES)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("{", "not valid JSON"),
        ("9" * 5_000, "not valid JSON"),
        ("[]", "must be an object, found a list"),
        ("\udcff", "not valid JSON"),
    ],
)
def test_what_is_no_json_is_refused(folder: Path, file: str, text: str, said: str) -> None:
    (folder / file).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ReadError, match=rf"{file}: damaged \((it )?{said}"):
        load_model(folder if file == "model.json" else with_right_checksums(folder))


def test_a_missing_or_damaged_file_is_named(folder: Path, saved: Path) -> None:
    for name in sorted(os.listdir(saved)):
        if name == "model.json":
            continue
        (folder / name).write_bytes((saved / name).read_bytes()[:-1])
        with pytest.raises(ReadError, match=rf"{name}: damaged \("):
            use(folder)
        (folder / name).unlink()
        with pytest.raises((ReadError, InputError), match=rf"{name}: damaged \(it is missing|no network|no graph.json"):
            use(folder)
        shutil.copy(saved / name, folder / name)
    assert use(folder) == use(saved)


def test_a_folder_that_is_no_model_says_so(tmp_path: Path, saved: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place, said in (
        (tmp_path / "none", "no such folder. Train one with"),
        (tmp_path / "empty", "the folder has no model.json"),
        (saved / "rules.parquet", "a file inside a model. Pass its folder"),
    ):
        with pytest.raises(ReadError, match=said):
            load_model(place)


@pytest.mark.parametrize("name", ["model.json", "learned.json", "rules.parquet", "network.safetensors", "valid.npy"])
def test_what_is_no_regular_file_is_not_opened(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(ReadError, match=rf"{name}: is a link, but only regular files are read"):
        use(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ReadError, match=rf"{name}: is not a regular file"):
        use(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: {k: v for k, v in t.items() if k != "bias"}, "tensor 'bias' is missing"),
        (lambda t: t | {"more": t["bias"]}, "tensor 'more' is not part of this network"),
        (lambda t: t | {"bias": t["bias"][1:]}, r"tensor 'bias' has shape \(31,\) instead of \(32,\)"),
    ],
)
def test_tensors_of_another_network_are_refused(folder: Path, change: Any, said: str) -> None:
    write_tensors(change(load_model(folder)._tensors()), folder / "network.safetensors")
    with pytest.raises(ReadError, match=rf"network.safetensors: damaged \({said}"):
        use(with_right_checksums(folder))


def test_a_network_that_is_too_large_is_refused(folder: Path) -> None:
    about = json.loads((folder / "model.json").read_text())
    about["options"]["training.size"] = 10**15
    (folder / "model.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="too large for a network"):
        use(folder)


def test_rules_that_make_no_sense_are_refused(folder: Path) -> None:
    rules = pl.read_parquet(folder / "rules.parquet")
    for wrong, said in (
        (rules.with_columns(support=pl.lit(-1.0)), "support must be a number of at least 0"),
        (rules.with_columns(head_relation=pl.lit("~~r")), "is not a rule"),
        (rules.drop("body"), "no column 'body'"),
    ):
        wrong.write_parquet(folder / "rules.parquet")
        with pytest.raises(ReadError, match=rf"rules.parquet: damaged \(.*{said}"):
            load_model(with_right_checksums(folder))


def test_rules_about_other_names_do_not_fire(folder: Path) -> None:
    """A rule names its relations and entities: there is no id that could be out of range."""
    rules = pl.read_parquet(folder / "rules.parquet").with_columns(body=pl.lit(["nowhere"] * 12, pl.List(pl.String)))
    rules.unique("head_relation").write_parquet(folder / "rules.parquet")
    about = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(about | {"rules": rules["head_relation"].n_unique()}))
    assert use(with_right_checksums(folder))[1] == []


def test_a_full_disk_is_an_error_of_ours(model: StableRule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(WriteError, match="m: can't be written: .*No space left on device"):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []
