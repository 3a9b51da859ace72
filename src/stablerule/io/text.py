"""Text from bytes to cells: UTF-8 in pieces, blocks of whole lines, lines, the cells of a CSV record."""

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
# A quotation longer than this is one that nobody closed; the rest of the file would be read into memory as one cell.
LONGEST_QUOTATION = 16 << 20
# Nor is a line that is longer a list of names.
LONGEST_LINE = 64 << 20


def read_utf8_pieces(
    stream: IO[bytes], path: str | Path, *, encoding: str = "utf-8", size: int = PIECE_BYTES
) -> Iterator[bytes]:
    """Read a stream piece by piece. UTF-8 itself is passed on unseen: who splits it into lines also checks it."""
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
    """The pieces as something to read from, for parsers that want a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece, self._at = b"", 0

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, none at the end."""
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
    """Whole lines in UTF-8 and the number of the first one, from 1."""

    text: bytes
    first_line: int


def read_line_blocks(pieces: Iterable[bytes], path: str | Path) -> Iterator[Block]:
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
            _check_line_length(sum(map(len, open_line)), path, line)
    if open_line:
        yield Block(b"".join(open_line), line)


class LinesOfBlocks:
    """Goes through a block line by line, leaving out blanks and comments.

    `continued` gives the next line whatever it is, for a quotation that is still open, from the following block if
    need be; `rest` is then what nobody has read yet.
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
        """Return everything that was given, read or not."""
        return Block(b"".join(block.text for block in self._taken), self._taken[0].first_line)

    def take_rest(self) -> Block | None:
        """Return what has not been read, if anything."""
        text = self._lines.read()
        return Block(text, self.line + 1) if text else None

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ReadError(
                f"byte {raw[error.start]:#04x} at position {error.start} is not UTF-8. "
                f"If the file has another encoding, pass it: {spell_read_option('encoding', 'latin-1')}.",
                path=self.path,
                line=self.line,
            ) from error


def strip_line_end(text: str) -> str:
    r"""Take off LF or CRLF.

    >>> strip_line_end("a\r\n"), strip_line_end("a\r")
    ('a', 'a\r')
    """
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def read_text_lines(stream: IO[bytes], path: str | Path) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a small text file with their numbers: UTF-8, a byte order mark allowed, without their ends.

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
        raise ReadError(f"a line of more than {LONGEST_LINE >> 20} MB: this is no list of names.", path=path, line=line)


def _decode_line(raw: bytes, path: str | Path, line: int) -> str:
    try:
        return strip_line_end(raw.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        found = f"byte {raw[error.start]:#04x} at position {error.start}"
        raise ReadError(f"it is not UTF-8 ({found}). Save the file as UTF-8.", path=path, line=line) from error


class QuotingError(ValueError):
    """A record that is not CSV."""


def read_csv_record(line: str, more: Callable[[], str | None], separator: str) -> list[str]:
    r"""Split a record into cells; `more` gives the next line while a quotation is open.

    A quote encloses a cell where it is the cell's first character, and is a character like any other elsewhere.

    >>> read_csv_record('5" disk,is,"a ""floppy"" one"\n', lambda: None, ",")
    ['5" disk', 'is', 'a "floppy" one']
    """
    if '"' not in line:
        return _split_plain_cells(line, separator)
    return _read_usual_record(line, separator) or _read_unusual_record(line, more, separator)


def _split_plain_cells(line: str, separator: str) -> list[str]:
    text = strip_line_end(line)
    if "\r" in text:
        raise QuotingError("a carriage return inside of a line; lines must end with LF or CRLF")
    return text.split(separator)


def _read_usual_record(line: str, separator: str) -> list[str] | None:
    """Let the csv module split a record that ends in its line, which is fast; None where it refuses it, or may err."""
    text = strip_line_end(line)
    if "\r" in text:
        return None
    try:
        return next(csv.reader((text,), delimiter=separator, strict=True))
    except csv.Error:
        return None


def _read_unusual_record(line: str, more: Callable[[], str | None], separator: str) -> list[str]:
    """Read a record that may go on in the next line.

    The csv module can't be asked whether one does, and its limit for the size of a field is one for the whole process.
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
    """Read up to the closing quote: the cell, the line in which it ends, and the position behind it."""
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
            raise QuotingError("a quotation begins here that does not end")
        line, at = following, 0
