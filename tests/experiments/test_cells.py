"""The runner: one cell, one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablerule.errors import InputError, ReadError
from stablerule.experiments.cells import Cell, cell_name, read_cells, run_cells

CELLS: list[Cell] = [{"graph": "a b", "seed": seed} for seed in range(3)]


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    ran: list[Cell] = []

    def work(cell: Cell) -> dict[str, Any]:
        ran.append(cell)
        return {"twice": 2 * int(cell["seed"])}

    first = run_cells(CELLS[:2], tmp_path / "cells", work)
    assert [one["result"]["twice"] for one in first.results] == [0, 2]
    second = run_cells(CELLS, tmp_path / "cells", work)
    assert [one["result"]["twice"] for one in second.results] == [0, 2, 4]
    assert ran == CELLS
    assert sorted(path.name for path in (tmp_path / "cells").iterdir()) == [
        f"graph=a_b,seed={seed}.json" for seed in range(3)
    ]
    assert {"stablerule", "python", "numpy", "torch"} <= set(second.results[0]["versions"])


def test_a_cell_that_fails_leaves_nothing_and_the_rest_goes_on(tmp_path: Path) -> None:
    def work(cell: Cell) -> dict[str, Any]:
        if cell["seed"] == 1:
            raise InputError("no facts")
        return {}

    found = run_cells(CELLS, tmp_path, work)
    assert [one["cell"]["seed"] for one in found.results] == [0, 2]
    ((cell, error),) = found.failed
    assert cell == CELLS[1]
    assert "no facts" in error
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interrupted_cell_leaves_nothing(tmp_path: Path) -> None:
    def work(cell: Cell) -> dict[str, Any]:
        if cell["seed"] == 1:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, tmp_path, work)
    assert [path.stem for path in tmp_path.iterdir()] == [cell_name(CELLS[0])]


def test_a_stale_result_counts_as_missing(tmp_path: Path) -> None:
    for size, found, runs in ((1, 1, 1), (1, 2, 1), (2, 3, 3)):
        ran = run_cells(CELLS[:1], tmp_path, lambda _, n=found: {"n": n}, made_with=lambda _, s=size: {"size": s})  # type: ignore[misc]
        assert [one["result"]["n"] for one in ran.results] == [runs]
    assert read_cells(tmp_path, CELLS, lambda _: {"size": 9}) == []


def test_a_failure_is_told_at_once(tmp_path: Path) -> None:
    told: list[str] = []

    def work(cell: Cell) -> dict[str, Any]:
        if cell["seed"] == 2:
            assert told == ["no facts"]
        if cell["seed"] == 1:
            raise InputError("no facts")
        return {}

    run_cells(CELLS, tmp_path, work, tell=lambda cell, error: told.append(error))


def test_what_is_damaged_is_told_before_any_work(tmp_path: Path) -> None:
    for content in ("{", "[]"):
        (tmp_path / f"{cell_name(CELLS[2])}.json").write_text(content)
        with pytest.raises(InputError):
            run_cells(CELLS, tmp_path, lambda _: {})
        assert len(list(tmp_path.iterdir())) == 1


def test_damaged_and_foreign_files_are_told(tmp_path: Path) -> None:
    run_cells(CELLS[:1], tmp_path, lambda _: {})
    path = tmp_path / f"{cell_name(CELLS[0])}.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 7'))
    with pytest.raises(InputError, match="another cell"):
        read_cells(tmp_path, CELLS)
    path.write_text("{")
    with pytest.raises(ReadError, match="damaged"):
        read_cells(tmp_path, CELLS)


def test_no_cell_is_begun_after_the_budget(tmp_path: Path) -> None:
    assert run_cells(CELLS, tmp_path, lambda _: {}, minutes=0).results == []
    assert list(tmp_path.iterdir()) == []
    run_cells(CELLS[:1], tmp_path, lambda _: {})
    assert len(run_cells(CELLS, tmp_path, lambda _: {}, minutes=0).results) == 1
