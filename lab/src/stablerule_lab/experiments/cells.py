"""The finished cells of an experiment: a JSON-lines file with one cell a line, sorted by cell name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from filelock import FileLock

from stablerule.errors import ReadError
from stablerule.io import write_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from filelock import BaseFileLock

Cell: TypeAlias = dict[str, str | int | float]
FORMAT = 1
UNSAFE = re.compile(r"[^\w.+-]")  # in a file name


def cell_name(cell: Cell) -> str:
    """Return the name of a cell, which sorts the lines and is safe as a file name.

    >>> cell_name({"graph": "umls", "bias": 0.5, "seed": 0})
    'graph=umls,bias=0.5,seed=0'
    """
    return ",".join(f"{key}={UNSAFE.sub('_', str(value))}" for key, value in cell.items())


def read_cells(path: Path) -> list[dict[str, Any]]:
    """Read all finished cells of an experiment, sorted by name; none without the file."""
    if not path.exists():
        return []
    try:
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    except OSError as error:
        raise ReadError(f"can't be read: {error.strerror}. Change its permissions.", path=path) from error
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        kept = _parse_line(line, path, number)
        name = cell_name(kept["cell"])
        if name in found:
            raise ReadError(f"a second line for the cell {name}. Delete one of the two.", path=path, line=number)
        found[name] = kept
    return [found[name] for name in sorted(found)]


def add_cell(path: Path, kept: dict[str, Any]) -> None:
    """Add a finished cell to the file of its experiment, or replace an older result of the same cell.

    The whole file is written beside and renamed, so a kill leaves either all old or all new lines. Two runs may share a
    file, so one lock covers reading and renaming; otherwise one run could overwrite the other's cell. The system frees
    the lock of a killed process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(path):
        cells = {cell_name(one["cell"]): one for one in [*read_cells(path), kept]}
        lines = (json.dumps(cells[name], separators=(",", ":")) for name in sorted(cells))
        with write_beside(path) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def fresh_cells(
    kept: Iterable[dict[str, Any]], cells: Iterable[Cell], made_with: Callable[[Cell], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the results of some cells, in the order of the cells, without stale ones."""
    by_name = {cell_name(one["cell"]): one for one in kept}
    found = [by_name[name] for name in map(cell_name, cells) if name in by_name]
    return [one for one in found if is_fresh(one, made_with)]


def is_fresh(kept: Mapping[str, Any], made_with: Callable[[Cell], Mapping[str, Any]]) -> bool:
    """Tell whether a result was made with the settings of today."""
    now: dict[str, Any] = json.loads(json.dumps(dict(made_with(kept["cell"]))))
    before: dict[str, Any] = kept.get("made_with", {})
    return now == before


def grouped(results: Iterable[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Group results by keys of their cells, in order of appearance.

    >>> results = [{"cell": {"graph": "umls", "seed": seed}} for seed in (0, 1)]
    >>> {key: len(some) for key, some in grouped(results, "graph").items()}
    {('umls',): 2}
    """
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in results:
        found.setdefault(tuple(one["cell"][key] for key in keys), []).append(one)
    return found


def _lock_file(path: Path) -> BaseFileLock:
    return FileLock(path.with_name(f".{path.name}.lock"))


def _parse_line(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """Read the result of one cell."""
    try:
        kept: dict[str, Any] = json.loads(line)
    except ValueError as error:
        problem = f"damaged line ({error}). Delete it and run its cell again."
        raise ReadError(problem, path=path, line=number) from error
    if not isinstance(kept, dict) or kept.get("format") != FORMAT or not isinstance(kept.get("cell"), dict):
        found = kept.get("format") if isinstance(kept, dict) else None
        problem = f"expected a cell of format {FORMAT}, found {found!r}: another version wrote it"
        raise ReadError(f"{problem}. Delete the line and run its cell again.", path=path, line=number)
    return kept
