"""What is no plain file is written through, and what is one keeps its rights; nothing else is ever replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stablerule.errors import WriteError
from stablerule.io import write_beside

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")


def write(path: Path, text: str) -> None:
    with write_beside(path) as temporary:
        temporary.write_text(text)


@needs_full
def test_a_device_is_written_through_and_never_replaced() -> None:
    """As root, a rename would replace it for the whole machine."""
    write(Path("/dev/null"), "x")
    with pytest.raises(WriteError, match="/dev/full: can't be written: No space left on device"):
        write(Path("/dev/full"), "x")
    assert all(stat.S_ISCHR(os.stat(device).st_mode) for device in ("/dev/null", "/dev/full"))


def test_a_pipe_with_a_name_gets_all_or_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    with pytest.raises(KeyboardInterrupt), write_beside(tmp_path / "pipe") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    write(tmp_path / "pipe", "whole")
    reader.join()
    assert got == ["whole"]
    assert os.listdir(tmp_path) == ["pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def run(code: str, redirected: str) -> subprocess.CompletedProcess[str]:
    code = f"from stablerule.io import write_beside\nfrom pathlib import Path\n{code}"
    return subprocess.run(
        ["bash", "-c", f'"$0" -c "$1" {redirected}', sys.executable, code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_that_leads_to_a_file(tmp_path: Path, place: str) -> None:
    """Neither replaced, nor begun anew: what was printed before is still there, and what is printed after."""
    code = f"print('before')\nwith write_beside(Path({place!r})) as t: t.write_text('result\\n')\nprint('after')"
    (tmp_path / "out").write_text("first\n")
    assert run(code, f">> {tmp_path / 'out'}").stderr == ""
    assert (tmp_path / "out").read_text() == "first\nbefore\nresult\nafter\n"
    assert os.listdir(tmp_path) == ["out"]


def test_another_command_reads_it() -> None:
    code = "import sys\nwith write_beside(Path(sys.argv[1])) as t: t.write_text('result')"
    assert run(code, ">(tr a-z A-Z)").stdout == "RESULT"
    gone = run(code.replace("'result'", "'x' * 10**6"), ">(exec true); sleep 0.2")
    assert "BrokenPipeError" in gone.stderr or not gone.stderr


def test_links_stay_and_what_they_lead_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("old")
    (tmp_path / "link").symlink_to("real/file")
    (tmp_path / "to nothing").symlink_to("real/new")
    (tmp_path / "to a device").symlink_to("/dev/null")
    for link in ("link", "to nothing", "to a device"):
        write(tmp_path / link, "new")
        assert (tmp_path / link).is_symlink()
    assert (tmp_path / "real" / "file").read_text() == (tmp_path / "real" / "new").read_text() == "new"
    assert sorted(os.listdir(tmp_path / "real")) == ["file", "new"]


def test_links_that_lead_to_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "to a folder").symlink_to("folder")
    (tmp_path / "far").symlink_to("no/such/folder")
    (tmp_path / "round").symlink_to("round")
    for name, problem in (
        ("to a folder", "it is a folder. Choose another name"),
        ("far", "no/such' does not exist. Make it first"),
        ("round", "can't be written"),
        ("folder/.", "it is a folder. Choose another name"),
    ):
        with pytest.raises(WriteError, match=problem):
            write(tmp_path / name, "x")
    assert sorted(os.listdir(tmp_path)) == ["far", "folder", "round", "to a folder"]
    with pytest.raises(WriteError, match="can't be written: Bad file descriptor"):
        write(Path("/dev/fd/999"), "x")


def test_rights_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    before = path.stat()
    write(path, "new")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    monkeypatch.setattr("stablerule.io.atomic.os.access", lambda *_: False)  # root may write everything
    with pytest.raises(WriteError, match="the file is read-only"):
        write(path, "newer")
    assert path.read_text() == "new"
