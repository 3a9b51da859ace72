"""Open and write files as streams of bytes, with or without compression."""

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
# The others always write a checksum. Without one, damage inside a .zst file would be read as names.
WRITERS = COMPRESSIONS | {
    ".zst": cast("Callable[..., IO[bytes]]", partial(zstd.open, options={zstd.CompressionParameter.checksum_flag: 1}))
}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, gzip.BadGzipFile)
# Facts compress to a tenth, at most to a hundredth. Files with a higher ratio are decompression bombs.
BOMB_RATIO, BOMB_BYTES = 500, 256 << 20
EXPANDED_BYTES = 1 << 20
# The first bytes of compressed files, to recognise one without its suffix.
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
    """Return whether a path is a file or a folder, None if neither; a path that can't be accessed is a ReadError."""
    restore_folder(path)
    try:
        return "folder" if stat.S_ISDIR(path.stat().st_mode) else "file"
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise ReadError(f"broken link to {os.readlink(path)!r}.", path=path) from error
        return None
    except (OSError, ValueError) as error:
        raise make_read_error(path, error) from error


def make_read_error(path: Path, error: Exception) -> ReadError:
    """Make a ReadError from a system error."""
    return ReadError(f"can't be read: {shorten_system_error(error)}.", path=path)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix; problems become a ReadError."""
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
            f"the compressed data is damaged or truncated ({error}). Copy or download the file again.", path=path
        ) from error
    except OSError as error:
        raise make_read_error(path, error) from error


class _Expanding(io.RawIOBase):
    """Decompressed data with a size limit, so that a decompression bomb can't fill the memory."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path, self._read = stream, path, 0
        about = path.stat()
        self._most = max(BOMB_BYTES, BOMB_RATIO * about.st_size) if stat.S_ISREG(about.st_mode) else None

    def readable(self) -> bool:
        """Return True: this stream is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; data beyond the limit is an error."""
        found: int = self._stream.readinto(buffer)  # type: ignore[attr-defined]
        self._read += found
        if self._most is not None and self._read > self._most:
            raise ReadError(
                f"expands to more than {BOMB_RATIO} times its size, unlike any list of facts. If you trust it, "
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
        raise ReadError(f"this is compressed data. Rename the file to {path.name}{found}.", path=path)


@contextmanager
def open_compressed(path: Path, like: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, compressed by the suffix of its final name."""
    _, _, compression = split_suffixes(like)
    if compression == ".gz":
        # Without the time and the temporary name, so that the same facts give the same bytes.
        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            yield cast("IO[bytes]", stream)
        return
    with WRITERS.get(compression, open)(path, "wb") as stream:
        yield stream
