"""The lines of a block that say something, with their numbers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from stablerule.errors import ReadError
from stablerule.io.blocks import Block
from stablerule.io.options import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Lines:
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
            if not without_line_end(text).strip(" "):
                continue
            if self.comment and text.startswith(self.comment):
                self.comments.append(text)
                continue
            yield self.line, text

    def continued(self) -> str | None:
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

    def whole(self) -> Block:
        """Return everything that was given, read or not."""
        return Block(b"".join(block.text for block in self._taken), self._taken[0].first_line)

    def rest(self) -> Block | None:
        """Return what has not been read, if anything."""
        text = self._lines.read()
        return Block(text, self.line + 1) if text else None

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ReadError(
                f"byte {raw[error.start]:#04x} at position {error.start} is not UTF-8. "
                f"If the file has another encoding, pass it: {spelled('encoding', 'latin-1')}.",
                path=self.path,
                line=self.line,
            ) from error


def without_line_end(text: str) -> str:
    r"""Take off LF or CRLF.

    >>> without_line_end("a\r\n"), without_line_end("a\r")
    ('a', 'a\r')
    """
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def decoded_line(raw: bytes, path: str | Path, line: int) -> str:
    r"""Read one line of a small file: UTF-8, a byte order mark at its beginning allowed, without its end.

    >>> decoded_line(b"\xef\xbb\xbfa\r\n", "names.txt", 1)
    'a'
    """
    try:
        return without_line_end(raw.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        found = f"byte {raw[error.start]:#04x} at position {error.start}"
        raise ReadError(f"it is not UTF-8 ({found}). Save the file as UTF-8.", path=path, line=line) from error
