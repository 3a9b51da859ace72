"""`stablerule`: where all commands come together and all errors end."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from stablerule.cli import data
from stablerule.cli.output import errors, plain
from stablerule.errors import StableRuleError

app = typer.Typer(
    help="Learn logical rules from a knowledge graph, and know where they hold.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data.app, name="data")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415  # reading the metadata takes longer than the rest

        typer.echo(f"stablerule {version('stablerule')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Results go to standard output, everything else to standard error. Exit code 2 is an error in what was asked."""
    logging.basicConfig(level=logging.WARNING, format="Note: %(message)s", stream=sys.stderr)


def run() -> None:
    """Run the command line; errors that the package raises on purpose become one readable line."""
    try:
        app()
    except StableRuleError as error:
        errors.print(f"[red]Error:[/red] {plain(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("Interrupted.")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): that is no error, but Python would say so at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
