"""Read text: UTF-8 in pieces, blocks of whole lines, lines, and the cells of a CSV record."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from stablerule.errors import ReadError
from stablerule.io.options import spell_read_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

PIECE_BYTES = 32 << 20
UTF16_SAMPLE = 10  # bytes of the shortest triple, such as "a\tr\tb", in UTF-16
# A longer quotation was probably never closed; otherwise the rest of the file would be read into memory as one cell.
LONGEST_QUOTATION = 16 << 20
# A longer line is not a list of names.
LONGEST_LINE = 64 << 20


def read_utf8_pieces(
    stream: IO[bytes], path: str | Path, *, encoding: str = "utf-8", size: int = PIECE_BYTES
) -> Iterator[bytes]:
    """Yield a stream as pieces of UTF-8. UTF-8 input is not checked here, but when it is split into lines."""
    plain = codecs.lookup(encoding).name == "utf-8"
    decoder = codecs.getincrementaldecoder(encoding)()
    line, first = 1, True
    while raw := stream.read(size):
        piece = raw
        if plain and first:
            _refuse_utf16_text(raw, path)
        if not plain:
            piece = _decode_piece(decoder, raw, path, encoding, line)
            line += piece.count(b"\n")
        if first and piece:
            piece, first = piece.removeprefix(codecs.BOM_UTF8), False
        if piece:
            yield piece
    if not plain and (last := _decode_piece(decoder, b"", path, encoding, line)):
        yield last


class Utf8Stream:
    """A file-like object that reads from pieces, for parsers that need a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece, self._at = b"", 0

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, b"" at the end."""
        if self._at >= len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
        end = len(self._piece) if size < 0 else self._at + size
        found, self._at = self._piece[self._at : end], end
        return found


def _decode_piece(decoder: codecs.IncrementalDecoder, raw: bytes, path: str | Path, encoding: str, line: int) -> bytes:
    try:
        return decoder.decode(raw, final=not raw).encode()
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            line += bytes(error.object[: error.start]).count(b"\n")
        raise ReadError(f"not {encoding}: {getattr(error, 'reason', error)}.", path=path, line=line) from error


def _refuse_utf16_text(piece: bytes, path: str | Path) -> None:
    sample = piece[:UTF16_SAMPLE]
    whole = len(sample) == UTF16_SAMPLE
    found = None
    if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        found = "utf-16"
    elif whole and not any(sample[1::2]) and all(sample[::2]):
        found = "utf-16-le"
    elif whole and not any(sample[::2]) and all(sample[1::2]):
        found = "utf-16-be"
    if found:
        raise ReadError(
            f"this is UTF-16 text, expected UTF-8. Pass {spell_read_option('encoding', found)}.", path=path, line=1
        )


@dataclass(frozen=True)
class Block:
    """Whole lines in UTF-8, and the number of the first one, from 1."""

    text: bytes
    first_line: int


def read_line_blocks(pieces: Iterable[bytes], path: str | Path) -> Iterator[Block]:
    """Yield blocks of whole lines from pieces of text.

    A quotation may continue in the next block. Only the parser of quotations knows (a quote counts at the start of a
    field, and not in a comment), so it asks for the next block when it needs it.
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
            _check_line_length(sum(map(len, open_line)), path, line)
    if open_line:
        yield Block(b"".join(open_line), line)


class LinesOfBlocks:
    """Iterate over the lines of a block, skipping blank lines and comments.

    `continued` returns the next line, whatever it is, for an open quotation, if necessary from the next block; `rest`
    is then the text that is not read yet.
    """

    def __init__(self, block: Block, following: Iterator[Block], path: str | Path, comment: str | None) -> None:
        self.path, self.comment = path, comment
        self.line = block.first_line - 1
        self.comments: list[str] = []
        self._taken, self._following = [block], following
        self._lines = io.BytesIO(block.text)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for raw in self._lines:
            self.line += 1
            text = self._decode(raw)
            if not strip_line_end(text).strip(" "):
                continue
            if self.comment and text.startswith(self.comment):
                self.comments.append(text)
                continue
            yield self.line, text

    def take_continuation(self) -> str | None:
        """Return the next line, None at the end of the file."""
        raw = self._lines.readline()
        if not raw:
            block = next(self._following, None)
            if block is None:
                return None
            self._taken.append(block)
            self._lines = io.BytesIO(block.text)
            raw = self._lines.readline()
        self.line += 1
        return self._decode(raw)

    def take_whole(self) -> Block:
        """Return all blocks, including lines that are already read."""
        return Block(b"".join(block.text for block in self._taken), self._taken[0].first_line)

    def take_rest(self) -> Block | None:
        """Return the rest that is not read yet, None if there is none."""
        text = self._lines.read()
        return Block(text, self.line + 1) if text else None

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ReadError(
                f"byte {raw[error.start]:#04x} at position {error.start} is not UTF-8. "
                f"If the file has another encoding, pass it, such as {spell_read_option('encoding', 'latin-1')}.",
                path=self.path,
                line=self.line,
            ) from error


