"""A small runner: one cell, one JSON file. What is there is not run again, so a run that was cut off goes on."""

from __future__ import annotations

import json
import platform
import re
import time
import traceback
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from stablerule.errors import InputError, ReadError, StableRuleError
from stablerule.io import write_beside
from stablerule.progress import progress_bar
from stablerule.reasoning.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

Cell: TypeAlias = dict[str, str | int | float]
FORMAT = 1
PACKAGES = ("stablerule", "numpy", "numba", "scipy", "torch")
UNSAFE = re.compile(r"[^\w.+-]")  # in the name of a file


@dataclass(frozen=True)
class Ran:
    """What came of a run: results by cell, in the order asked for; the cells that failed, with their errors."""

    results: list[dict[str, Any]]
    failed: list[tuple[Cell, str]]


def cell_name(cell: Cell) -> str:
    """Name the file of a cell by what it is.

    >>> cell_name({"graph": "umls", "bias": 0.5, "seed": 0})
    'graph=umls,bias=0.5,seed=0'
    """
    return ",".join(f"{key}={UNSAFE.sub('_', str(value))}" for key, value in cell.items())


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    work: Callable[[Cell], dict[str, Any]],
    *,
    made_with: Callable[[Cell], Mapping[str, Any]] = lambda cell: {},
    minutes: float | None = None,
    again: bool = False,
    tell: Callable[[Cell, str], None] = lambda cell, error: None,
) -> Ran:
    """Run the cells that have no result yet. One that fails leaves no file: its error is told, and the rest goes on.

    made_with: what a result depends on beside its cell, such as settings; one that was made with something else is
    stale, and counts as missing. minutes: no cell is begun after them; 0 reads what is there. again: run those that
    have a result, too, and replace it when the new one is there. tell: of a cell that failed, at once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    there = {cell_name(one["cell"]) for one in read_cells(folder, cells, made_with)}  # what is damaged is told now
    deadline = Deadline(minutes)
    failed: list[tuple[Cell, str]] = []
    with progress_bar("cells", len(cells)) as advance:
        for cell in cells:
            path = folder / f"{cell_name(cell)}.json"
            if (again or path.stem not in there) and not deadline.passed:
                try:
                    _run(cell, path, work, made_with(cell))
                except Exception as error:  # whatever it is, the other cells are to be run
                    failed.append((cell, _told(error)))
                    tell(*failed[-1])
            advance(1)
    return Ran(read_cells(folder, cells, made_with), failed)


def read_cells(
    folder: Path, cells: Iterable[Cell], made_with: Callable[[Cell], Mapping[str, Any]] = lambda cell: {}
) -> list[dict[str, Any]]:
    """Read the results that are there and not stale, each with its `cell`."""
    found = []
    for cell in cells:
        path = folder / f"{cell_name(cell)}.json"
        if path.exists():
            kept = _read(path)
            if kept["cell"] != cell:
                raise InputError(f"{path}: it holds another cell. Move it away.")
            if is_fresh(kept, made_with):
                found.append(kept)
    return found


def is_fresh(kept: Mapping[str, Any], made_with: Callable[[Cell], Mapping[str, Any]]) -> bool:
    """Tell whether a result was made with what a run would use now."""
    now: dict[str, Any] = json.loads(json.dumps(dict(made_with(kept["cell"]))))
    before: dict[str, Any] = kept.get("made_with", {})
    return now == before


def read_folder(folder: Path) -> list[dict[str, Any]]:
    """Read the results of all cells in a folder, by the names of their files."""
    return [_read(path) for path in sorted(folder.glob("*=*.json"))]


def grouped(results: Iterable[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Put results together whose cells agree in some keys, in the order in which they come.

    >>> results = [{"cell": {"graph": "umls", "seed": seed}} for seed in (0, 1)]
    >>> {key: len(some) for key, some in grouped(results, "graph").items()}
    {('umls',): 2}
    """
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in results:
        found.setdefault(tuple(one["cell"][key] for key in keys), []).append(one)
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReadError(f"it is damaged ({error}). Delete it, and run again.", path=path) from error
    if not isinstance(kept, dict) or kept.get("format") != FORMAT or "cell" not in kept:
        raise InputError(f"{path}: it was written by another version. Move it away.")
    return kept


def versions() -> dict[str, str]:
    """The versions of what a result may depend on, as far as it is installed."""
    return {name: version(name) for name in PACKAGES if find_spec(name) is not None}


def _told(error: Exception) -> str:
    """An error of ours in its own words, others with their names."""
    if isinstance(error, StableRuleError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _run(cell: Cell, path: Path, work: Callable[[Cell], dict[str, Any]], made_with: Mapping[str, Any]) -> None:
    began = time.perf_counter()
    result = work(cell)
    kept = {
        "format": FORMAT,
        "cell": cell,
        "made_with": dict(made_with),
        "result": result,
        "seconds": round(time.perf_counter() - began, 2),
        "versions": {"python": platform.python_version()} | versions(),
    }
    with write_beside(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
