"""`stablerule`: where all commands come together and all errors end."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer import rich_utils

from stablerule.cli.commands import GROUPS, PluginGroup
from stablerule.cli.interrupts import INTERRUPTED, is_interrupt
from stablerule.cli.output import NoteFormatter, errors, plain, print_message
from stablerule.errors import StableRuleError
from stablerule.progress import announce_by

# Shows the traceback of an error, which otherwise is one line.
DEBUG = "STABLERULE_DEBUG"
FAILED, UNEXPECTED, CLOSED_PIPE = 2, 3, 141
# Of click, or of the copy of it that newer versions of typer carry.
USAGE_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    cls=PluginGroup,
    help="Learn logical rules from a knowledge graph, and know where they hold.",
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
    """Results go to standard output, everything else to standard error.

    Exit codes: 1 when `data check` finds something serious or a condition of `shift` holds, 2 for an error in what was
    asked, 3 for one of ours.
    """


def run() -> None:
    """Run the command line; every end has its exit code, see `main`."""
    _open_missing_streams()
    notes = logging.StreamHandler(sys.stderr)
    notes.setFormatter(NoteFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[notes])
    announce_by(print_message)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that can't show a name gets its code instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run_command_line())


def _open_missing_streams() -> None:
    """Lead closed standard streams nowhere: else the next file that is opened would get what is printed."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115  # until the end


def _run_command_line() -> int:
    try:
        # Not standalone: typer would end the process itself, with 1 for a reader who has gone.
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # a panic of polars is no Exception
        code = _print_error_of_command(error)
    if code == INTERRUPTED:
        errors.print("Interrupted.")
    return code if isinstance(code, int) else 0


def _print_error_of_command(error: BaseException) -> int:
    """Say what happened, in one line, and return the exit code for it."""
    match error:
        case StableRuleError():
            code = _print_error(error, str(error))
        case typer.Abort():
            code = INTERRUPTED
        case _ if is_interrupt(error):
            code = INTERRUPTED
        case BrokenPipeError() | SystemExit(code=1):
            # Commands end with typer.Exit, whose code is returned: a bare exit is what rich and typer do on a closed
            # pipe (`| head`). That is no error, and it is not the 1 that means "serious".
            code = _discard_standard_output(CLOSED_PIPE)
        case SystemExit():
            code = error.code if isinstance(error.code, int) else 0
        case MemoryError():
            code = _print_error(error, "there is not enough memory for this. Free some, or bring fewer facts.")
        case OSError():
            code = _discard_standard_output(_print_error(error, f"{error.strerror or error}."))
        case _ if isinstance(error, USAGE_ERROR):
            rich_utils.rich_format_error(error)
            code = FAILED
        case _:
            what = f"{type(error).__name__}: {error}. This should not happen. {DEBUG}=1 shows where it did."
            code = _print_error(error, what, UNEXPECTED)
    return code


def _print_error(error: BaseException, what: str, code: int = FAILED) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    errors.print(f"[red]Error:[/red] {plain(what)}", highlight=False, soft_wrap=True)
    return code


def _discard_standard_output(code: int) -> int:
    """Lead away what is still to be written to standard output: Python would complain about it at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
