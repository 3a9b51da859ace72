"""Written whole or not at all."""

from __future__ import annotations

import io
import os
import resource
import stat
from pathlib import Path
from zipfile import ZipFile

import polars as pl
import pytest

from stablerule import read_dataset, write_triples
from stablerule.errors import ReadError, WriteError
from stablerule.io import check_output_folder, write_beside
from stablerule.io.files import COMPRESSIONS, open_bytes


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
    assert os.listdir(tmp_path) == []


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


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that takes no files")
def test_a_folder_that_takes_no_files_is_not_said_to_be_missing() -> None:
    with (
        pytest.raises(WriteError, match="'/proc' does not allow new files. Choose another one"),
        write_beside(Path("/proc/x.json")),
    ):
        raise AssertionError("told before the work")
    with pytest.raises(WriteError, match="'/proc' does not allow new files"):
        check_output_folder(Path("/proc/model"))


def test_a_long_name_is_no_trouble_until_the_system_says_so(tmp_path: Path) -> None:
    with write_beside(tmp_path / ("x" * 250)) as temporary:
        temporary.write_text("whole")
    assert (tmp_path / ("x" * 250)).read_text() == "whole"
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(WriteError, match="can't be written"), write_beside(tmp_path / name):
            raise AssertionError("told before the work")
        with pytest.raises(ReadError, match="can't be read"):
            read_dataset(tmp_path / name)


FRAME = pl.DataFrame({"head": [f"e{i * 7919 % 10_007}" for i in range(5000)], "relation": "r", "tail": "x"})


@pytest.mark.parametrize("suffix", [".parquet", ".tsv", ".csv.gz"])
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    """A limit for the size of files stands in for the disk; polars and Python have their own words for it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(WriteError, match="facts.*can't be written: .*too large"):
            write_triples(FRAME, tmp_path / f"facts{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def compressed(suffix: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with COMPRESSIONS[suffix](buffer, "wb") as stream:
        stream.write(data)
    return buffer.getvalue()


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_compressed_file_without_its_suffix_is_told(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "facts.tsv"
    path.write_bytes(compressed(suffix, b"a\tr\tb\n"))
    with pytest.raises(ReadError, match=rf"compressed data. Rename the file to facts.tsv{suffix}"):
        read_dataset(path)


def test_a_zip_archive_is_told_and_text_that_begins_like_bzip2_is_read(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "facts.zip", "w") as out:
        out.writestr("facts.tsv", "a\tr\tb\n")
    (tmp_path / "facts.zip").rename(tmp_path / "facts.tsv")
    with pytest.raises(ReadError, match="a zip archive. Unpack it first"):
        read_dataset(tmp_path / "facts.tsv")
    (tmp_path / "facts.tsv").write_text("BZh91\tr\tb\n")
    assert len(read_dataset(tmp_path / "facts.tsv").train) == 1


def test_damage_inside_of_a_zst_file_is_noticed(tmp_path: Path) -> None:
    """Without a checksum, most changed bytes of the text would be read as other names."""
    path = tmp_path / "facts.tsv.zst"
    text = os.urandom(3000).hex()
    write_triples(pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": [text]}), path)
    whole = bytearray(path.read_bytes())
    for at in range(200, len(whole) - 200, 97):
        damaged = whole.copy()
        damaged[at] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(ReadError):
            read_dataset(path)


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").symlink_to(tmp_path / "gone.tsv")
    with pytest.raises(ReadError, match="broken link to '.*gone.tsv'"):
        read_dataset(tmp_path / "facts.tsv")


def denied(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("method", ["stat", "iterdir"])
def test_an_unreadable_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    monkeypatch.setattr(Path, method, denied)
    with pytest.raises(ReadError, match="can't be read: Permission denied"):
        read_dataset(tmp_path)


@pytest.mark.parametrize("name", ["facts.tsv", "facts.parquet", "facts.nt"])
def test_an_unreadable_file_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / name
    path.write_text("a\tr\tb\n")
    monkeypatch.setattr("stablerule.io.files.open", denied, raising=False)
    with pytest.raises(ReadError, match="can't be read: Permission denied"):
        read_dataset(path)
