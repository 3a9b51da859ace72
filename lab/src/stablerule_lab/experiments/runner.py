"""A small runner: a finished cell is a line in the file of its experiment, so a run that was killed goes on."""

from __future__ import annotations

import platform
import time
import traceback
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stablerule.errors import StableRuleError
from stablerule.extending import Budget
from stablerule.progress import progress_bar
from stablerule_lab.experiments.cells import FORMAT, add_cell, cell_name, fresh_cells, read_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from stablerule_lab.experiments.cells import Cell

PACKAGES = ("stablerule", "numpy", "numba", "scipy", "torch")


@dataclass(frozen=True)
class Ran:
    """What came of a run: results by cell, in the order asked for; the cells that failed, with their errors."""

    results: list[dict[str, Any]]
    failed: list[tuple[Cell, str]]


def run_cells(
    cells: Sequence[Cell],
    path: Path,
    work: Callable[[Cell], dict[str, Any]],
    *,
    made_with: Callable[[Cell], Mapping[str, Any]] = lambda cell: {},
    minutes: float | None = None,
    again: bool = False,
    tell: Callable[[Cell, str], None] = lambda cell, error: None,
) -> Ran:
    """Run the cells that have no result in the file yet. One that fails leaves no line, and the rest goes on.

    made_with: what a result depends on beside its cell, such as settings; one that was made with something else is
    stale, and counts as missing. minutes: no cell is begun after them; 0 reads what is there. again: run those that
    have a result, too, and replace it when the new one is there. tell: is called at once with a cell that failed.
    """
    there = {cell_name(one["cell"]) for one in fresh_cells(read_cells(path), cells, made_with)}
    budget = Budget(minutes)
    failed: list[tuple[Cell, str]] = []
    with progress_bar("cells", len(cells)) as advance:
        for cell in cells:
            if (again or cell_name(cell) not in there) and not budget.passed:
                try:
                    add_cell(path, _run(cell, work, made_with(cell)))
                except Exception as error:  # whatever it is, the other cells are to be run
                    failed.append((cell, _told(error)))
                    tell(*failed[-1])
            advance(1)
    return Ran(fresh_cells(read_cells(path), cells, made_with), failed)


def versions() -> dict[str, str]:
    """The versions of what a result may depend on, as far as it is installed."""
    return {name: version(name) for name in PACKAGES if find_spec(name) is not None}


def _told(error: Exception) -> str:
    """An error of ours in its own words, others with their names."""
    if isinstance(error, StableRuleError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _run(cell: Cell, work: Callable[[Cell], dict[str, Any]], made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Do the work, and return what the file keeps about it."""
    began = time.perf_counter()
    result = work(cell)
    return {
        "format": FORMAT,
        "cell": cell,
        "made_with": dict(made_with),
        "result": result,
        "seconds": round(time.perf_counter() - began, 2),
        "versions": {"python": platform.python_version()} | versions(),
    }
