"""Written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from stablerule.errors import ReadError, WriteError
from stablerule.io import folder_beside, write_beside
from stablerule.io.files import open_bytes


class Stop(Exception):
    pass


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.tsv"
    path.write_text("before")
    with pytest.raises(Stop), write_beside(path) as temporary:
        temporary.write_text("half")
        assert path.read_text() == "before"
        raise Stop
    assert path.read_text() == "before"
    with write_beside(path) as temporary:
        temporary.write_text("after")
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["result.tsv"]


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), write_beside(tmp_path / "x") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), folder_beside(tmp_path / "y") as temporary:
        (temporary / "part").write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "old").write_text("old")
    with pytest.raises(WriteError, match="already exists"), folder_beside(folder):
        pass
    with pytest.raises(Stop), folder_beside(folder, overwrite=True) as temporary:
        (temporary / "new").write_text("half")
        raise Stop
    assert os.listdir(folder) == ["old"]
    with folder_beside(folder, overwrite=True) as temporary:
        (temporary / "new").write_text("new")
    assert os.listdir(folder) == ["new"]
    assert os.listdir(tmp_path) == ["model"]


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with folder_beside(tmp_path / "model") as temporary:
        (temporary / "x").write_text("x")
    assert (tmp_path / "model" / "x").read_text() == "x"


def test_new_files_have_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    with write_beside(tmp_path / "ours"):
        pass
    ours, usual = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "usual"))
    assert ours == usual


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="expected a file, found a folder"), open_bytes(tmp_path):
        pass
    with pytest.raises(WriteError, match="can't be written"), write_beside(tmp_path):
        pass
