"""Read a dump as a stream of records, from a file or a zip archive; memory does not grow with its size."""

from __future__ import annotations

import io
import zipfile
from itertools import chain
from typing import IO, TYPE_CHECKING

from stablerule.errors import ReadError
from stablerule.extending import (
    DAMAGED,
    find_path_kind,
    make_read_error,
    open_bytes,
    read_line_blocks,
    read_utf8_pieces,
    spell_read_option,
    split_suffixes,
)
from stablerule.progress import progress_bar
from stablerule_lab.aminer.objects import read_objects
from stablerule_lab.aminer.record import EXPECTED, Damage, Line, Record
from stablerule_lab.aminer.text import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from stablerule.progress import Advance

PIECE_BYTES = 4 << 20
LONGEST_LINE = 256 << 20
UNREADABLE_ZIP = (zipfile.BadZipFile, NotImplementedError, RuntimeError, *DAMAGED)


def read_dump(path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[str, Record | Damage]]:
    """Yield the records of a dump in order, each with its file name for messages; detects the version."""
    if path.suffix.lower() == ".zip":
        yield from _read_archive(path, encoding)
        return
    plain = find_path_kind(path) == "file" and not split_suffixes(path)[2]
    with _bar(path, path.stat().st_size if plain else None) as advance, open_bytes(path) as stream:
        for found in _read_stream(stream, str(path), encoding, advance):
            yield str(path), found


def _read_archive(path: Path, encoding: str) -> Iterator[tuple[str, Record | Damage]]:
    """Read the files of an archive in turn: version 10 has four."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.file_size]
            if not members:
                raise ReadError("the archive has no files.", path=path)
            with _bar(path, sum(member.file_size for member in members)) as advance:
                for member in members:
                    where = f"{path}:{member.filename}"
                    with archive.open(member) as stream:
                        for found in _read_stream(stream, where, encoding, advance):
                            yield where, found
    except FileNotFoundError as error:
        raise ReadError("no such file.", path=path) from error
    except UNREADABLE_ZIP as error:
        raise ReadError(f"the archive can't be read ({error}). Unpack it first.", path=path) from error
    except OSError as error:
        raise make_read_error(path, error) from error


def _bar(path: Path, total: int | None) -> AbstractContextManager[Advance]:
    return progress_bar(f"reading {path.name}", total, unit="bytes")


def _read_stream(stream: IO[bytes], where: str, encoding: str, advance: Advance) -> Iterator[Record | Damage]:
    lines = _lines(stream, where, encoding, advance)
    first = next((line for line in lines if line.text.strip()), None)
    if first is None:
        raise ReadError(f"the file is empty. {EXPECTED}.", path=where)
    rest = chain([first], lines)
    text = first.text.strip()
    if text.startswith("#") or text.isdecimal():
        return read_text(rest)
    if text.startswith(("{", "[")):
        return read_objects(rest, where)
    raise ReadError(f"found {text[:60]!r}. {EXPECTED}.", path=where, line=first.number)


def _lines(stream: IO[bytes], where: str, encoding: str, advance: Advance) -> Iterator[Line]:
    pieces = _with_line_ends(read_utf8_pieces(stream, where, encoding=encoding, size=PIECE_BYTES), where)
    for block in read_line_blocks(pieces, where):
        for number, raw in enumerate(io.BytesIO(block.text), block.first_line):
            try:
                yield Line(number, raw.decode())
            except UnicodeDecodeError as error:
                found = f"byte {raw[error.start]:#04x} at position {error.start} is not UTF-8"
                cure = f"If the file has another encoding, pass it: {spell_read_option('encoding', 'latin-1')}"
                yield Line(number, raw.decode(errors="replace"), f"{found}. {cure}")
        advance(len(block.text))


def _with_line_ends(pieces: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Refuse a file without line ends, which would have to fit into memory."""
    without = 0
    for piece in pieces:
        without = 0 if b"\n" in piece else without + len(piece)
        if without > LONGEST_LINE:
            raise ReadError(
                f"a line is longer than {LONGEST_LINE >> 20} MB. Put each paper on its own line: jq -c '.[]'.",
                path=where,
            )
        yield piece