def strip_line_end(text: str) -> str:
    r"""Remove LF or CRLF at the end.

    >>> strip_line_end("a\r\n"), strip_line_end("a\r")
    ('a', 'a\r')
    """
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def read_text_lines(stream: IO[bytes], path: str | Path) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a UTF-8 text file with their numbers, without line ends and byte order mark.

    >>> list(read_text_lines(io.BytesIO(b"\xef\xbb\xbfa\r\nb"), "names.txt"))
    [(1, 'a'), (2, 'b')]
    """
    for line in itertools.count(1):
        raw = stream.readline(LONGEST_LINE + 1)
        if not raw:
            return
        _check_line_length(len(raw), path, line)
        yield line, _decode_line(raw, path, line)


def _check_line_length(size: int, path: str | Path, line: int) -> None:
    if size > LONGEST_LINE:
        raise ReadError(
            f"a line of more than {LONGEST_LINE >> 20} MB; this is not a list of names.", path=path, line=line
        )


def _decode_line(raw: bytes, path: str | Path, line: int) -> str:
    try:
        return strip_line_end(raw.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        found = f"byte {raw[error.start]:#04x} at position {error.start}"
        raise ReadError(f"not UTF-8 ({found}). Save the file as UTF-8.", path=path, line=line) from error


class QuotingError(ValueError):
    """A record is not valid CSV."""


def read_csv_record(line: str, more: Callable[[], str | None], separator: str) -> list[str]:
    r"""Split a record into cells; `more` gives the next line while a quotation is open.

    A quote as the first character of a cell encloses it; elsewhere it is an ordinary character.

    >>> read_csv_record('5" disk,is,"a ""floppy"" one"\n', lambda: None, ",")
    ['5" disk', 'is', 'a "floppy" one']
    """
    if '"' not in line:
        return _split_plain_cells(line, separator)
    return _read_usual_record(line, separator) or _read_unusual_record(line, more, separator)


def _split_plain_cells(line: str, separator: str) -> list[str]:
    text = strip_line_end(line)
    if "\r" in text:
        raise QuotingError("a carriage return inside a line; lines must end with LF or CRLF")
    return text.split(separator)


def _read_usual_record(line: str, separator: str) -> list[str] | None:
    """Split a record that ends in its line with the csv module, which is fast; return None if it may be wrong."""
    text = strip_line_end(line)
    if "\r" in text:
        return None
    try:
        return next(csv.reader((text,), delimiter=separator, strict=True))
    except csv.Error:
        return None


def _read_unusual_record(line: str, more: Callable[[], str | None], separator: str) -> list[str]:
    """Read a record that may continue in the next line.

    The csv module does not report this, and its limit for the size of a field is global.
    """
    cells, at = list[str](), 0
    while line.find('"', at) >= 0:
        if not line.startswith('"', at):
            end = line.find(separator, at)
            if end < 0:
                break
            cells += _split_plain_cells(line[at:end], separator)
            at = end + 1
            continue
        cell, line, at = _read_quotation(line, at + 1, more)
        cells.append(cell)
        if not strip_line_end(line[at : at + 2]):
            return cells
        if line[at] != separator:
            raise QuotingError(f"expected {separator!r} after a closing quote, found {line[at]!r}")
        at += 1
    return cells + _split_plain_cells(line[at:], separator)


def _read_quotation(line: str, at: int, more: Callable[[], str | None]) -> tuple[str, str, int]:
    """Read up to the closing quote; return the cell, the line in which it ends, and the position after it."""
    parts, size = list[str](), 0
    while True:
        end = line.find('"', at)
        if end >= 0 and line.startswith('"', end + 1):
            parts.append(line[at : end + 1])
            at = end + 2
            continue
        if end >= 0:
            return "".join([*parts, line[at:end]]), line, end + 1
        parts.append(line[at:])
        size += len(line) - at
        following = more() if size <= LONGEST_QUOTATION else None
        if following is None:
            raise QuotingError("an opening quote here is never closed")
        line, at = following, 0
