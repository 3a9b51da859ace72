"""The arguments DATA, with its reading options, and MODEL, the same for every command that has them."""

from __future__ import annotations

import ast
import inspect
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from stablerule.cli.output import print_note
from stablerule.datasets import open_dataset
from stablerule.datasets.catalog import CATALOG
from stablerule.errors import InputError, OptionError
from stablerule.io.files import find_path_kind
from stablerule.reasoning.model_folder import read_model_folder
from stablerule.reasoning.model_on_graph import ModelOnGraph
from stablerule.registry import load_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from stablerule.graph import Dataset
    from stablerule.reasoning import DataMark, Reasoner

ModelArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")]
GraphOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="DATA",
        help="Answer from another graph than the model's own.",
    ),
]


def collect_reading_options(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A known graph, a folder or a file.")],
    *,
    columns: Annotated[
        str | None,
        typer.Option(help="Column names or numbers: head, relation, tail (weight, source, time)."),
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line has column names.")
    ] = None,
    separator: Annotated[str | None, typer.Option(help="Column separator, or 'tab'.")] = None,
    comment: Annotated[str, typer.Option(help="Skip lines that start with this; 'none' reads all.")] = "#",
    encoding: Annotated[str, typer.Option(help="Text encoding.")] = "utf-8",
    keep_literals: Annotated[
        bool, typer.Option("--keep-literals", help="Keep RDF facts with a literal as tail.")
    ] = False,
    shares: Annotated[str | None, typer.Option(help="Split a single file into train,valid,test: 0.8,0.1,0.1")] = None,
    shares_seed: Annotated[int, typer.Option(help="Random seed for --shares.")] = 0,
    split: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> dict[str, Any]:
    """Return the given reading options as arguments of `open_dataset`."""
    options: dict[str, Any] = {"data": data}
    if split is not None:
        raise OptionError(f"--split is not an option of this command. To split a single file: --shares {split}.")
    if columns is not None:
        names = [name.strip() for name in columns.split(",")]
        options["columns"] = [int(name) for name in names] if all(n.isdecimal() for n in names) else names
    if header is not None:
        options["header"] = header
    if separator is not None:
        options["separator"] = "\t" if separator in ("tab", "\\t") else separator
    if comment != "#":
        options["comment"] = None if comment == "none" else comment
    if encoding != "utf-8":
        options["encoding"] = encoding
    if keep_literals:
        options["literals"] = "keep"
    if shares is not None:
        options |= {"split": parse_split_option(shares), "seed": shares_seed}
    return options


SPELLED = {"true": True, "false": False, "none": None}


def take_data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument DATA and all reading options to a command, which gets the dataset as `dataset`.

    A command that checks its own options first takes `open_data` instead, a function that opens the dataset. DATA takes
    the position of that argument among the command's own. A reading option that the command defines itself is its own.
    If `dataset` is None by default, DATA is optional. If the command has a MODEL, DATA is read like the model's own
    data, except for the options given.
    """
    reading = inspect.signature(collect_reading_options, eval_str=True).parameters
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    names = [name for name in reading if name not in own and not (name == "shares_seed" and "shares" in own)]
    later = "open_data" in own
    may_be_missing = "dataset" in own and own["dataset"].default is None

    @wraps(command)
    def with_dataset(**arguments: Any) -> None:
        asked = collect_reading_options(**{name: arguments.pop(name) for name in names})
        if may_be_missing and asked["data"] is None:
            if len(asked) > 1:
                raise OptionError(
                    f"Options for reading DATA ({', '.join(list(asked)[1:])}) need DATA. Pass it, or leave them out."
                )
            command(**arguments)
        elif later:
            command(open_data=partial(open_dataset, **asked), **arguments)
        elif "model" in own:
            mark = read_model_folder(arguments["model"]).data
            command(dataset=open_as_learned(mark, **asked), **arguments)
        else:
            command(dataset=open_dataset(**asked), **arguments)

    data, *options = (reading[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in names)
    if may_be_missing:
        optional = typer.Argument(metavar="DATA", help="A known graph, a folder or a file. Default: the model's own.")
        data = data.replace(annotation=Annotated[str | None, optional], default=None)
    together = [
        data
        if p.name in ("dataset", "open_data")
        else p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for p in own.values()
    ]
    together += options
    with_dataset.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined]
    with_dataset.__annotations__ = {p.name: p.annotation for p in together}
    return with_dataset


def open_as_learned(mark: DataMark, data: str, **asked: Any) -> Dataset:
    """Open data with the reading options of a model, except those given; split a file only if it is the model's own."""
    if data.lower() in CATALOG:
        return open_dataset(data, **asked)
    reading = {**mark.reading, **asked}
    whole = {name: value for name, value in reading.items() if name not in ("split", "seed")}
    if "split" in asked or "split" not in reading:
        return open_dataset(data, **reading)
    if find_path_kind(Path(data)) == "folder":
        return open_dataset(data, **whole)
    dataset = open_dataset(data, **reading)
    return dataset if dataset.graph.sha256 == mark.sha256 else open_dataset(data, **whole)


def parse_split_option(text: str) -> tuple[float, float, float]:
    """Parse three shares such as 0.8,0.1,0.1."""
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError as error:
        message = f"expected three numbers such as 0.8,0.1,0.1, got {text!r}"
        raise typer.BadParameter(message, param_hint="the shares of train, valid, test") from error
    return train, valid, test


def parse_set_options(pairs: list[str]) -> dict[str, Any]:
    """Parse `name=value` pairs; a value is a Python literal, or else a string."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise OptionError(f"--set expects name=value, such as decorrelation.moment_order=1; got {pair!r}.")
        try:
            settings[name] = SPELLED[text.lower()] if text.lower() in SPELLED else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            settings[name] = text
    return settings


def open_model_argument(folder: Path, graph: str | None) -> ModelOnGraph:
    """Load a model with a graph: the one in its folder, or the one that the user names."""
    model = load_model(folder)
    if graph is None:
        return ModelOnGraph(model, open_dataset_of_model_argument(model, folder))
    mark = model.data_
    found = ModelOnGraph(model, open_as_learned(mark, graph))
    if mark.sha256 != found.graph.sha256:
        print_note(
            f"the model was trained on {mark.name!r} ({mark.facts:,} facts), and now answers from the training facts "
            "of "
            f"{found.dataset.name!r} ({found.graph.n_facts:,} facts)."
        )
    return found


def open_dataset_of_model_argument(model: Reasoner, folder: Path) -> Dataset:
    """Return the dataset in a model's folder. Without one the error names its source, but no path is opened."""
    if model.dataset_ is not None:
        return model.dataset_
    mark = model.data_
    source = "" if mark.source is None else f", from {mark.source!r}"
    raise InputError(
        f"{folder}: the model was saved without its graph ({mark.name!r}, {mark.facts:,} facts{source}). "
        "Pass --graph with a known graph, a folder or a file."
    )
