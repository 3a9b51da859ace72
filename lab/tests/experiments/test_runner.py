"""The runner: what is there is not run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stablerule.errors import InputError, ReadError
from stablerule_lab.experiments.cells import Cell, fresh_cells, read_cells
from stablerule_lab.experiments.runner import run_cells

CELLS: list[Cell] = [{"graph": "a b", "seed": seed} for seed in range(3)]
KILLED = f"""
import os, signal, sys
from pathlib import Path
from stablerule_lab.experiments.runner import run_cells

def work(cell):
    if cell["seed"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {{"process": os.getpid()}}

run_cells({CELLS!r}, Path(sys.argv[1]), work)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results" / "umls.jsonl"


def test_what_is_there_is_not_run_again(file: Path) -> None:
    ran: list[Cell] = []

    def work(cell: Cell) -> dict[str, Any]:
        ran.append(cell)
        return {"twice": 2 * int(cell["seed"])}

    first = run_cells(CELLS[:2], file, work)
    assert [one["result"]["twice"] for one in first.results] == [0, 2]
    second = run_cells(CELLS[::-1], file, work)
    assert [one["result"]["twice"] for one in second.results] == [4, 2, 0]
    assert ran == CELLS
    assert {"stablerule", "python", "numpy", "torch"} <= set(second.results[0]["versions"])


def test_a_cell_that_fails_is_told_at_once_and_leaves_no_line(file: Path) -> None:
    told: list[str] = []

    def work(cell: Cell) -> dict[str, Any]:
        if cell["seed"] == 2:
            assert told == ["no facts"]
        if cell["seed"] == 1:
            raise InputError("no facts")
        return {}

    found = run_cells(CELLS, file, work, tell=lambda cell, error: told.append(error))
    assert found.failed == [(CELLS[1], "no facts")]
    assert [one["cell"] for one in found.results] == [one["cell"] for one in read_cells(file)] == [CELLS[0], CELLS[2]]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows knows no SIGKILL")
def test_a_kill_loses_the_running_cell_and_no_other(file: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    ran: list[Cell] = []

    def work(cell: Cell) -> dict[str, Any]:
        ran.append(cell)
        return {"process": os.getpid()}

    found = run_cells(CELLS, file, work)
    assert ran == [CELLS[2]]
    assert [one["result"]["process"] == os.getpid() for one in found.results] == [False, False, True]


def test_a_stale_result_counts_as_missing_and_is_replaced(file: Path) -> None:
    for size, found, runs in ((1, 1, 1), (1, 2, 1), (2, 3, 3)):
        ran = run_cells(CELLS[:1], file, lambda _, n=found: {"n": n}, made_with=lambda _, s=size: {"size": s})  # type: ignore[misc]
        assert [one["result"]["n"] for one in ran.results] == [runs]
        assert len(read_cells(file)) == 1
    assert fresh_cells(read_cells(file), CELLS, lambda _: {"size": 9}) == []


def test_a_damaged_file_is_told_before_any_work(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("{\n")

    def work(cell: Cell) -> dict[str, Any]:
        raise AssertionError("begun")

    with pytest.raises(ReadError, match="line 1"):
        run_cells(CELLS, file, work)
    assert file.read_text() == "{\n"


def test_no_cell_is_begun_after_the_budget(file: Path) -> None:
    assert run_cells(CELLS, file, lambda _: {}, minutes=0).results == []
    assert not file.parent.exists()
    run_cells(CELLS[:1], file, lambda _: {})
    assert len(run_cells(CELLS, file, lambda _: {}, minutes=0).results) == 1
