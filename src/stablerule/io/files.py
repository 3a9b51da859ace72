"""Files as streams of bytes: opened with or without compression, and written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
import tempfile
import zlib
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

import polars as pl

from stablerule.errors import ReadError, WriteError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
# How compressed files begin, to tell one that has lost its suffix.
MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst", b"PK\x03\x04": ".zip"}
# What a full disk or a lost mount looks like, from Python and from polars.
NOT_WRITTEN = (OSError, pl.exceptions.ComputeError)


def split_suffixes(path: Path) -> tuple[str, str, str]:
    """Split a file name into stem, format and compression.

    >>> split_suffixes(Path("facts.v2.tsv.GZ"))
    ('facts.v2', '.tsv', '.gz')
    """
    name, compression = path.name, ""
    if path.suffix.lower() in COMPRESSIONS:
        compression = path.suffix.lower()
        name = name[: -len(compression)]
    stem, dot, suffix = name.rpartition(".")
    return (stem, f".{suffix.lower()}", compression) if dot and stem else (name, "", compression)


def kind_of(path: Path) -> Literal["file", "folder"] | None:
    """Tell a file from a folder, None where there is neither; what can't be looked at is a ReadError."""
    try:
        return "folder" if stat.S_ISDIR(path.stat().st_mode) else "file"
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise ReadError(f"a link that leads nowhere: there is no {os.readlink(path)!r}.", path=path) from error
        return None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> ReadError:
    """Word what the system says when it does not let us read."""
    return ReadError(f"can't be read: {reason_of(error)}.", path=path)


def reason_of(error: Exception) -> str:
    """Say in a few words what the system or polars said in many."""
    said = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return str(said).rstrip(".")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix; what goes wrong becomes a ReadError."""
    _, _, compression = split_suffixes(path)
    try:
        with COMPRESSIONS.get(compression, open)(path, "rb") as stream:
            if not compression:
                _refuse_compressed(path, stream.peek(16))
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
        raise unreadable(path, error) from error


def _refuse_compressed(path: Path, beginning: bytes) -> None:
    found = next((suffix for magic, suffix in MAGIC.items() if beginning.startswith(magic)), None)
    if beginning[:3] == b"BZh" and beginning[4:10] == b"1AY&SY":
        found = ".bz2"
    if found == ".zip":
        raise ReadError("this is a zip archive. Unpack it first.", path=path)
    if found:
        raise ReadError(f"this is compressed data. Call the file {path.name}{found}, and it is read.", path=path)


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder, and rename it to `path` if the block ends well.

    After an error or an interrupt nothing is left over, and what stood at `path` still stands.
    """
    if os.path.isdir(path):
        raise WriteError(f"{path}: can't be written: there is a folder of that name.")
    handle, temporary = make_beside(path, tempfile.mkstemp)
    os.close(handle)
    try:
        yield temporary
        # mkstemp makes private files; a result should have the rights of any other new file.
        os.chmod(temporary, 0o666 & ~umask())
        os.replace(temporary, path)
    except NOT_WRITTEN as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def open_compressed(path: Path, like: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, compressed as the suffix of the final name says."""
    _, _, compression = split_suffixes(like)
    with WRITERS.get(compression, open)(path, "wb") as stream:
        yield stream


def make_beside(path: Path, make: Callable[..., tuple[int, str]]) -> tuple[int, Path]:
    """Make a temporary file or folder in the folder of `path`, hidden and with a name that says what it is for."""
    try:
        with suppress(FileNotFoundError):
            os.lstat(path)  # a name that the system does not take is told before the work, not after it
        handle, name = make(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    except FileNotFoundError as error:
        if path.parent.is_dir():  # such as /proc
            raise WriteError(
                f"{path}: can't be written: the folder {str(path.parent)!r} takes no new files. Choose another place."
            ) from error
        raise WriteError(f"{path}: the folder {str(path.parent)!r} does not exist. Make it first.") from error
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    return handle, Path(name)


def unwritable(path: Path, error: Exception) -> WriteError:
    """Word what the system says when it does not let us write."""
    return WriteError(f"{path}: can't be written: {reason_of(error)}.")


def umask() -> int:
    """Return the rights that new files don't get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
