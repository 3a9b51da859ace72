"""The commands of the library and of other distributions, each imported when it runs.

A command's file imports what the command needs, which can take a second. So the table of the library's own says where
each is and which line `--help` shows; a test holds the lines against the docstrings of the commands.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from stablerule.cli.interrupts import interrupt_work
from stablerule.registry import LABORATORY_COMMANDS, load_entry_point, make_missing_laboratory_error, read_command_names

if TYPE_CHECKING:
    from collections.abc import Callable


class CommandPlace(NamedTuple):
    """A command that is not imported yet: module and function, and the first line of its docstring."""

    where: str
    about: str


def _place_command(where: str, about: str) -> CommandPlace:
    return CommandPlace(f"stablerule.cli.{where}", about)


# A name with a dot is a command of a group: "data.check" is `stablerule data check`.
COMMANDS: dict[str, CommandPlace] = {
    "learn": _place_command("learn:learn", "Train a model and save it to a folder."),
    "rules": _place_command("rules:rules", "Print rules, the best first."),
    "evaluate": _place_command(
        "evaluate:evaluate", "Evaluate a model: filtered ranks of the test answers, both directions."
    ),
    "split": _place_command("split:split", "Re-split a dataset and report what changed."),
    "shift": _place_command("shift:shift", "Check whether a model will hold up on your queries."),
    "ask": _place_command(
        "ask:ask",
        "Answer (HEAD, RELATION, ?), the best answer first; or all queries of a file, as a table with tabs.",
    ),
    "explain": _place_command(
        "explain:explain", "Say which rules lead to an answer, by which facts; or why it is not the first, or none."
    ),
    "complete": _place_command(
        "complete:complete",
        "Find the facts that the model concludes and no file has, each with its best rule and a path if it has rules.",
    ),
    "serve": _place_command("serve:serve", "Answer over HTTP: the JSON API of a model, without pages."),
    "data.list": _place_command("data:list_datasets", "List the known graphs."),
    "data.get": _place_command(
        "data:get", "Get a known graph: from STABLERULE_DATA, from the cache, or from the network."
    ),
    "data.check": _place_command(
        "data:check", "Look for what spoils results. Exit code 1 when something makes a test result wrong."
    ),
    "data.stats": _place_command("data:stats", "Count facts, degrees and relations, and tell how far rules can reach."),
    "data.convert": _place_command(
        "data:convert", "Write data in another format, and split a single file into train, valid and test."
    ),
}
GROUPS = {"data": "Look at data, check it, get known graphs, change formats."}


class NotImported(TyperCommand):
    """A command by its name and what it is about, which is all that the help of its group shows."""

    def __init__(self, name: str, about: str, load: Callable[[], Any]) -> None:
        super().__init__(name, help=about)
        self.load = load


class PluginGroup(TyperGroup):
    """The library's commands, and those that other distributions add by the entry points `stablerule.commands`.

    An entry point `tune` is `stablerule tune`; `data.aminer` is `stablerule data aminer`.
    """

    _brought: dict[str, Any] | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._place = f"{self.name}." if self.name in GROUPS else ""
        for whole, (where, about) in COMMANDS.items():
            place, _, name = whole.rpartition(".")
            if place == self._place.rstrip("."):
                self.commands[name] = NotImported(name, about, partial(_load_command_module, where, name))

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the library's own commands, then the others."""
        return [*super().list_commands(ctx), *self._read_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None; `resolve_command` imports it."""
        if cmd_name in self.commands:
            return super().get_command(ctx, cmd_name)
        entry = self._read_names().get(cmd_name)
        if entry is None:
            return None

        def load() -> Any:
            return load_entry_point(entry, lambda made: make_plugin_command(made, cmd_name))

        about = LABORATORY_COMMANDS.get(f"{self._place}{cmd_name}")
        # What an unknown distribution brings says only itself what it is about.
        return load() if about is None else NotImported(cmd_name, about, load)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was typed and import it, or say where to get it."""
        if args[0] not in self.commands and args[0] not in self._read_names() and not ctx.resilient_parsing:
            whole = f"{self._place}{args[0]}"
            if whole in LABORATORY_COMMANDS:
                raise make_missing_laboratory_error(whole.replace(".", " "))
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, NotImported):
            command = command.load()
            if command is None:  # a note says why
                ctx.fail(f"No such command {name!r}.")
        if not isinstance(command, TyperGroup):  # of a group the command is still to be imported
            interrupt_work()
        return name, command, rest

    def _read_names(self) -> dict[str, Any]:
        if self._brought is None:
            self._brought = read_command_names(self._place, self.commands)
        return self._brought


def _load_command_module(where: str, name: str) -> Any:
    module, _, function = where.partition(":")
    return make_plugin_command(getattr(import_module(module), function), name)


def make_plugin_command(made: Any, name: str) -> Any:
    """Make a command of a function or of an app of commands."""
    holder = typer.Typer(add_completion=False)
    if isinstance(made, typer.Typer):
        holder.add_typer(made, name=name)
    else:
        holder.command(name)(made)
    return typer.main.get_group(holder).commands[name]
