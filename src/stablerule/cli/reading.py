"""What commands read: DATA and the options that say how, the same for every command that takes it, and MODEL."""

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
        help="Another graph to look in than the one in the model's folder. A file is read as that one was.",
    ),
]


def collect_reading_options(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A dataset of the catalog, a folder, or a file.")],
    *,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns of head, relation, tail (weight, source, time): names, or numbers from 0. s,p,o"),
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line is a header.")
    ] = None,
    separator: Annotated[str | None, typer.Option(help="One character; 'tab' for a tab.")] = None,
    comment: Annotated[str, typer.Option(help="Lines that begin with it are left out; 'none' reads them.")] = "#",
    encoding: Annotated[str, typer.Option(help="Encoding of text files.")] = "utf-8",
    keep_literals: Annotated[
        bool, typer.Option("--keep-literals", help="Keep RDF facts whose tail is a literal.")
    ] = False,
    shares: Annotated[
        str | None, typer.Option(help="Shares of train, valid, test for a single file: 0.8,0.1,0.1")
    ] = None,
    shares_seed: Annotated[int, typer.Option(help="Seed of the choice which facts are whose share.")] = 0,
    split: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> dict[str, Any]:
    """Turn the command line's words into the arguments of `open_dataset`; what was not asked for is left out."""
    options: dict[str, Any] = {"data": data}
    if split is not None:
        raise OptionError(f"--split names a part of the data, where a command asks for one. Here: --shares {split}.")
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
    """Give a command the argument DATA and all reading options; it gets the open dataset as `dataset`.

    A command that looks at its own options first takes `open_data` instead, which opens it. Its own arguments stand
    before or behind DATA, as they do around that one; a reading option that it has itself means what it says there.
    Where `dataset` is None by default, DATA may be left out. Where it has a MODEL, data is read as the model's own was,
    but for the options that are given.
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
                raise OptionError(f"The options that say how DATA is read ({', '.join(list(asked)[1:])}) need DATA.")
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
        optional = typer.Argument(
            metavar="DATA", help="A dataset of the catalog, a folder, or a file. [the model's own]"
        )
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
    """Open data as those of a model were read, but for what is asked; a file is cut only if it is the model's own."""
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
    """Read three shares such as 0.8,0.1,0.1."""
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError as error:
        message = f"expected three numbers such as 0.8,0.1,0.1, got {text!r}"
        raise typer.BadParameter(message, param_hint="the shares of train, valid, test") from error
    return train, valid, test


def parse_set_options(pairs: list[str]) -> dict[str, Any]:
    """`name=value`, where the value is a Python literal or else a word."""
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
            f"the model learned from {mark.name!r} ({mark.facts:,} facts), which is not the train of "
            f"{found.dataset.name!r} ({found.graph.n_facts:,} facts). Its rules are used on the latter."
        )
    return found


def open_dataset_of_model_argument(model: Reasoner, folder: Path) -> Dataset:
    """Return the dataset in a model's folder. Where else it may be is only said: no path of a folder is opened."""
    if model.dataset_ is not None:
        return model.dataset_
    mark = model.data_
    source = "" if mark.source is None else f", then at {mark.source!r}"
    raise InputError(
        f"{folder}: there is no graph in it (it learned from {mark.name!r}, {mark.facts:,} facts{source}). "
        "Pass one with --graph: a name of the catalog, a folder or a file."
    )
