"""Run the missing cells of an experiment. Finished cells are kept, so a killed run can be continued."""

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
    """The outcome of a run: results in the requested order, and failed cells with their errors."""

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
    """Run the cells without a result in the file. A failed cell leaves no line, and the others go on.

    made_with: what a result depends on besides its cell, such as settings; a result made with something else is stale
        and counts as missing.
    minutes: start no cell after this time; 0 runs none. again: also run finished cells, and replace their results.
    tell: called with each failed cell and its error.
    """
    there = {cell_name(one["cell"]) for one in fresh_cells(read_cells(path), cells, made_with)}
    budget = Budget(minutes)
    failed: list[tuple[Cell, str]] = []
    with progress_bar("cells", len(cells)) as advance:
        for cell in cells:
            if (again or cell_name(cell) not in there) and not budget.passed:
                try:
                    add_cell(path, _run(cell, work, made_with(cell)))
                except Exception as error:  # any error: the other cells still run
                    failed.append((cell, _told(error)))
                    tell(*failed[-1])
            advance(1)
    return Ran(fresh_cells(read_cells(path), cells, made_with), failed)


def versions() -> dict[str, str]:
    """Return the versions of installed packages that a result may depend on."""
    return {name: version(name) for name in PACKAGES if find_spec(name) is not None}


def _told(error: Exception) -> str:
    """Return the message of an error, with the type if it is not one of ours."""
    if isinstance(error, StableRuleError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _run(cell: Cell, work: Callable[[Cell], dict[str, Any]], made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Run a cell, and return the record for the file."""
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
