"""Frames as TSV and CSV that read back without options as what they were."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Literal

import polars as pl

from stablerule.errors import WriteError
from stablerule.io.layout import known_header
from stablerule.io.options import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

CHUNK_ROWS = 1 << 18
COMMENT = ReadOptions().comment or ""
BYTE_ORDER_MARK = "\ufeff"


def write_table(frame: pl.DataFrame, stream: IO[bytes], separator: str, *, header: bool | None, path: Path) -> None:
    """Write head, relation, tail and the optional columns; header=None writes one where reading needs it."""
    with_header = _needs_header(frame) if header is None else header
    style: Literal["never", "necessary", "always"] = "never"
    if separator == "\t":
        _refuse_what_tsv_can_not_hold(frame, path)
    else:
        # A quote before the first name keeps it from being read as a comment, or as a byte order mark.
        style = "always" if frame["head"].str.contains(f"^[{COMMENT}{BYTE_ORDER_MARK}]").any() else "necessary"
    for start in range(0, len(frame), CHUNK_ROWS):
        part = frame.slice(start, CHUNK_ROWS)
        text = part.write_csv(separator=separator, quote_style=style, include_header=with_header and start == 0)
        stream.write(text.encode())


def _needs_header(frame: pl.DataFrame) -> bool:
    """Whether the first fact would be taken for a header, or what it begins with for another encoding."""
    first = frame.row(0)[:3]
    looks_encoded = first[0].startswith(BYTE_ORDER_MARK) or "\x00" in "".join(first)  # as every other byte of UTF-16
    return frame.width > 3 or known_header(first) is not None or looks_encoded


def _refuse_what_tsv_can_not_hold(frame: pl.DataFrame, path: Path) -> None:
    for column in frame.select(pl.col(pl.String)).iter_columns():
        bad = column.filter(column.str.contains("[\t\r\n]"))
        if len(bad):
            raise WriteError(
                f"{path}: the name {bad[0]!r} has a tab or a line end, which TSV can't hold. Write .csv or .parquet."
            )
    comments = frame["head"].filter(frame["head"].str.starts_with(COMMENT))
    if len(comments):
        raise WriteError(
            f"{path}: the head {comments[0]!r} begins with {COMMENT!r}, and would be read back as a comment. "
            "Write .csv or .parquet."
        )
