"""`stablerule learn`: train a model and save it."""

from __future__ import annotations

import itertools
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from stablerule.cli.output import make_printed_table, plain, print_message, print_note, print_table
from stablerule.cli.reading import parse_set_options, take_data_options
from stablerule.errors import OptionError, OutputExists, WriteError
from stablerule.graph import Dataset, Triples
from stablerule.io import check_output_folder
from stablerule.io.atomic import claim_output, restore_folder
from stablerule.learning import StableRule
from stablerule.learning.refit import count_held_out
from stablerule.reasoning import Reasoner
from stablerule.reasoning.budget import check_minutes
from stablerule.reasoning.option_types import join_options
from stablerule.registry import METHODS, MODELS, find_method


def _print_method_list(asked: bool) -> None:
    """Print one line for each method, then exit."""
    if not asked:
        return
    rows = make_printed_table("method", "kind", "unseen entities", "explains", "what it is")
    for one in METHODS.values():
        rows.add_row(one.name, one.kind, *("yes" if has else "no" for has in (one.inductive, one.explains)), one.about)
    print_table(rows)
    raise typer.Exit


@take_data_options
def learn(
    open_data: Callable[[], Dataset],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the model.")] = None,
    method: Annotated[str, typer.Option(help="Learning method; --list shows all.")] = "stablerule",
    max_length: Annotated[int | None, typer.Option(help="Longest rule body; 3 for most methods.")] = None,
    paper: Annotated[
        str | None, typer.Option(metavar="GRAPH", help="Use the paper's settings for a graph, such as umls.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed; same seed, same rules.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set an option of the method: name=value. Repeatable."),
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A train-side split: learn only from its examples."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Time budget; saves what has been learned by then.")] = None,
    _listed: Annotated[
        bool, typer.Option("--list", callback=_print_method_list, is_eager=True, help="List all methods.")
    ] = False,
    no_refit: Annotated[
        bool,
        typer.Option(
            "--no-refit",
            help="Hold out no facts; choose on the training facts.",
        ),
    ] = False,
    no_graph: Annotated[bool, typer.Option("--no-graph", help="Save without the graph (40 bytes a fact).")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan only.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run to the same folder.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model.")] = False,
) -> None:
    """Train a model and save it to a folder."""
    asked = _collect_named_options(method, max_length, seed, minutes) | parse_set_options(option or [])
    model = _make_learner_from_options(method, paper, asked)
    model.check_options()
    if resume and not isinstance(model, StableRule):
        raise OptionError(f"--resume works only with the method stablerule, got {method}. Leave it out.")
    if no_refit and not model.refits:
        raise OptionError(f"--no-refit works only with methods that hold facts out; {method} does not. Leave it out.")
    if not dry_run:
        output = _check_output_option(output, resume=resume, overwrite=overwrite)
        overwrite = overwrite or output.exists()
    dataset = open_data()
    print_message(f"{plain(repr(dataset))}")
    if paper is None and (usual := METHODS[method].settings(dataset.name, asked)):
        model = _make_learner_from_options(method, None, usual | asked)
        model.check_options()
        kept = {name: value for name, value in usual.items() if name not in asked}
        print_message(f"  settings for {dataset.name}: {', '.join(f'{name}={value}' for name, value in kept.items())}")
    for line in model.plan_lines(dataset.graph, minutes):
        print_message(f"  {plain(line)}")
    may_refit = model.refits and not (no_refit or examples or len(dataset.valid))
    if may_refit and (held_out := count_held_out(dataset.graph)):
        print_message(
            f"  {held_out:,} of {dataset.graph.n_facts:,} facts are held out, to choose the aggregation and to "
            "calibrate; the rules are then measured on all facts"
        )
    taught = None if examples is None else _read_examples(examples, dataset)
    if taught is not None:
        print_message(f"  {len(taught):,} of {dataset.graph.n_facts:,} facts are used as examples")
    if dry_run or output is None:
        return
    began = time.perf_counter()
    with claim_output(output):
        _fit_with_checkpoint_option(model, dataset, taught, output, minutes, resume=resume, refit=not no_refit)
        _save_to_output_option(model, dataset, output, overwrite=overwrite, graph=not no_graph)
        goes_on = isinstance(model, StableRule) and _can_be_resumed(model)
        if not goes_on:
            _remove_checkpoint_folder(_name_checkpoint_folder(output))
    for text in model.learned_.notes:  # about a file of rules: what could not be read
        print_note(text)
    seconds = time.perf_counter() - began
    explains = METHODS[method].explains
    what = model.rules.describe() if explains else f"A model by {method}"
    print_message(f"{what}, in {seconds:.1f} s. Saved to {plain(str(output))}")
    _print_learning_summary(model, dataset)
    if goes_on and not model.learned_.interrupted:
        print_message("To continue, run again with --resume and more --minutes.")
    then = "To see them: stablerule rules" if explains else "To ask it: stablerule ask"
    print_message(f"{then} {plain(shlex.quote(str(output)))}")
    if model.learned_.interrupted:
        print_message("The model has what was learned so far." + " Continue with --resume." * goes_on)
        raise KeyboardInterrupt


