"""Print results for people and machines, and wrap long lines at good places."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGING = "    "
BEFORE_ATOMS = re.compile(r" *(?:<?\d+% +)?")  # white space, and the share of a rule
# Without emoji=False, rich turns a name such as :smile: into a picture.
console = Console(emoji=False)
errors = Console(stderr=True, emoji=False)

STDOUT = Path("-")

# Spaces between columns; the least width of a text column.
SPACE, NARROWEST = 2, 12

# Characters that move the cursor, colour the screen, break lines or change the writing direction. They don't belong in
# a name, and an untrusted file may contain them on purpose.
CONTROLS = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


def print_json(value: Any) -> None:
    """Print JSON to standard output, without colours or wrapping."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    typer.echo(text)


def write_json(value: Any, path: Path) -> None:
    """Write JSON to a file, completely or not at all."""
    from stablerule.io.atomic import write_beside  # noqa: PLC0415  # `--help` prints, and writes no file

    with write_beside(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def print_line(text: str) -> None:
    """Print a line of a result, with markup, to standard output."""
    _print_wrapped(console, text)


def print_message(text: str) -> None:
    """Print a message, with markup, to standard error."""
    _print_wrapped(errors, text)


def print_atoms(line: str) -> None:
    """Print a line with rules or facts to standard output, wrapped with an indent."""
    wide = console.is_terminal or "COLUMNS" in os.environ
    for part in wrap_atoms(show_control_characters(line), console.width) if wide else [show_control_characters(line)]:
        typer.echo(part)


def _print_wrapped(screen: Console, text: str) -> None:
    """Wrap at words on a terminal, aligned with the first word; don't wrap in a file or a pipe."""
    if not screen.is_terminal:
        screen.print(text, highlight=False, soft_wrap=True)
        return
    words = text.lstrip(" ")
    screen.print(Padding(Text.from_markup(words, emoji=False), (0, 0, 0, len(text) - len(words))), highlight=False)


def print_note(text: str) -> None:
    """Print a note about the result to standard error."""
    print_message(f"Note: {plain(text)}")


class _OnlyTried(Exception):
    """Ends an attempt to write, before anything is written."""


def check_output_option(path: Path, option: str) -> None:
    """Check that the output can be written before starting."""
    from stablerule.io.atomic import write_beside  # noqa: PLC0415  # `--help` prints, and writes no file

    if not path.name:
        raise OptionError(f"{option} must be a file, got {str(path)!r}.")
    with suppress(_OnlyTried), write_beside(path):
        raise _OnlyTried


def make_printed_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """Make a table without vertical lines; the columns named in `right` are numbers, which never wrap."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, SPACE, 0, 0), collapse_padding=True)
    for column in columns:
        is_number = column in right
        made.add_column(
            column,
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number or column == "name",
        )
    return made


def print_table(made: Table) -> None:
    """Print a table; columns that must not wrap may make it wider than the terminal."""
    needed = 0
    for column in made.columns:
        longest = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
        needed += (longest if column.no_wrap else min(longest, NARROWEST)) + SPACE
    screen = console if needed <= console.width else Console(width=needed, emoji=False)
    screen.print(made)


def spell_byte_size(count: float) -> str:
    """Spell a number of bytes with its unit.

    >>> spell_byte_size(1_500_000)
    '1.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def plain(text: str) -> str:
    """Escape text so that rich prints it unchanged: a name may contain markup or control characters."""
    shown = show_control_characters(text)
    body = shown.rstrip("\\")
    if body == shown:
        return escape(shown)
    # A backslash at the end would escape a tag that follows. So an empty tag always follows here.
    backslashes = shown[len(body) :] * 2
    return f"{escape(body)}{backslashes}[none][/none]"


def show_control_characters(text: str) -> str:
    r"""Replace control characters by their escape sequences.

    >>> print(show_control_characters("red: \x1b[31m"))
    red: \x1b[31m
    """
    return text.translate(CONTROLS)


@contextmanager
def name_options_as_typed() -> Iterator[None]:
    """Rename arguments to options, as the user types them, in the errors of a function.

    >>> with name_options_as_typed():
    ...     raise OptionError("Argument 'per_query' must be at least 1, got 0.")
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: --per-query must be at least 1, got 0.
    """
    try:
        yield
    except OptionError as error:
        typed = re.sub(r"[Aa]rgument '(\w+)'", lambda found: f"--{found[1].replace('_', '-')}", str(error))
        raise OptionError(typed) from error


class NoteFormatter(logging.Formatter):
    """Format log records as notes of one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Add the prefix and escape control characters."""
        return f"Note: {show_control_characters(super().format(record))}"


def wrap_atoms(line: str, width: int) -> list[str]:
    """Break a line of rules or facts between atoms, and indent the rest further than the first atom.

    >>> for part in wrap_atoms("  r(X, Y) <- in('New York', A), of(A, Y)", 28):
    ...     print(part)
      r(X, Y) <-
          in('New York', A),
          of(A, Y)
    """
    begin = BEFORE_ATOMS.match(line)[0]  # type: ignore[index]  # it always matches
    hanging = " " * len(begin) + HANGING
    first, *words = _split_atoms(line[len(begin) :])
    parts = [begin + first]
    for word in words:
        if cell_len(f"{parts[-1]} {word}") <= width:
            parts[-1] += f" {word}"
        else:
            parts.append(hanging + word)
    return [part for long in parts for part in break_line(long, width, hanging)]


def break_line(line: str, width: int, hanging: str = HANGING) -> Iterator[str]:
    """Break text without spaces at the end of a word inside a name, or anywhere."""
    while cell_len(line) > width > len(hanging):
        part = chop_cells(line, width)[0]
        ends = [part.rfind(sign) + 1 for sign in "/._, "]
        part = part[: next((end for end in ends if end > width // 2), None)]
        yield part.rstrip()
        line = hanging + line[len(part) :].lstrip()
    yield line


def _split_atoms(text: str) -> list[str]:
    """Split at spaces outside of atoms."""
    words, start, depth, quote = [], 0, 0, ""
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif depth and sign in "'\"":
            quote = sign
        elif sign == "(":
            depth += 1
        elif sign == ")":
            depth = max(0, depth - 1)
        elif sign == " " and not depth:
            words.append(text[start:i])
            start = i + 1
    return [*words, text[start:]]
