"""`stablerule tune`: find better settings of a method on the validation facts."""

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
    method: Annotated[str, typer.Option(help="Method; `stablerule learn --list` lists them.")] = "stablerule",
    trials: Annotated[int, typer.Option(help="Number of trials; the first has the current settings.")] = 20,
    minutes: Annotated[float | None, typer.Option(help="Time budget for all trials.")] = None,
    option: Annotated[list[str] | None, typer.Option("--set", help="Fix an option, as name=value; repeatable.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Save every trial to this JSON file.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the trials in the file.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the search and of each trial.")] = 0,
) -> None:
    """Tune a method's settings on the validation facts.

    Half of them take part in training, the other half evaluates. Test facts are not used.
    """
    find_method(method)
    if resume and output is None:
        raise OptionError("--resume needs the file of the earlier trials. Add -o FILE.")
    if output is not None and output.exists() and not resume:
        raise WriteError(f"{output}: already exists. Add --resume to continue, or choose another file.")
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
        console.print("\nNo trial beat the current settings.", highlight=False)
    else:
        gain = "" if first.mrr is None else f", {best.mrr - first.mrr:+.4f} to the current settings"  # type: ignore[operator]
        console.print(f"\nBest MRR {best.mrr:.4f}{gain}. To train with it:", highlight=False, soft_wrap=True)
        chosen = " ".join(f"--set {name}={value}" for name, value in best.options.items() if name != "seed")
        console.print(
            f"stablerule learn {plain(dataset.source or dataset.name)} -o MODEL --method {method} {plain(chosen)}",
            highlight=False,
            soft_wrap=True,
        )
    if found.ended_by == "minutes":
        errors.print(
            f"Time budget of {minutes:g} minutes reached after {len(found.trials)} of {trials} trials.", highlight=False
        )


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
        errors.print(f"The best {SHOWN} of {len(order)} trials are shown.", highlight=False)
