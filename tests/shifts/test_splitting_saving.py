"""Splits on disk are ordinary data folders, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import Dataset, households, newsroom, read_dataset
from stablerule.errors import OptionError, ReadError, UnknownEntity, WriteError
from stablerule.io.writing import write_dataset_into
from stablerule.shifts.splits import (
    Split,
    check_split_place,
    read_examples,
    saving,
    split_inductive,
    split_random,
    split_test_side,
    split_train_side,
)

WORLD = newsroom(people=100, seed=0)
FAMILIES = households(families=4, seed=0).dataset


def biased(**options: Any) -> Split:
    return split_train_side(FAMILIES, np.arange(len(FAMILIES.train)) % 2, bias=0.7, **options)


MAKERS: list[Callable[[], Split]] = [
    lambda: split_random(FAMILIES),
    lambda: split_inductive(FAMILIES, (0.6, 0.2, 0.2), regions=2),
    lambda: split_test_side(WORLD.dataset, WORLD.groups),
    biased,
    lambda: biased(thinning=True),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz", ".parquet"])
def test_what_is_saved_reads_back_as_what_it_was(tmp_path: Path, make: Callable[[], Split], suffix: str) -> None:
    split = make()
    split.save(tmp_path / "out", suffix=suffix)
    for name, part in split.parts.items():
        again = read_dataset(tmp_path / "out" / name)
        assert again.sha256 == part.sha256
        assert again.frame("train").equals(part.frame("train"))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest == json.loads(json.dumps(split.manifest))
    assert os.listdir(tmp_path) == ["out"]


def test_times_stay_with_the_facts(tmp_path: Path) -> None:
    rows = [(f"e{i}", "r", f"e{j}", 1900 + i) for i in range(5) for j in range(5)]
    source = read_dataset(rows, columns={"head": 0, "relation": 1, "tail": 2, "time": 3})
    split_random(source).save(tmp_path / "out")
    again = read_dataset(tmp_path / "out")
    assert sorted(again.frame("train").rows() + again.frame("valid").rows() + again.frame("test").rows()) == sorted(
        rows
    )


def test_examples_stand_beside_the_data(tmp_path: Path) -> None:
    split = biased()
    split.save(tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == [
        "examples.tsv",
        "manifest.json",
        "test.tsv",
        "train.tsv",
        "valid.tsv",
    ]
    dataset = read_dataset(tmp_path / "out")
    assert read_examples(tmp_path / "out", dataset) == split.examples
    other = Dataset.from_names("other", train=[("a", "r", "b")])
    with pytest.raises(UnknownEntity):
        read_examples(tmp_path / "out", other)
    (tmp_path / "out" / "examples.csv").write_text("a,r,b\n")
    with pytest.raises(ReadError, match="more than one file of examples: examples.csv, examples.tsv"):
        read_examples(tmp_path / "out", dataset)


def test_examples_that_are_none(tmp_path: Path) -> None:
    biased(thinning=True).save(tmp_path / "thin")
    with pytest.raises(ReadError, match="no examples; only a train-side split without thinning"):
        read_examples(tmp_path / "thin", FAMILIES)
    (tmp_path / "examples.tsv").write_text("a\tr\tc\n")
    dataset = Dataset.from_names("g", train=[("a", "r", "b"), ("b", "r", "c")])
    with pytest.raises(ReadError, match="1 examples are not training facts, such as 'a r c'"):
        read_examples(tmp_path, dataset)


@pytest.mark.parametrize("make", MAKERS)
def test_an_existing_folder_is_refused_or_replaced_as_a_whole(tmp_path: Path, make: Callable[[], Split]) -> None:
    folder = tmp_path / "out"
    folder.mkdir()  # an empty one may be filled
    split_inductive(WORLD.dataset, (0.5, 0.0, 0.5), regions=1).save(folder)
    split = make()
    for refuse in (split.save, check_split_place):
        with pytest.raises(
            WriteError, match="out: already exists. Choose another folder, or replace it with overwrite=True"
        ):
            refuse(folder)
    assert json.loads((folder / "manifest.json").read_text())["kind"] == "inductive"
    check_split_place(folder, overwrite=True)
    split.save(folder, overwrite=True)
    assert json.loads((folder / "manifest.json").read_text())["kind"] == split.manifest["kind"]
    for name, part in split.parts.items():
        assert read_dataset(folder / name).sha256 == part.sha256
    split.save(folder, overwrite=True)
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("other", ["thesis.docx", "train/notes.md", "train.tsv", "mine/train.tsv", "examples.tsv"])
def test_files_of_the_user_are_never_removed(tmp_path: Path, other: str) -> None:
    split = MAKERS[1]()
    split.save(tmp_path / "out")
    (tmp_path / "out" / other).parent.mkdir(exist_ok=True)
    (tmp_path / "out" / other).write_text("years of work")
    shown = "mine" if other.startswith("mine") else other
    for refuse in (split.save, check_split_place):
        with pytest.raises(WriteError, match=f"contains other files, so it is not replaced: '{shown}'"):
            refuse(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / other).read_text() == "years of work"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("text", ['{"mine": 1}', "[]", "not json"])
def test_a_manifest_of_somebody_else_marks_no_split(tmp_path: Path, text: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text(text)
    with pytest.raises(WriteError, match="not replaced: 'manifest.json'"):
        MAKERS[0]().save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "manifest.json").read_text() == text


@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    folder = tmp_path / "out"
    before = []
    if overwrite:
        MAKERS[1]().save(folder)
        before = ["out"]
    calls: list[object] = []

    def full_disk(*args: Any, **options: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        write_dataset_into(*args, **options)

    monkeypatch.setattr(saving, "write_dataset_into", full_disk)
    with pytest.raises(WriteError, match="out: can't be written: No space left on device"):
        split_inductive(WORLD.dataset, (0.5, 0.0, 0.5), regions=1).save(folder, overwrite=overwrite)
    assert os.listdir(tmp_path) == before
    if overwrite:
        assert read_dataset(folder / "train").sha256 == MAKERS[1]().parts["train"].sha256


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    MAKERS[1]().save(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    MAKERS[0]().save(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "train.tsv").is_file()


def test_names_that_a_format_can_not_hold_are_told_with_the_final_path(tmp_path: Path) -> None:
    facts = [(f"#{i}", "r", f"#{j}") for i in range(5) for j in range(5)]
    split = split_random(Dataset.from_names("g", train=facts))
    with pytest.raises(WriteError, match="would be read back as a comment") as told:
        split.save(tmp_path / "out")
    assert ".stablerule" not in str(told.value)
    assert str(told.value).startswith(str(tmp_path / "out" / "train.tsv"))
    split.save(tmp_path / "out", suffix=".csv")
    assert read_dataset(tmp_path / "out").sha256 == split.dataset.sha256


@pytest.mark.parametrize("suffix", [".nt", ".docx", "", ".parquet.gz"])
def test_formats_that_are_none(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(
        OptionError, match="A split can't be written as .* Formats are .tsv|can't write '.parquet.gz'"
    ) as told:
        MAKERS[0]().save(tmp_path / "out", suffix=suffix)
    assert ".stablerule" not in str(told.value)
    assert os.listdir(tmp_path) == []


def test_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="does not exist. Make it first"):
        MAKERS[0]().save(tmp_path / "no" / "out")
    (tmp_path / "file").write_text("a file")
    with pytest.raises(WriteError, match="is a file, not a folder"):
        MAKERS[0]().save(tmp_path / "file", overwrite=True)
    with pytest.raises(WriteError, match="can't be written"):
        MAKERS[0]().save(tmp_path / ("x" * 300), overwrite=True)
