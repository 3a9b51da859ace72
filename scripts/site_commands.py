"""The page about the command line, made from the commands themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """# Command line

Made from the commands themselves, as `stablerule COMMAND --help` prints it. Results go to standard output, everything
else to standard error.
"""


def describe_commands() -> str:
    """Describe all commands of the library on one page."""
    from stablerule.cli.main import app  # noqa: PLC0415  # takes a second

    group: Any = typer.main.get_command(app)
    return "\n".join([HEAD, *describe(group, group.make_context("stablerule", [], resilient_parsing=True), level=2)])


def describe(command: Any, context: Any, level: int) -> Iterator[str]:
    """Describe one command, then those below it: what it does, how to call it, its arguments and options."""
    path = context.command_path
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"{'#' * level} {path}\n"
    yield f"{plain(command.help)}\n"
    yield f"```text\n{usage}\n```\n"
    rows = list(describe_parameters(command, context))
    if rows:
        yield "| argument or option | |\n|---|---|"
        yield "\n".join(rows) + "\n"
    # Those of other distributions, which may be installed, have pages of their own.
    for name, found in getattr(command, "commands", {}).items():
        below = found.load() if hasattr(found, "load") else found  # a command is imported when somebody wants it
        inner = below.make_context(name, [], parent=context, resilient_parsing=True)
        yield from describe(below, inner, level + (context.parent is not None))


def describe_parameters(command: Any, context: Any) -> Iterator[str]:
    """Write a row for each argument and option."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            names, text = record
            yield f"| `{names.strip().replace('|', '/')}` | {plain(text).replace('|', '&#124;')} |"


def plain(text: str | None) -> str:
    """Put help on one line, safe in Markdown."""
    return " ".join((text or "").split("\f")[0].split()).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
