"""`stablerule experiment`: cells that are run one by one, each kept in a file of its own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from stablerule.cli.model_graph import note
from stablerule.cli.output import console, errors, plain, print_table, table
from stablerule.errors import OptionError, closest
from stablerule.experiments.cells import run_cells
from stablerule.experiments.summary import summarise
from stablerule.experiments.train_side import BIASES, CONFIRMING, GRAPHS, MAIN, METHODS, SEEDS, cells, run_cell
from stablerule.experiments.train_side_tables import train_side_tables
from stablerule.io import write_beside

T = TypeVar("T")
NAMES = ("train-side",)
SPLITS = ("test", "valid")
CACHE, SUMMARY, TABLES = "cache", "summary.json", "summary.md"


def experiment(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(NAMES)}.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of the cells; what is there is not run again.")
    ],
    graphs: Annotated[str | None, typer.Option(help=f"Some of {','.join(GRAPHS)}.")] = None,
    methods: Annotated[str | None, typer.Option(help=f"Some of {','.join(METHODS)}.")] = None,
    biases: Annotated[str | None, typer.Option(help=f"Such as {','.join(map(str, BIASES))}.")] = None,
    seeds: Annotated[str | None, typer.Option(help=f"Such as {','.join(map(str, SEEDS))}.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="No cell is begun after so many; 0 only reads what is there.")
    ] = None,
    split: Annotated[str, typer.Option(help="What is judged: test, or valid where something is chosen.")] = "test",
    reference: Annotated[str, typer.Option(help="The method that the others are compared with.")] = "nodecor",
) -> None:
    """Run what is missing of an experiment, and say what all cells say together."""
    if name not in NAMES:
        raise OptionError(f"There is no experiment {name!r}. There are: {', '.join(NAMES)}.")
    asked = cells(
        _some("--graphs", graphs, (*GRAPHS, *CONFIRMING), str) if graphs else GRAPHS,
        _some("--methods", methods, tuple(METHODS), str) if methods else MAIN,
        _some("--biases", biases, None, float) or BIASES,
        _some("--seeds", seeds, None, int) or SEEDS,
        split,
    )
    if split not in SPLITS:
        raise OptionError(f"--split must be one of {', '.join(SPLITS)}, got {split!r}.")
    if minutes is not None and minutes < 0:
        raise OptionError(f"--minutes must be at least 0, got {minutes}.")
    if reference not in METHODS:
        raise OptionError(f"--reference must be one of {', '.join(METHODS)}, got {reference!r}.")
    cache = output / CACHE
    ran = run_cells(asked, output, lambda cell: run_cell(cell, cache), minutes=minutes)
    for cell, error in ran.failed:
        note(f"{', '.join(f'{key} {value}' for key, value in cell.items())} failed: {error}")
    rows = summarise(ran.results, cache, reference=reference)
    with write_beside(output / SUMMARY) as temporary:
        temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    with write_beside(output / TABLES) as temporary:
        temporary.write_text("\n".join(train_side_tables(rows, reference)).strip() + "\n", encoding="utf-8")
    _print(rows, reference)
    errors.print(f"{len(ran.results):,} of {len(asked):,} cells, in {plain(str(output))}", highlight=False)
    if ran.failed:
        raise typer.Exit(1)


def _some(option: str, text: str | None, known: tuple[str, ...] | None, kind: type[T]) -> tuple[T, ...]:
    """Read a list with commas; None is all that is known."""
    if text is None:
        return tuple(kind(word) for word in known or ())  # type: ignore[call-arg]
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if known is not None and word not in known:
            raise OptionError(f"{option} must be some of {', '.join(known)}, got {word!r}.{closest(word, known)}")
    try:
        return tuple(kind(word) for word in words)  # type: ignore[call-arg]
    except ValueError as error:
        raise OptionError(f"{option} must be numbers with commas between them, got {text!r}.") from error


def _gain(found: dict[str, Any]) -> str:
    """A difference with its interval: over seeds, or over queries where there is one seed."""
    low, high = found.get("seeds") or found.get("queries") or (math.nan, math.nan)
    return f"{found['difference']:+.4f} ({low:+.4f} to {high:+.4f})"


def _print(rows: list[dict[str, object]], reference: str) -> None:
    numbers = ("bias", "seeds", "mean", "worst", "deviation", f"mean - {reference}", f"worst - {reference}")
    made = table("graph", "method", *numbers, right=numbers)
    for row in rows:
        found = row.get("difference")
        gains = [_gain(found[one]) for one in ("mean", "worst")] if isinstance(found, dict) else ["", ""]
        figures = (f"{row[one]:.4f}" for one in ("mean", "worst", "deviation"))
        names = (str(row[one]) for one in ("graph", "method", "bias", "seeds"))
        made.add_row(*names, *figures, *gains)
    console.print()
    print_table(made)
