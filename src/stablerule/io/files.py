"""Files as streams of bytes: opened and written with or without compression."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from stablerule.errors import ReadError, shorten_system_error
from stablerule.io.atomic import restore_folder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COMPRESSIONS: dict[str, Callable[..., IO[bytes]]] = {
    ".gz": cast("Callable[..., IO[bytes]]", gzip.open),
    ".xz": cast("Callable[..., IO[bytes]]", lzma.open),
    ".zst": cast("Callable[..., IO[bytes]]", zstd.open),
    ".bz2": cast("Callable[..., IO[bytes]]", bz2.open),
}
# The others write a checksum unasked; without one, damage inside of a .zst file would be read as names.
WRITERS = COMPRESSIONS | {
    ".zst": cast("Callable[..., IO[bytes]]", partial(zstd.open, options={zstd.CompressionParameter.checksum_flag: 1}))
}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, gzip.BadGzipFile)
# Compressed facts shrink to a tenth, at most to a hundredth; what shrinks more was made to fill a memory or a disk.
BOMB_RATIO, BOMB_BYTES = 500, 256 << 20
EXPANDED_BYTES = 1 << 20
# How compressed files begin, to tell one that has lost its suffix.
MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst", b"PK\x03\x04": ".zip"}


def split_suffixes(path: Path) -> tuple[str, str, str]:
    """Split a file name into stem, format and compression.

    >>> from pathlib import Path
    >>> split_suffixes(Path("facts.v2.tsv.GZ"))
    ('facts.v2', '.tsv', '.gz')
    """
    name, compression = path.name, ""
    if path.suffix.lower() in COMPRESSIONS:
        compression = path.suffix.lower()
        name = name[: -len(compression)]
    stem, dot, suffix = name.rpartition(".")
    return (stem, f".{suffix.lower()}", compression) if dot and stem else (name, "", compression)


def find_path_kind(path: Path) -> Literal["file", "folder"] | None:
    """Tell a file from a folder, None where there is neither; what can't be looked at is a ReadError."""
    restore_folder(path)
    try:
        return "folder" if stat.S_ISDIR(path.stat().st_mode) else "file"
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise ReadError(f"a link that leads nowhere: there is no {os.readlink(path)!r}.", path=path) from error
        return None
    except (OSError, ValueError) as error:
        raise make_read_error(path, error) from error


def make_read_error(path: Path, error: Exception) -> ReadError:
    """Word what the system says when it does not let us read."""
    return ReadError(f"can't be read: {shorten_system_error(error)}.", path=path)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix; what goes wrong becomes a ReadError."""
    _, _, compression = split_suffixes(path)
    try:
        with COMPRESSIONS.get(compression, open)(path, "rb") as stream:
            if compression:
                yield io.BufferedReader(_Expanding(stream, path), EXPANDED_BYTES)
                return
            _refuse_compressed_without_suffix(path, stream.peek(16))
            yield stream
    except FileNotFoundError as error:
        raise ReadError("no such file.", path=path) from error
    except IsADirectoryError as error:
        raise ReadError("expected a file, found a folder.", path=path) from error
    except DAMAGED as error:
        raise ReadError(
            f"the compressed data is damaged or ends too early ({error}). Copy or download the file again.", path=path
        ) from error
    except OSError as error:
        raise make_read_error(path, error) from error


class _Expanding(io.RawIOBase):
    """Decompressed data, up to where no honest file would go on: a bomb is noticed before it fills the memory."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path, self._read = stream, path, 0
        about = path.stat()
        self._most = max(BOMB_BYTES, BOMB_RATIO * about.st_size) if stat.S_ISREG(about.st_mode) else None

    def readable(self) -> bool:
        """Tell that it is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; what goes on for too long is an error."""
        found: int = self._stream.readinto(buffer)  # type: ignore[attr-defined]
        self._read += found
        if self._most is not None and self._read > self._most:
            raise ReadError(
                f"expands to more than {BOMB_RATIO} times its size, as no list of facts does. If you trust it, "
                "decompress it yourself.",
                path=self._path,
            )
        return found


def _refuse_compressed_without_suffix(path: Path, beginning: bytes) -> None:
    found = next((suffix for magic, suffix in MAGIC.items() if beginning.startswith(magic)), None)
    if beginning[:3] == b"BZh" and beginning[4:10] == b"1AY&SY":
        found = ".bz2"
    if found == ".zip":
        raise ReadError("this is a zip archive. Unpack it first.", path=path)
    if found:
        raise ReadError(f"this is compressed data. Call the file {path.name}{found}, and it is read.", path=path)


@contextmanager
def open_compressed(path: Path, like: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, compressed as the suffix of the final name says."""
    _, _, compression = split_suffixes(like)
    if compression == ".gz":
        # Neither the time nor the name of the temporary file: the same facts are the same bytes.
        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            yield cast("IO[bytes]", stream)
        return
    with WRITERS.get(compression, open)(path, "wb") as stream:
        yield stream
