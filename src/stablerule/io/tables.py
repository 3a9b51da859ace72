"""Read TSV and CSV, compressed or not, as frames of names.

Polars parses each block of lines first, which is fast. If a block has anything unusual (blank lines, comments, quotes,
empty names, a wrong number of columns, invalid bytes), the plain parser below parses it again, line by line. It defines
the format, and has the line numbers for errors.
"""

from __future__ import annotations

import codecs
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import polars as pl

from stablerule.errors import ReadError
from stablerule.io.columns import SAMPLE_ROWS, Layout, Part, RowPlace, find_table_layout, type_optional_columns
from stablerule.io.files import open_bytes, split_suffixes
from stablerule.io.options import TRIPLE, ReadOptions, spell_read_option
from stablerule.io.text import (
    PIECE_BYTES,
    Block,
    LinesOfBlocks,
    QuotingError,
    read_csv_record,
    read_line_blocks,
    read_utf8_pieces,
    strip_line_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Record = tuple[int, list[str]]
SAMPLE_BYTES = 1 << 20  # of rows to compare a first line with


@dataclass
class TableReader:
    """Read one table block by block; after the last one, `notes` has remarks for the user."""

    path: str | Path
    options: ReadOptions
    block_bytes: int = PIECE_BYTES
    notes: list[str] = field(default_factory=list)
    _comments_like_facts: int = 0

    def __post_init__(self) -> None:
        _, suffix, _ = split_suffixes(Path(self.path))
        self.separator = self.options.separator or ("," if suffix == ".csv" else "\t")
        # In TSV a quote is an ordinary character; in CSV it encloses a field.
        self.quoted = self.separator != "\t"

    def read(self) -> Iterator[Part]:
        """Yield frames with the columns head, relation, tail and those optional columns that the table has."""
        with open_bytes(Path(self.path)) as stream:
            yield from self.read_stream(stream)

    def read_stream(self, stream: IO[bytes]) -> Iterator[Part]:
        """Yield the frames of an open stream; `path` is only for messages."""
        blocks = read_line_blocks(
            read_utf8_pieces(stream, self.path, encoding=self.options.encoding, size=self.block_bytes), self.path
        )
        first_blocks = _take_first_table_blocks(blocks)
        blocks = chain(first_blocks, blocks)
        layout, found, left = None, 0, None
        while (block := left or next(blocks, None)) is not None:
            if layout is None:
                layout, left = self._find_layout(block, blocks, first_blocks)
                continue
            part, left = self._parse_block(block, blocks, layout)
            if len(part.frame):
                found += len(part.frame)
                yield Part(type_optional_columns(part.frame, part.place), part.place)
        if not found:
            raise ReadError("no triples: the file is empty, or has only a header and comments.", path=self.path)
        if self._comments_like_facts:
            self.notes.append(
                f"{self.path}: skipped {self._comments_like_facts:,} lines that start with {self.options.comment!r} as "
                f"comments, although they look like triples. Pass {spell_read_option('comment')} to read them."
            )

    def _find_layout(
        self, block: Block, following: Iterator[Block], sample: list[Block]
    ) -> tuple[Layout | None, Block | None]:
        """Find the layout from the first record; return it with the block that is left to read."""
        lines = self._open_lines(block, following)
        for line, cells in self._read_records(lines):
            layout = find_table_layout(
                cells,
                self.options,
                path=self.path,
                line=line,
                rows=lambda: self._sample_rows(sample),
                csv=self.quoted,
            )
            self._note_first_line(cells, layout)
            return layout, lines.take_rest() if layout.has_header else lines.take_whole()
        self._count_comments(lines)
        return None, None

    def _sample_rows(self, blocks: list[Block]) -> Iterator[list[str]]:
        """Yield the first rows after the first line; errors in them are ignored here."""
        block = Block(b"".join(one.text for one in blocks), blocks[0].first_line)
        with suppress(ReadError):
            for _, cells in islice(self._read_records(self._open_lines(block, iter(()))), 1, SAMPLE_ROWS + 1):
                yield cells

    def _note_first_line(self, first: list[str], layout: Layout) -> None:
        """Add a note if it was a guess whether the first line is a header."""
        shown = _shorten_table_line(self.separator.join(first))
        if layout.first_line == "unsure":
            self.notes.append(
                f"{self.path}: the first line {shown} was read as a fact. "
                f"If it is a header, pass {spell_read_option('header', True)}."
            )
        elif (
            layout.has_header and self.options.header is None and self.options.wanted is None and first[:3] != [*TRIPLE]
        ):
            columns = ", ".join(f"{role} is {first[place]!r}" for role, place in layout.places.items())
            self.notes.append(
                f"{self.path}: the first line was read as a header: {columns}. "
                f"If it is a fact, pass {spell_read_option('header', False)}."
            )

    def _parse_block(self, block: Block, following: Iterator[Block], layout: Layout) -> tuple[Part, Block | None]:
        """Parse a block; the plain parser may continue into the next one, and returns the rest of it."""
        frame = self._parse_fast(block, layout)
        if frame is not None:
            return Part(frame, RowPlace(self.path, first_line=block.first_line)), None
        lines = self._open_lines(block, following)
        part = self._parse_plain(lines, layout)
        self._count_comments(lines)
        return part, lines.take_rest()

    def _parse_fast(self, block: Block, layout: Layout) -> pl.DataFrame | None:
        text = block.text
        # Polars removes a byte order mark from every block, but only the one of the file is not part of a name.
        if (self.quoted and b'"' in text) or not self.separator.isascii() or text.startswith(codecs.BOM_UTF8):
            return None
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        comment = (self.options.comment or "").encode()
        if b"\r" in text or (comment and (text.startswith(comment) or b"\n" + comment in text)):
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

    def _parse_plain(self, lines: LinesOfBlocks, layout: Layout) -> Part:
        rows, numbers = [], []
        for line, cells in self._read_records(lines):
            if len(cells) != layout.width:
                found = _shorten_table_line(self.separator.join(cells))
                raise ReadError(
                    f"expected {layout.width} columns, found {len(cells)}: {found}.",
                    path=self.path,
                    line=line,
                )
            row = [cells[place] for place in layout.places.values()]
            for role, cell in zip(layout.places, row, strict=True):
                if not cell:
                    shown = _shorten_table_line(self.separator.join(cells))
                    raise ReadError(f"expected a {role}, found nothing: {shown}.", path=self.path, line=line)
            rows.append(row)
            numbers.append(line)
        frame = pl.DataFrame(rows, schema=dict.fromkeys(layout.places, pl.String), orient="row")
        return Part(frame, RowPlace(self.path, lines=numbers))

    def _read_records(self, lines: LinesOfBlocks) -> Iterator[Record]:
        """Yield the number of the first line and the cells of every record."""
        for line, text in lines:
            if self.quoted:
                try:
                    yield line, read_csv_record(text, lines.take_continuation, self.separator)
                except QuotingError as error:
                    raise ReadError(f"not valid CSV: {error}.", path=self.path, line=line) from error
            else:
                whole = strip_line_end(text)
                if "\r" in whole:
                    raise ReadError(
                        "a carriage return inside a line; lines must end with LF or CRLF.",
                        path=self.path,
                        line=line,
                    )
                yield line, whole.split(self.separator)

    def _open_lines(self, block: Block, following: Iterator[Block]) -> LinesOfBlocks:
        return LinesOfBlocks(block, following, self.path, self.options.comment)

    def _count_comments(self, lines: LinesOfBlocks) -> None:
        self._comments_like_facts += sum(text.count(self.separator) == 2 for text in lines.comments)


def _take_first_table_blocks(blocks: Iterator[Block]) -> list[Block]:
    """Return the first blocks, enough of them to detect a header."""
    taken: list[Block] = []
    while sum(len(block.text) for block in taken) < SAMPLE_BYTES and (block := next(blocks, None)) is not None:
        taken.append(block)
    return taken


def _shorten_table_line(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
