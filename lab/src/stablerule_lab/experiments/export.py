"""The finished cells of all experiments as one flat table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import InputError
from stablerule_lab.experiments.cells import read_cells

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = "settings"  # JSON text: methods have different settings, so columns would be mostly empty and of mixed types


def flatten_cells(results: Path) -> pl.DataFrame:
    """Return a row for each finished cell in a folder of results.

    The first columns are the experiment (the file's name) and the keys of the cells. Other columns are named by their
    path in the cell's JSON, such as `result.whole.realistic.mrr`. Lists and settings are JSON text.
    """
    kept = [(path.stem, one) for path in sorted(results.glob("*.jsonl")) for one in read_cells(path)]
    if not kept:
        raise InputError(f"{results}: has no finished cells. Run an experiment first, or set --results FOLDER.")
    cells = [{"experiment": name} | one["cell"] for name, one in kept]
    values = [{k: part for k, part in one.items() if k not in ("format", "cell")} for _, one in kept]
    rows = [cell | dict(_flatten(parts)) for cell, parts in zip(cells, values, strict=True)]
    columns = list(dict.fromkeys(name for row in (*cells, *rows) for name in row))
    return pl.from_dicts(rows, infer_schema_length=None).select(columns)


def _flatten(parts: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value with its column name."""
    for key, value in parts.items():
        if isinstance(value, dict) and key != SETTINGS:
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield before + key, json.dumps(value) if isinstance(value, dict | list) else value
