"""Work in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stablerule.errors import InputError, MissingExtra
from stablerule.experiments.apart import peak_memory, run_apart
from stablerule.experiments.cells import Cell
from stablerule.experiments.methods import judge


def tell(cell: Cell, cache: Path) -> dict[str, Any]:
    return {"process": os.getpid(), "cell": cell, "cache": str(cache)}


def refuse(cell: Cell, cache: Path) -> dict[str, Any]:
    raise InputError("no such graph")


def crash(cell: Cell, cache: Path) -> dict[str, Any]:
    os._exit(3)


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


def test_the_peak_is_at_least_what_is_held() -> None:
    before = peak_memory()
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert peak_memory() >= max(before, len(held))


def test_a_missing_extra_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def worked(*_: object) -> None:
        raise AssertionError("it learned first")

    monkeypatch.setattr("stablerule.shifts.extras.find_spec", lambda name: None)
    monkeypatch.setattr("stablerule.baselines.popularity.Popularity.fit", worked)
    with pytest.raises(MissingExtra, match="shifts"):
        judge({"graph": "geography", "method": "popularity", "seed": 0}, tmp_path)
