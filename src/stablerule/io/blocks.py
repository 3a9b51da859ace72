"""A text file as blocks of whole lines, so that memory does not grow with the file."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from stablerule.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK_BYTES = 32 << 20


@dataclass(frozen=True)
class Block:
    """Whole lines in UTF-8 and the number of the first one, from 1."""

    text: bytes
    first_line: int


def read_blocks(
    stream: IO[bytes], path: str | Path, *, encoding: str = "utf-8", quoted: bool = False, size: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Cut a stream after line ends; with `quoted`, never inside of double quotes.

    A byte order mark is left out, other encodings become UTF-8, and CRLF becomes LF.
    """
    line, rest = 1, b""
    for piece in _utf8_pieces(stream, path, encoding, size):
        rest += piece
        cut = _last_line_end(rest, quoted=quoted)
        if cut:
            text, rest = rest[:cut], rest[cut:]
            yield Block(text, line)
            line += text.count(b"\n")
    if rest:
        yield Block(rest, line)


def _utf8_pieces(stream: IO[bytes], path: str | Path, encoding: str, size: int) -> Iterator[bytes]:
    plain = codecs.lookup(encoding).name == "utf-8"
    decoder = codecs.getincrementaldecoder(encoding)()
    held, line, first = b"", 1, True
    while True:
        piece = stream.read(size)
        if first and plain:
            _refuse_utf16(piece, path)
            piece = piece.removeprefix(codecs.BOM_UTF8)
        first = False
        if not plain:
            try:
                piece = decoder.decode(piece, final=not piece).encode()
            except UnicodeDecodeError as error:
                lines = line + bytes(error.object[: error.start]).count(b"\n")
                raise ReadError(f"not {encoding}: {error.reason}.", path=path, line=lines) from error
            line += piece.count(b"\n")
        done = not piece
        # A CR at the end of a piece may belong to an LF at the beginning of the next.
        piece, held = held + piece, b""
        if piece.endswith(b"\r") and not done:
            piece, held = piece[:-1], b"\r"
        if piece:
            yield piece.replace(b"\r\n", b"\n") if b"\r" in piece else piece
        if done:
            return


def _refuse_utf16(piece: bytes, path: str | Path) -> None:
    if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ReadError("this is UTF-16 text, expected UTF-8. Pass encoding='utf-16'.", path=path, line=1)


def _last_line_end(text: bytes, *, quoted: bool) -> int:
    """Return the position after the last line end at which no quotation is open, or 0."""
    cut = text.rfind(b"\n") + 1
    if not quoted:
        return cut
    quotes = text.count(b'"', 0, cut)
    while cut and quotes % 2:
        before = text.rfind(b"\n", 0, cut - 1) + 1
        quotes -= text.count(b'"', before, cut)
        cut = before
    return cut