def _read_examples(folder: Path, dataset: Dataset) -> Triples:
    from stablerule.shifts.splits import read_examples  # noqa: PLC0415  # shifts take a moment to import

    return read_examples(folder, dataset)


def _print_learning_summary(model: Reasoner, dataset: Dataset) -> None:
    """Print the chosen aggregation, how training ended, and why there is no calibration if there is none."""
    learned, course = model.learned_, model.learned_.course
    if learned.choice is not None:
        lines = [line for size in learned.sizes for line in size.lines()] + learned.choice.lines()
        for line in lines:
            print_message(plain(line))
    if learned.held_out:
        print_message(f"The rules were measured again on all {dataset.graph.n_facts:,} facts.")
    if course is not None and course.best_mrr is not None:
        print_message(
            f"Network: validation MRR {course.best_mrr:.3f} at epoch {course.best_epoch}, training ended by "
            f"{learned.ended_by}."
        )
    elif learned.ended_by == "minutes":
        print_note("the time budget ran out before training finished.")
    if learned.choice is not None and isinstance(why := model.calibration_for(dataset.graph), str):
        print_note(f"no calibration, so new facts get no probability: {why}.")


def _collect_named_options(method: str, max_length: int | None, seed: int, minutes: float | None) -> dict[str, Any]:
    """Return the named options that were given; not every method has `max_length`."""
    find_method(method)
    options: dict[str, Any] = {"seed": seed}
    if max_length is not None:
        options["max_length"] = max_length
    if minutes is not None:
        check_minutes(minutes)
    return options


def _make_learner_from_options(method: str, paper: str | None, options: dict[str, Any]) -> Reasoner:
    chosen: dict[str, Any] = {}
    if paper is not None:
        if method != StableRule.method:
            raise OptionError(f"--paper works only with the method stablerule, got {method}. Leave it out.")
        chosen = StableRule.paper(paper).options
    return MODELS[method].with_options(join_options(chosen, options))


def _check_output_option(output: Path | None, *, resume: bool, overwrite: bool) -> Path:
    """Check that the output can be written before starting."""
    if output is None:
        raise OptionError("No output folder. Pass -o FOLDER, or --dry-run to print the plan only.")
    place = output.resolve()
    if not place.name:
        raise OptionError(f"-o must be a new folder for the model, got {str(output)!r}.")
    restore_folder(place)
    restore_folder(_name_checkpoint_folder(place))
    begun = _name_checkpoint_folder(place).is_dir()
    if place.exists() and not (overwrite or (resume and begun)):
        raise WriteError(
            f"{output}: already exists. Choose another folder, or replace it with --overwrite."
            + (f" There is nothing to resume: no checkpoint at {_name_checkpoint_folder(output)}." if resume else "")
        )
    check_output_folder(output, overwrite=True)
    if resume and not begun:
        print_message(f"No checkpoint at {plain(str(_name_checkpoint_folder(output)))}: starting from the beginning.")
    return output


def _fit_with_checkpoint_option(
    model: Reasoner,
    dataset: Dataset,
    examples: Triples | None,
    output: Path,
    minutes: float | None,
    *,
    resume: bool,
    refit: bool,
) -> None:
    """Fit the model; an interrupted run leaves a checkpoint beside the model's folder, a finished one does not."""
    more: dict[str, Any] = {"refit": refit} if model.refits else {}
    if not isinstance(model, StableRule):
        model.fit(dataset, examples=examples, minutes=minutes, **more)
        return
    kept = _name_checkpoint_folder(output)
    try:
        model.fit(dataset, examples=examples, minutes=minutes, checkpoint=kept, resume=resume, **more)
    except KeyboardInterrupt:
        if kept.is_dir():
            print_message(f"The checkpoint is in {plain(str(kept))}. Continue with --resume.")
        raise


def _save_to_output_option(model: Reasoner, dataset: Dataset, output: Path, *, overwrite: bool, graph: bool) -> None:
    """Save a model; if another appeared at its place during training, save it beside that one and raise an error."""

    def save(place: Path, *, overwrite: bool) -> None:
        model.save(place, overwrite=overwrite, graph=graph, source=dataset.source, reading=dataset.reading)

    try:
        save(output, overwrite=overwrite)
    except OutputExists as error:
        for number in itertools.count(2):
            beside = output.with_name(f"{output.name}-{number}")
            with suppress(OutputExists):
                save(beside, overwrite=False)
                break
        _remove_checkpoint_folder(_name_checkpoint_folder(output))
        raise OutputExists(
            f"{output}: was created by another process during training, and is not replaced. The model is saved to "
            f"{beside}."
        ) from error


def _can_be_resumed(model: Reasoner) -> bool:
    """Return whether Ctrl-C or the time budget ended training."""
    course = model.learned_.course
    return course is not None and course.ended_by in ("interrupt", "minutes")


def _name_checkpoint_folder(output: Path) -> Path:
    place = output.resolve()
    return place.with_name(place.name + ".checkpoint")


def _remove_checkpoint_folder(folder: Path) -> None:
    for name in ("progress.json", "state.safetensors"):
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
