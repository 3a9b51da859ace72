"""TSV and CSV, compressed or not, as frames of names.

Each block of lines is parsed twice at most. Polars does it fast when nothing is unusual. Where something is (blank
lines, comments, quotes, empty names, a wrong number of columns, bytes that are not text) the plain parser below does it
again, line by line; it defines what the format means, and it knows the line number for the error.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import polars as pl

from stablerule.errors import ReadError
from stablerule.io.blocks import BLOCK_BYTES, Block, read_blocks
from stablerule.io.files import open_bytes, split_suffixes
from stablerule.io.layout import Layout, find_layout
from stablerule.io.values import typed_extras

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stablerule.io.options import ReadOptions

Record = tuple[int, list[str]]


@dataclass
class TableReader:
    """Reads one table block by block; after the last one `notes` says what was odd."""

    path: str | Path
    options: ReadOptions
    block_bytes: int = BLOCK_BYTES
    notes: list[str] = field(default_factory=list)
    _comments_like_facts: int = 0

    def __post_init__(self) -> None:
        _, suffix, _ = split_suffixes(Path(self.path))
        self.separator = self.options.separator or ("," if suffix == ".csv" else "\t")
        # In TSV a quote is a character like any other; in CSV it encloses a field.
        self.quoted = self.separator != "\t"

    def read(self) -> Iterator[pl.DataFrame]:
        """Yield frames with the columns head, relation, tail and the optional ones that the table has."""
        with open_bytes(Path(self.path)) as stream:
            yield from self.read_stream(stream)

    def read_stream(self, stream: IO[bytes]) -> Iterator[pl.DataFrame]:
        """Do the same for a stream that is open already; `path` is then only for messages."""
        layout, found = None, 0
        blocks = read_blocks(
            stream, self.path, encoding=self.options.encoding, quoted=self.quoted, size=self.block_bytes
        )
        for whole in blocks:
            block = whole
            if layout is None:
                block, layout = self._begin(whole)
                if layout is None:
                    continue
            frame = self._parse_fast(block, layout)
            lines = None
            if frame is None:
                frame, lines = self._parse_plain(block, layout)
            if len(frame):
                found += len(frame)
                yield typed_extras(frame, path=self.path, lines=lines, first_line=block.first_line)
        if not found:
            raise ReadError("no triples in it: the file is empty or has only a header and comments.", path=self.path)
        if self._comments_like_facts:
            self.notes.append(
                f"{self.path}: {self._comments_like_facts:,} lines begin with {self.options.comment!r} and look like "
                "triples; they were left out as comments. Pass comment=None to read them."
            )

    def _begin(self, block: Block) -> tuple[Block, Layout | None]:
        """Find the layout from the first line that says something, and take a header off the block."""
        for line, cells in self._records(block):
            layout = find_layout(cells, self.options, path=self.path, line=line)
            if not layout.has_header:
                return block, layout
            passed = line - block.first_line + 1
            pieces = block.text.split(b"\n", passed)
            return Block(pieces[passed] if len(pieces) > passed else b"", line + 1), layout
        return block, None

    def _parse_fast(self, block: Block, layout: Layout) -> pl.DataFrame | None:
        text = block.text
        comment = (self.options.comment or "").encode()
        unusual = b"\r" in text or (self.quoted and b'"' in text)
        if unusual or (comment and (text.startswith(comment) or b"\n" + comment in text)):
            return None
        names = [str(i) for i in range(layout.width)]
        try:
            table = pl.read_csv(
                text,
                has_header=False,
                separator=self.separator,
                quote_char=None,
                schema=dict.fromkeys(names, pl.String),
            )
        except pl.exceptions.PolarsError:
            return None
        frame = table.select(pl.col(str(place)).alias(role) for role, place in layout.places.items())
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        complete = table[names[-1]].null_count() == 0  # a short line ends in nulls, an empty last cell is rare
        return frame if complete and len(frame) == lines and not any(frame.null_count().row(0)) else None

    def _parse_plain(self, block: Block, layout: Layout) -> tuple[pl.DataFrame, list[int]]:
        rows, lines = [], []
        for line, cells in self._records(block):
            if len(cells) != layout.width:
                raise ReadError(
                    f"expected {layout.width} columns, found {len(cells)}: {_shown(self.separator.join(cells))}.",
                    path=self.path,
                    line=line,
                )
            row = [cells[place] for place in layout.places.values()]
            for role, cell in zip(layout.places, row, strict=True):
                if not cell:
                    shown = _shown(self.separator.join(cells))
                    raise ReadError(f"expected a {role}, found nothing: {shown}.", path=self.path, line=line)
            rows.append(row)
            lines.append(line)
        return pl.DataFrame(rows, schema=dict.fromkeys(layout.places, pl.String), orient="row"), lines

    def _records(self, block: Block) -> Iterator[Record]:
        """Yield line number and cells of every line that is not blank and not a comment."""
        lines = _Lines(block, self.path, self.options.comment, keeps_returns=self.quoted)
        if self.quoted:
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            try:
                for cells in reader:
                    yield lines.record_line, cells
                    lines.begin_record()
            except csv.Error as error:
                raise ReadError(f"not valid CSV: {error}.", path=self.path, line=lines.record_line) from error
        else:
            for text in lines:
                yield lines.record_line, text.removesuffix("\n").split(self.separator)
                lines.begin_record()
        self._comments_like_facts += sum(text.count(self.separator) == 2 for text in lines.comments)


class _Lines:
    """The lines of a block for the csv module: comments and blanks left out, but never inside of quotes."""

    def __init__(self, block: Block, path: str | Path, comment: str | None, *, keeps_returns: bool) -> None:
        self.path, self.comment, self.keeps_returns = path, comment, keeps_returns
        self.lines = io.BytesIO(block.text)
        self.line = block.first_line - 1
        self.record_line = block.first_line
        self.inside = False
        self.comments: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while True:
            raw = next(self.lines)
            self.line += 1
            text = self._decode(raw)
            if not self.inside:
                self.record_line = self.line
                if not text.strip(" \n"):
                    continue
                if self.comment and text.startswith(self.comment):
                    self.comments.append(text)
                    continue
                if "\r" in text and not self.keeps_returns:
                    raise ReadError(
                        "a carriage return inside of a line: lines must end with LF or CRLF.",
                        path=self.path,
                        line=self.line,
                    )
            self.inside = True
            return text

    def begin_record(self) -> None:
        self.inside = False

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ReadError(
                f"byte {raw[error.start]:#04x} at position {error.start} is not UTF-8. "
                "If the file has another encoding, pass it (encoding='latin-1').",
                path=self.path,
                line=self.line,
            ) from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
