"""`stablerule`: the command line, which runs the commands and prints their errors.

Importing a command can take a second, so each is imported when it runs. A table has the function of each command of the
library, and its line in `--help`; a test compares these lines with the docstrings. Other distributions add commands
with entry points `stablerule.commands`.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import rich_utils
from typer.core import TyperCommand, TyperGroup

from stablerule.cli.interrupts import INTERRUPTED, interrupt_work, is_interrupt
from stablerule.cli.output import NoteFormatter, errors, plain, print_message
from stablerule.errors import StableRuleError
from stablerule.progress import announce_by
from stablerule.registry import LABORATORY_COMMANDS, load_entry_point, make_missing_laboratory_error, read_command_names

if TYPE_CHECKING:
    from collections.abc import Callable

# Set, it shows the traceback of an error. Otherwise an error is one line.
DEBUG = "STABLERULE_DEBUG"
FAILED, UNEXPECTED, CLOSED_PIPE = 2, 3, 141
# From click, or from the copy of click inside newer versions of typer.
USAGE_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class CommandPlace(NamedTuple):
    """A command that is not imported yet: its module and function, and the first line of its docstring."""

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
        "Answer one query, best answers first, or all queries of a file.",
    ),
    "explain": _place_command(
        "explain:explain", "Explain an answer by its rules and facts, or why it is not ranked first."
    ),
    "complete": _place_command(
        "complete:complete",
        "Predict new facts for the whole graph, each with its best rule and supporting path.",
    ),
    "explore": _place_command(
        "explore:explore", "Look at the graph, the rules and the reasons in a browser, and decide about new facts."
    ),
    "serve": _place_command("serve:serve", "Answer over HTTP: the JSON API of a model, without pages."),
    "data.list": _place_command("data:list_datasets", "List the known graphs."),
    "data.get": _place_command("data:get", "Get a known graph from STABLERULE_DATA, the cache or the network."),
    "data.check": _place_command(
        "data:check", "Check data for leaks and other problems; exit with 1 if one is serious."
    ),
    "data.stats": _place_command("data:stats", "Print the size of a graph, its relations, and what rules can answer."),
    "data.convert": _place_command("data:convert", "Save data in another format; --shares splits a single file."),
}
GROUPS = {"data": "Get known graphs; describe, check and convert data."}


class NotImported(TyperCommand):
    """A command that is not imported yet: the name and summary for the help of its group."""

    def __init__(self, name: str, about: str, load: Callable[[], Any]) -> None:
        super().__init__(name, help=about)
        self.load = load


class PluginGroup(TyperGroup):
    """The library's commands, and those that other distributions add with entry points `stablerule.commands`.

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
        """List the library's own commands, then the others."""
        return [*super().list_commands(ctx), *self._read_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, None if there is none; `resolve_command` imports it."""
        if cmd_name in self.commands:
            return super().get_command(ctx, cmd_name)
        entry = self._read_names().get(cmd_name)
        if entry is None:
            return None

        def load() -> Any:
            return load_entry_point(entry, lambda made: make_plugin_command(made, cmd_name))

        about = LABORATORY_COMMANDS.get(f"{self._place}{cmd_name}")
        # The summary of another distribution's command is in its own code.
        return load() if about is None else NotImported(cmd_name, about, load)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was typed and import it; an error says how to install a missing one."""
        if args[0] not in self.commands and args[0] not in self._read_names() and not ctx.resilient_parsing:
            whole = f"{self._place}{args[0]}"
            if whole in LABORATORY_COMMANDS:
                raise make_missing_laboratory_error(whole.replace(".", " "))
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, NotImported):
            command = command.load()
            if command is None:  # a note has the reason
                ctx.fail(f"No such command {name!r}.")
        if not isinstance(command, TyperGroup):  # the command of a group is not imported yet
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
    """Make a command from a function or from a Typer app."""
    holder = typer.Typer(add_completion=False)
    if isinstance(made, typer.Typer):
        holder.add_typer(made, name=name)
    else:
        holder.command(name)(made)
    return typer.main.get_group(holder).commands[name]


app = typer.Typer(
    cls=PluginGroup,
    help="Learn readable rules from a knowledge graph, and check when to trust them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, about in GROUPS.items():
    app.add_typer(typer.Typer(cls=PluginGroup, help=about, no_args_is_help=True), name=group)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415  # reading the metadata takes longer than the rest

        typer.echo(f"stablerule {version('stablerule')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Print results to standard output, everything else to standard error.

    Exit codes: 1 if `data check` finds a serious problem or a condition of `shift --fail-if` is true, 2 for a mistake
    in the input, 3 for a bug.
    """


def run() -> None:
    """Run the command line and exit with the code that `main` describes."""
    _open_missing_streams()
    notes = logging.StreamHandler(sys.stderr)
    notes.setFormatter(NoteFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[notes])
    announce_by(print_message)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # For a name that the terminal can't show, print an escape sequence instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run_command_line())


def _open_missing_streams() -> None:
    """Open closed standard streams on the null device: otherwise the next file opened would receive the output."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115  # until the end


def _run_command_line() -> int:
    try:
        # Not standalone: typer would exit by itself, with code 1 when the reader closed the pipe.
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # a panic of polars is not an Exception
        code = _print_error_of_command(error)
    if code == INTERRUPTED:
        errors.print("Interrupted.")
    return code if isinstance(code, int) else 0


def _print_error_of_command(error: BaseException) -> int:
    """Print the error in one line and return its exit code."""
    match error:
        case StableRuleError():
            code = _print_error(error, str(error))
        case typer.Abort():
            code = INTERRUPTED
        case _ if is_interrupt(error):
            code = INTERRUPTED
        case BrokenPipeError() | SystemExit(code=1):
            # Commands end with typer.Exit, whose code is returned. Only rich and typer exit bare, on a closed pipe
            # (`| head`). That is not an error, and not the 1 that means "serious".
            code = _discard_standard_output(CLOSED_PIPE)
        case SystemExit():
            code = error.code if isinstance(error.code, int) else 0
        case MemoryError():
            code = _print_error(error, "not enough memory. Free some, or use fewer facts.")
        case OSError():
            code = _discard_standard_output(_print_error(error, f"{error.strerror or error}."))
        case _ if isinstance(error, USAGE_ERROR):
            rich_utils.rich_format_error(error)
            code = FAILED
        case _:
            what = f"{type(error).__name__}: {error}. This is a bug. Set {DEBUG}=1 to see where it happened."
            code = _print_error(error, what, UNEXPECTED)
    return code


def _print_error(error: BaseException, what: str, code: int = FAILED) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    errors.print(f"[red]Error:[/red] {plain(what)}", highlight=False, soft_wrap=True)
    return code


def _discard_standard_output(code: int) -> int:
    """Discard what is not yet written to standard output: Python would report an error at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
