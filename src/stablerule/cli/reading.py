"""The argument DATA and the options that say how it is read, the same for every command that takes data."""

from __future__ import annotations

import ast
import inspect
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from stablerule.datasets import open_dataset
from stablerule.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable


def reading_options(
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
    split: Annotated[
        str | None, typer.Option(help="Shares of train, valid, test for a single file: 0.8,0.1,0.1")
    ] = None,
    split_seed: Annotated[int, typer.Option(help="Seed of the split.")] = 0,
) -> dict[str, Any]:
    """Turn the command line's words into the arguments of `open_dataset`; what was not asked for is left out."""
    options: dict[str, Any] = {"data": data}
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
    if split is not None:
        options |= {"split": shares_of(split), "seed": split_seed}
    return options


SPELLED = {"true": True, "false": False, "none": None}

# What an option is called where a command has one of its own by that name.
OTHER_NAMES = {"split": "shares"}


def takes_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument DATA and all reading options; it gets the open dataset as `dataset`.

    A command that looks at its own options first takes `open_data` instead, which opens it. Its own arguments stand
    before or behind DATA, as they do around that one. Where `dataset` is None by default, DATA may be left out. Where
    it has an option `--split`, which names a part of the data, the shares of a single file are `--shares`.
    """
    reading = inspect.signature(reading_options, eval_str=True).parameters
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    names = {name: OTHER_NAMES[name] if name in own else name for name in reading}
    later = "open_data" in own
    may_be_missing = "dataset" in own and own["dataset"].default is None

    @wraps(command)
    def with_dataset(**arguments: Any) -> None:
        asked = reading_options(**{name: arguments.pop(shown) for name, shown in names.items()})
        if may_be_missing and asked["data"] is None:
            if len(asked) > 1:
                raise OptionError(f"The options that say how DATA is read ({', '.join(list(asked)[1:])}) need DATA.")
            command(**arguments)
        elif later:
            command(open_data=partial(open_dataset, **asked), **arguments)
        else:
            command(dataset=open_dataset(**asked), **arguments)

    data, *options = (p.replace(name=names[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in reading.values())
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


def shares_of(text: str) -> tuple[float, float, float]:
    """Read three shares such as 0.8,0.1,0.1."""
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError as error:
        message = f"expected three numbers such as 0.8,0.1,0.1, got {text!r}"
        raise typer.BadParameter(message, param_hint="the shares of train, valid, test") from error
    return train, valid, test


def read_settings(pairs: list[str]) -> dict[str, Any]:
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
