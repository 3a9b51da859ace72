"""Work in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lab.tests.experiments.work import be_killed, crash, refuse, tell
from stablerule.errors import InputError, MissingExtra
from stablerule_lab.experiments.methods import evaluate_cell
from stablerule_lab.experiments.process import peak_memory, run_apart

if TYPE_CHECKING:
    from stablerule_lab.experiments.cells import Cell


ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process imports the work from where it was started."""
    monkeypatch.chdir(ROOT)


def test_it_is_another_process(tmp_path: Path) -> None:
    cell: Cell = {"graph": "a graph", "bias": 0.5, "seed": 1}
    found = run_apart(tell, cell, tmp_path)
    assert found["process"] != os.getpid()
    assert found["cell"] == cell
    assert found["cache"] == str(tmp_path)
    assert found["peak_gb"] > 0


def test_what_goes_wrong_there_is_told_here(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such graph"):
        run_apart(refuse, {"seed": 0}, tmp_path)
    with pytest.raises(InputError, match="ended with 3"):
        run_apart(crash, {"seed": 0}, tmp_path)
    with pytest.raises(InputError, match=r"ended by SIGKILL \(perhaps out of memory\)"):
        run_apart(be_killed, {"seed": 0}, tmp_path)


def test_no_child_is_left_behind(tmp_path: Path) -> None:
    """Who waits for the result is killed, and nobody will read it."""
    call = (
        "from pathlib import Path; from lab.tests.experiments.work import wait; "
        "from stablerule_lab.experiments.process import run_apart; "
        f"run_apart(wait, {{'seed': 0}}, Path({str(tmp_path)!r}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", call])
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        assert parent.poll() is None
        time.sleep(0.05)
    child = int((tmp_path / "child").read_text())
    parent.kill()
    parent.wait()
    for _ in range(200):
        if not is_running(child):
            return
        time.sleep(0.05)
    raise AssertionError("the child is still there")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_the_peak_is_at_least_what_is_held() -> None:
    before = peak_memory()
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert peak_memory() >= max(before, len(held))


def test_a_missing_extra_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def worked(*_: object) -> None:
        raise AssertionError("it learned first")

    monkeypatch.setattr("stablerule.shifts.signatures.find_spec", lambda name: None)
    monkeypatch.setattr("stablerule.learning.popularity.Popularity.fit", worked)
    with pytest.raises(MissingExtra, match="shifts"):
        evaluate_cell({"graph": "geography", "method": "popularity", "seed": 0}, tmp_path)
