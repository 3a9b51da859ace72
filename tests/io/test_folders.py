"""Folders appear whole or not at all, and nothing of anybody else's is removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stablerule import read_dataset, write_dataset
from stablerule.errors import OutputExists, WriteError
from stablerule.io import write_folder_beside

TOWNS = read_dataset({"train": [("Bonn", "in", "Germany"), ("Köln", "in", "Germany")], "test": [("Bonn", "in", "x")]})


class Stop(Exception):
    pass


def model(folder: Path, **more: str) -> Path:
    folder.mkdir()
    (folder / "model.json").write_text("old")
    for name, text in more.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


@pytest.mark.parametrize("mark", ["model.json", "progress.json"])
def test_a_folder_is_replaced_as_a_whole(tmp_path: Path, mark: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / mark).write_text("old")
    (folder / "state.safetensors").write_text("old")
    with pytest.raises(WriteError, match=r"already exists. .* overwrite"), write_folder_beside(folder):
        pass
    with pytest.raises(Stop), write_folder_beside(folder, overwrite=True) as temporary:
        (temporary / "new").write_text("half")
        raise Stop
    assert sorted(os.listdir(folder)) == [mark, "state.safetensors"]
    with write_folder_beside(folder, overwrite=True) as temporary:
        (temporary / "new").write_text("new")
    assert os.listdir(folder) == ["new"]
    assert os.listdir(tmp_path) == ["model"]


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), write_folder_beside(tmp_path / "y") as temporary:
        (temporary / "part").write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with write_folder_beside(tmp_path / "model") as temporary:
        (temporary / "x").write_text("x")
    assert (tmp_path / "model" / "x").read_text() == "x"


@pytest.mark.parametrize("other", ["thesis.docx", "train.tsv", "notes.txt"])
def test_files_of_the_user_are_never_removed(tmp_path: Path, other: str) -> None:
    folder = model(tmp_path / "model")
    (folder / other).write_text("years of work")
    with pytest.raises(WriteError, match=f"not replaced: '{other}'"), write_folder_beside(folder, overwrite=True):
        raise AssertionError("told before the work")
    assert (folder / other).read_text() == "years of work"


def test_a_folder_that_is_no_model_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.json").write_text("{}")
    with (
        pytest.raises(WriteError, match="not replaced: 'mine.json'"),
        write_folder_beside(tmp_path / "data", overwrite=True),
    ):
        pass
    folder = model(tmp_path / "model")
    (folder / "inner.json").mkdir()
    with pytest.raises(WriteError, match="not replaced: 'inner.json'"), write_folder_beside(folder, overwrite=True):
        pass


def test_what_was_put_there_during_the_work_stays(tmp_path: Path) -> None:
    folder = model(tmp_path / "model")
    with pytest.raises(WriteError, match="not replaced: 'thesis.docx'"), write_folder_beside(folder, overwrite=True):
        (folder / "thesis.docx").write_text("years of work")
    assert sorted(os.listdir(folder)) == ["model.json", "thesis.docx"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_plain_file_is_never_replaced(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "model").write_text("a file")
    with (
        pytest.raises(WriteError, match="is a file, not a folder"),
        write_folder_beside(tmp_path / "model", overwrite=overwrite),
    ):
        pass
    with pytest.raises(WriteError, match="is a file, not a folder"):
        write_dataset(TOWNS, tmp_path / "model", overwrite=overwrite)
    assert (tmp_path / "model").read_text() == "a file"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    model(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    with write_folder_beside(tmp_path / "link", overwrite=True) as temporary:
        (temporary / "model.json").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "model.json").read_text() == "new"


def test_a_dataset_replaces_splits_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "towns"
    write_dataset(TOWNS, folder)
    write_dataset(TOWNS, folder, suffix=".csv.gz", overwrite=True)
    assert sorted(os.listdir(folder)) == ["test.csv.gz", "train.csv.gz"]
    (folder / "README.md").write_text("mine")
    with pytest.raises(WriteError, match="towns: contains other files.* 'README.md'"):
        write_dataset(TOWNS, folder, overwrite=True)
    assert sorted(os.listdir(folder)) == ["README.md", "test.csv.gz", "train.csv.gz"]


def fail_for_the_new(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the system do anything but put the new folder in its place, as where it can't exchange two folders."""
    rename = os.rename

    def fails(source: Path, target: Path) -> None:
        if Path(source).name == "new" and not os.path.lexists(target):
            raise error
        rename(source, target)

    monkeypatch.setattr("stablerule.io.folders.os.rename", fails)
    monkeypatch.setattr("stablerule.io.folders.exchange_paths", lambda *_: False)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_the_old_folder_is_put_back_when_the_new_one_can_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    folder = model(tmp_path / "model")
    fail_for_the_new(monkeypatch, error)
    expected = WriteError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected), write_folder_beside(folder, overwrite=True):
        pass
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model"]
    assert (folder / "model.json").read_text() == "old"


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_a_folder_that_appears_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool, overwrite: bool
) -> None:
    """Between the last look and the renaming, another process puts its own there."""
    rename, appeared = os.rename, False

    def after_another(source: Path, target: Path) -> None:
        nonlocal appeared
        if not appeared:
            appeared = True
            model(Path(target))
        rename(source, target)

    monkeypatch.setattr("stablerule.io.folders.os.rename", after_another)
    if not can_exchange:
        monkeypatch.setattr("stablerule.io.folders.exchange_paths", lambda *_: False)
    folder = tmp_path / "model"
    if overwrite:
        with write_folder_beside(folder, overwrite=True) as temporary:
            (temporary / "model.json").write_text("new")
    else:
        with pytest.raises(OutputExists, match="model: already exists"), write_folder_beside(folder) as temporary:
            (temporary / "model.json").write_text("new")
    assert (folder / "model.json").read_text() == ("new" if overwrite else "old")
    assert os.listdir(tmp_path) == ["model"]


def test_places_that_do_not_exist_or_can_not_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(WriteError, match="does not exist. Make it first"),
        write_folder_beside(tmp_path / "no" / "model"),
    ):
        pass
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(WriteError, match="can't be written"), write_folder_beside(tmp_path / name):
            pass

    def denied(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("stablerule.io.folders.os.listdir", denied)
    (tmp_path / "model").mkdir()
    with (
        pytest.raises(WriteError, match="can't be written: Permission denied"),
        write_folder_beside(tmp_path / "model"),
    ):
        pass
