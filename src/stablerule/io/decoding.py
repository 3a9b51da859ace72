"""Text in any encoding, as UTF-8 without a byte order mark."""

from __future__ import annotations

import codecs
from typing import IO, TYPE_CHECKING

from stablerule.errors import ReadError
from stablerule.io.options import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIECE_BYTES = 32 << 20
UTF16_SAMPLE = 10  # bytes of the shortest triple, such as "a\tr\tb", in UTF-16


def utf8_pieces(
    stream: IO[bytes], path: str | Path, *, encoding: str = "utf-8", size: int = PIECE_BYTES
) -> Iterator[bytes]:
    """Read a stream piece by piece. UTF-8 itself is passed on unseen: who splits it into lines also checks it."""
    plain = codecs.lookup(encoding).name == "utf-8"
    decoder = codecs.getincrementaldecoder(encoding)()
    line, first = 1, True
    while raw := stream.read(size):
        piece = raw
        if plain and first:
            _refuse_utf16(raw, path)
        if not plain:
            piece = _decoded(decoder, raw, path, encoding, line)
            line += piece.count(b"\n")
        if first and piece:
            piece, first = piece.removeprefix(codecs.BOM_UTF8), False
        if piece:
            yield piece
    if not plain and (last := _decoded(decoder, b"", path, encoding, line)):
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


def _decoded(decoder: codecs.IncrementalDecoder, raw: bytes, path: str | Path, encoding: str, line: int) -> bytes:
    try:
        return decoder.decode(raw, final=not raw).encode()
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            line += bytes(error.object[: error.start]).count(b"\n")
        raise ReadError(f"not {encoding}: {getattr(error, 'reason', error)}.", path=path, line=line) from error


def _refuse_utf16(piece: bytes, path: str | Path) -> None:
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
        raise ReadError(f"this is UTF-16 text, expected UTF-8. Pass {spelled('encoding', found)}.", path=path, line=1)
