"""What a killed run left is cleared by the next one; what a living process owns stays."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from stablerule import load_model, open_graph, read_dataset, save_graph, write_dataset
from stablerule.datasets import households
from stablerule.errors import ReadError, WriteError
from stablerule.io import write_beside, write_folder_beside
from stablerule.io.atomic import SUFFIX, claim_output, restore_folder
from stablerule.io.folders import OwnFolder
from stablerule.learning import Tabular


def in_a_child(work: Callable[[], object]) -> int:
    """Do something in a child process, and return how it ended: minus a signal, or an exit code."""
    child = os.fork()
    if not child:
        try:
            work()
        except WriteError:
            os._exit(2)
        except BaseException:
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_while_writing_a_file(path: Path) -> None:
    with write_beside(path) as temporary:
        temporary.write_text("half")
        die()


def killed_while_writing_a_folder(path: Path) -> None:
    with write_folder_beside(path, overwrite=True) as temporary:
        (temporary / "model.json").write_text("half")
        die()


def test_the_next_run_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    for work in (killed_while_writing_a_file, killed_while_writing_a_folder):
        for _ in range(3):
            assert in_a_child(partial(work, tmp_path / "out")) == -signal.SIGKILL
            assert os.listdir(tmp_path) == [f".out.1{SUFFIX}"]  # and not one more each time
    with write_folder_beside(tmp_path / "out") as temporary:
        (temporary / "model.json").write_text("whole")
    assert os.listdir(tmp_path) == ["out"]


def test_what_a_living_process_owns_stays(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def other() -> None:
        with write_beside(path) as temporary:
            temporary.write_text("other")

    with write_beside(path) as temporary:
        temporary.write_text("ours")
        assert in_a_child(other) == 0
        assert path.read_text() == "other"
        assert temporary.read_text() == "ours"
    assert path.read_text() == "ours"
    with write_folder_beside(tmp_path / "model", overwrite=True) as folder:
        (folder / "model.json").write_text("ours")
        assert in_a_child(lambda: killed_while_writing_a_folder(tmp_path / "model")) == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == [f".model.2{SUFFIX}", "model", "out"]
    with write_folder_beside(tmp_path / "model", overwrite=True):
        pass
    assert sorted(os.listdir(tmp_path)) == ["model", "out"]


def test_only_what_is_ours_is_taken_for_a_leftover(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    (tmp_path / f".out.1{SUFFIX}").symlink_to("thesis")
    (tmp_path / f".other.1{SUFFIX}").write_text("of another output")
    with write_beside(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"
    assert sorted(os.listdir(tmp_path)) == [f".other.1{SUFFIX}", f".out.1{SUFFIX}", "out", "thesis"]


def test_long_names_that_begin_alike_have_leftovers_of_their_own(tmp_path: Path) -> None:
    one, other = tmp_path / ("x" * 60 + "1"), tmp_path / ("x" * 60 + "2")
    assert in_a_child(lambda: killed_while_writing_a_file(one)) == -signal.SIGKILL
    with write_beside(other):
        pass
    assert len(os.listdir(tmp_path)) == 2


def rewrite(path: Path, files: dict[str, bytes]) -> None:
    """Replace a folder of any kind by files; a forked child must not use polars, whose threads it lacks."""
    with write_folder_beside(path, overwrite=True, replaces=OwnFolder(ours=files.__contains__)) as temporary:
        for name, data in files.items():
            (temporary / name).write_bytes(data)


def kill_between_the_renames(path: Path, files: dict[str, bytes]) -> None:
    """Leave the folder under its hidden name, as a kill does where two folders can't be exchanged in one step."""

    def killed() -> None:
        rename, folders = os.rename, "stablerule.io.folders"

        def rename_or_die(source: Path, target: Path) -> None:
            if Path(source).name == "new" and not os.path.lexists(target):
                die()
            rename(source, target)

        patch = pytest.MonkeyPatch()
        patch.setattr(f"{folders}.os.rename", rename_or_die)
        patch.setattr(f"{folders}.exchange_paths", lambda *_: False)
        rewrite(path, files)

    assert in_a_child(killed) == -signal.SIGKILL
    assert not path.exists()


WORLD = households(families=2, seed=0).dataset


def test_a_folder_under_its_hidden_name_is_put_back_by_whoever_looks_for_it(tmp_path: Path) -> None:
    Tabular(max_length=2).fit(WORLD.graph, WORLD.valid).save(tmp_path / "model")
    save_graph(WORLD.graph, tmp_path / "graph")
    write_dataset(WORLD, tmp_path / "data")
    readers: dict[str, Callable[[Path], object]] = {
        "model": load_model,
        "graph": open_graph,
        "data": read_dataset,
    }
    for name, read in readers.items():
        path = tmp_path / name
        before = {file.name: file.read_bytes() for file in path.iterdir()}
        kill_between_the_renames(path, before)
        read(path)
        assert {file.name: file.read_bytes() for file in path.iterdir()} == before
        kill_between_the_renames(path, before)
        with pytest.raises(WriteError, match="already exists"):
            write_dataset(WORLD, path)
        rewrite(path, before)
        assert sorted(os.listdir(tmp_path)) == ["data", "graph", "model"]


def test_nothing_is_put_back_that_a_living_process_is_about_to_replace(tmp_path: Path) -> None:
    with write_folder_beside(tmp_path / "model") as temporary:
        (temporary.parent / "old").mkdir()
        restore_folder(tmp_path / "model")
        assert not (tmp_path / "model").exists()
        (temporary.parent / "old").rmdir()
    with pytest.raises(ReadError, match="no such file"):
        read_dataset(tmp_path / "nothing")


def test_long_work_on_an_output_is_claimed(tmp_path: Path) -> None:
    path = tmp_path / "model"

    def claim() -> None:
        with claim_output(path):
            pass

    with claim_output(path):
        assert in_a_child(claim) == 2
        with pytest.raises(WriteError, match="model: another process is writing it"):
            claim()
    assert os.listdir(tmp_path) == []

    def die_with_claim() -> None:
        with claim_output(path):
            die()

    assert in_a_child(die_with_claim) == -signal.SIGKILL
    claim()
    assert os.listdir(tmp_path) == []


def test_there_is_an_end_to_how_many_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stablerule.io.atomic.MOST", 1)
    with (
        write_beside(tmp_path / "out"),
        pytest.raises(WriteError, match="out: can't be written: 1 other processes are writing"),
        write_beside(tmp_path / "out"),
    ):
        pass


def test_a_system_without_locks_clears_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_a_child(lambda: killed_while_writing_a_file(tmp_path / "out")) == -signal.SIGKILL

    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with write_beside(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert sorted(os.listdir(tmp_path)) == [f".out.1{SUFFIX}", "out"]
