"""`stablerule split`: split a dataset again, at random or with a known shift between training and test."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablerule.cli.grouping import SOME_GROUPS, read_groups_option
from stablerule.cli.output import (
    make_printed_table,
    name_options_as_typed,
    plain,
    print_line,
    print_message,
    print_table,
)
from stablerule.cli.reading import take_data_options
from stablerule.errors import OptionError
from stablerule.graph import SPLITS, Dataset, Triples
from stablerule.shifts.splits import (
    Split,
    check_split_place,
    split_by_time,
    split_inductive,
    split_random,
    split_test_side,
    split_train_side,
)
from stablerule.shifts.splits.saving import WHOLE, count_lost_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _split_test_side_command(dataset: Dataset, *, groups: str, seed: int = 0) -> Split:
    return split_test_side(dataset, read_groups_option(groups, dataset, dataset.test, seed, measure=False))


def _split_train_side_command(
    dataset: Dataset, *, groups: str, bias: float, seed: int = 0, thinning: bool = False
) -> Split:
    """Group the training and validation facts together, so that both have the same groups."""
    facts = Triples.concat(dataset.train, dataset.valid)
    names = list(read_groups_option(groups, dataset, facts, seed, measure=False))
    cut = len(dataset.train)
    return split_train_side(dataset, names[:cut], names[cut:], bias=bias, seed=seed, thinning=thinning)


# The options of a kind are the arguments of its function.
KINDS: dict[str, Callable[..., Split]] = {
    "random": split_random,
    "inductive": split_inductive,
    "time": split_by_time,
    "test-side": _split_test_side_command,
    "train-side": _split_train_side_command,
}
RELATIONS_SHOWN = 3


@take_data_options
def split(
    dataset: Dataset,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the split.")],
    kind: Annotated[str, typer.Option(help=f"One of {', '.join(KINDS)}.")],
    shares: Annotated[
        str | None, typer.Option(help="train,valid,test: 0.8,0.1,0.1. inductive: of the entities, 0.7,0.1,0.2")
    ] = None,
    context: Annotated[
        float | None,
        typer.Option(help="inductive: share of facts to reason on, default 0.75."),
    ] = None,
    regions: Annotated[int | None, typer.Option(help="inductive: regions of held-out entities, default 10.")] = None,
    cuts: Annotated[str | None, typer.Option(help="time: when validation and test begin: 2015,2018")] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="GROUPS", help=f"test-side and train-side: {SOME_GROUPS}.")
    ] = None,
    bias: Annotated[float | None, typer.Option(help="train-side: 0 keeps all groups equal, 1 keeps one.")] = None,
    thinning: Annotated[
        bool, typer.Option("--thinning", help="train-side: remove facts that are not examples.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Random seed, default 0.")] = None,
    suffix: Annotated[str, typer.Option("--to", help="Format: tsv, csv or parquet; tsv.gz to compress.")] = "tsv",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing split.")] = False,
) -> None:
    """Re-split a dataset and report what changed."""
    if kind not in KINDS:
        raise OptionError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    given = {
        "shares": None if shares is None else _parse_number_option(shares),
        "context": context,
        "regions": regions,
        "cuts": None if cuts is None else tuple(cut.strip() for cut in cuts.split(",")),
        "groups": groups,
        "bias": bias,
        "thinning": thinning or None,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    _refuse_options_of_other_splits(kind, options)
    _check_missing_options(kind, options)
    check_split_place(output, overwrite=overwrite)
    with name_options_as_typed():
        made = KINDS[kind](dataset, **options)
        made.save(output, overwrite=overwrite, suffix=f".{suffix.removeprefix('.')}")
    _print_manifest(made.manifest)
    print_message(f"Saved to {plain(str(output))}")


def _parse_number_option(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise OptionError(f"--shares must be three numbers such as 0.8,0.1,0.1, got {text!r}.") from error


def _refuse_options_of_other_splits(kind: str, options: Mapping[str, Any]) -> None:
    for name in options:
        takers = [other for other, make in KINDS.items() if name in inspect.signature(make).parameters]
        if kind not in takers:
            raise OptionError(f"--{name} works only with --kind {', '.join(takers)}, got {kind}. Leave it out.")


def _check_missing_options(kind: str, options: Mapping[str, Any]) -> None:
    for name, argument in inspect.signature(KINDS[kind]).parameters.items():
        needed = argument.kind is argument.KEYWORD_ONLY and argument.default is argument.empty
        if needed and name not in options:
            raise OptionError(f"--kind {kind} needs --{name}.")


def _print_manifest(manifest: Mapping[str, Any]) -> None:
    source, lost = manifest["source"], manifest["lost"]
    seed = "" if manifest["seed"] is None else f", seed {manifest['seed']}"
    print_line(f"[bold]{plain(source['name'])}[/bold], {manifest['kind']}{seed}")
    rows = make_printed_table("part", "entities", "relations", *SPLITS, right=("entities", "relations", *SPLITS))
    for name, part in manifest["parts"].items():
        numbers = (part[column] for column in ("entities", "relations", *SPLITS))
        rows.add_row("all" if name == WHOLE else plain(name), *(f"{number:,}" for number in numbers))
    print_table(rows)
    facts, before = count_lost_facts(manifest), sum(source[name] for name in SPLITS)
    print_line(f"\nLost: {facts:,} of {before:,} facts{'' if facts else '.'}")
    for reason, of_them in lost["facts"].items():
        print_line(f"  {of_them['facts']:,} {reason}: {_spell_largest_losses(of_them['relations'])}")
    if lost["entities"]:
        print_line(f"  {lost['entities']:,} entities have no facts left")
    if lost["relations"]:
        print_line(f"  {len(lost['relations']):,} relations have no facts left: {plain(', '.join(lost['relations']))}")
    for note in manifest["notes"]:
        print_line(plain(note))


def _spell_largest_losses(counts: Mapping[str, int]) -> str:
    """Spell the relations that lose most."""
    shown = [f"{name} {count:,}" for name, count in list(counts.items())[:RELATIONS_SHOWN]]
    others = len(counts) - len(shown)
    return plain(", ".join(shown)) + (f" and {others:,} other relations" if others else "")
