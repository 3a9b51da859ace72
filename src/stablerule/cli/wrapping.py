"""Lines that are too long for a terminal, broken where a reader expects it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGING = "    "
BEFORE_ATOMS = re.compile(r" *(?:<?\d+% +)?")  # white space, and the share of a rule


def wrap_atoms(line: str, width: int) -> list[str]:
    """Break a line of rules or facts between atoms; what follows stands further in than the first atom.

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
    """Break what has no place to break where a word of a name ends, or anywhere."""
    while cell_len(line) > width > len(hanging):
        part = chop_cells(line, width)[0]
        ends = [part.rfind(sign) + 1 for sign in "/._, "]
        part = part[: next((end for end in ends if end > width // 2), None)]
        yield part.rstrip()
        line = hanging + line[len(part) :].lstrip()
    yield line


def _split_atoms(text: str) -> list[str]:
    """Split at spaces that are not inside of an atom."""
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
