"""A text file as blocks of whole lines, so that memory does not grow with the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Block:
    """Whole lines in UTF-8 and the number of the first one, from 1."""

    text: bytes
    first_line: int


def read_blocks(pieces: Iterable[bytes]) -> Iterator[Block]:
    """Cut pieces of text after their last line end.

    A quotation may go on in the next block. Only the parser of quotations can tell (a quote counts at the beginning of
    a field, and not in a comment), so it asks for the next block when it needs it.
    """
    line, open_line = 1, list[bytes]()
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        if cut:
            text = b"".join([*open_line, piece[:cut]])
            yield Block(text, line)
            line += text.count(b"\n")
            open_line = []
        if cut < len(piece):
            open_line.append(piece[cut:])
    if open_line:
        yield Block(b"".join(open_line), line)
