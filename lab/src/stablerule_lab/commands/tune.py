"""`stablerule tune`: better settings of a method for your data, found on valid facts."""

from __future__ import annotations

import json as to_text
from pathlib import Path
from typing import Annotated

import typer

from stablerule.cli.output import console, errors, make_printed_table, plain, print_table
from stablerule.cli.reading import parse_set_options, take_data_options
from stablerule.errors import OptionError, WriteError
from stablerule.graph import Dataset
from stablerule.registry import find_method
from stablerule_lab.experiments.trials import Trial
from stablerule_lab.experiments.trials import tune as search

SHOWN = 10


@take_data_options
def tune(
    dataset: Dataset,
    method: Annotated[str, typer.Option(help="The method; stablerule learn --list shows all.")] = "stablerule",
    trials: Annotated[int, typer.Option(help="How many settings to try, the present ones among them.")] = 20,
    minutes: Annotated[float | None, typer.Option(help="A budget for all of them.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="An option that is not searched, as name=value.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Keep every trial in this JSON file.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the trials that are in the file.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the search and of every trial.")] = 0,
) -> None:
    """Try settings of a method: one half of the valid facts teaches, the other judges. Test is not looked at."""
    find_method(method)
    if resume and output is None:
        raise OptionError("--resume goes on with the trials of a file: say which, with -o FILE.")
    if output is not None and output.exists() and not resume:
        raise WriteError(f"{output}: already exists. Go on with --resume, or choose another place.")
    found = search(
        method,
        dataset,
        trials=trials,
        minutes=minutes,
        fixed=parse_set_options(option or []),
        kept=output,
        resume=resume,
        seed=seed,
    )
    _print(list(found.trials))
    best, first = found.best, found.trials[0]
    if best is first:
        console.print("\nNothing was better than the settings it has.", highlight=False)
    else:
        gain = "" if first.mrr is None else f", {best.mrr - first.mrr:+.4f} to the settings it has"  # type: ignore[operator]
        console.print(f"\nBest MRR {best.mrr:.4f}{gain}. To learn with it:", highlight=False, soft_wrap=True)
        chosen = " ".join(f"--set {name}={value}" for name, value in best.options.items() if name != "seed")
        console.print(
            f"stablerule learn {plain(dataset.source or dataset.name)} -o MODEL --method {method} {plain(chosen)}",
            highlight=False,
            soft_wrap=True,
        )
    if found.ended_by == "minutes":
        errors.print(f"{len(found.trials)} of {trials} trials in {minutes:g} minutes.", highlight=False)


def _print(trials: list[Trial]) -> None:
    rows = make_printed_table("trial", "MRR", "seconds", "settings", right=("trial", "MRR", "seconds"))
    order = sorted(range(len(trials)), key=lambda i: -(trials[i].mrr or -1.0))
    for place in order[:SHOWN]:
        trial = trials[place]
        settings = ", ".join(
            f"{name}={to_text.dumps(value)}" for name, value in trial.options.items() if name != "seed"
        )
        mrr = "failed" if trial.mrr is None else f"{trial.mrr:.4f}"
        rows.add_row(str(place + 1), mrr, f"{trial.seconds:.1f}", plain(trial.error or settings))
    print_table(rows)
    if len(order) > SHOWN:
        errors.print(f"The best {SHOWN} of {len(order)} trials.", highlight=False)
