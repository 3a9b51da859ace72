"""Files as streams of bytes: opened with or without compression, and written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

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
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, gzip.BadGzipFile)


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


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix; what goes wrong becomes a ReadError."""
    _, _, compression = split_suffixes(path)
    try:
        with COMPRESSIONS.get(compression, open)(path, "rb") as stream:
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
        raise ReadError(f"can't be read: {error.strerror or error}.", path=path) from error


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder, and rename it to `path` if the block ends well.

    After an error or an interrupt nothing is left over, and what stood at `path` still stands.
    """
    handle, temporary = _make_beside(path, tempfile.mkstemp)
    os.close(handle)
    try:
        yield temporary
        # mkstemp makes private files; a result should have the rights of any other new file.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise WriteError(f"{path}: can't be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def folder_beside(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Do the same for a folder; an existing one that is not empty is only replaced with `overwrite`."""
    if path.exists() and not overwrite and (not path.is_dir() or any(path.iterdir())):
        raise WriteError(f"{path}: already exists. Choose another place, or ask to overwrite it.")
    _, temporary = _make_beside(path, lambda **kw: (0, tempfile.mkdtemp(**kw)))
    try:
        yield temporary
        os.chmod(temporary, 0o777 & ~_umask())
        _swap_folder(temporary, path)
    except OSError as error:
        raise WriteError(f"{path}: can't be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def open_compressed(path: Path, like: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, compressed as the suffix of the final name says."""
    _, _, compression = split_suffixes(like)
    with COMPRESSIONS.get(compression, open)(path, "wb") as stream:
        yield stream


def _make_beside(path: Path, make: Callable[..., tuple[int, str]]) -> tuple[int, Path]:
    try:
        handle, name = make(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except FileNotFoundError as error:
        raise WriteError(f"{path}: the folder {str(path.parent)!r} does not exist. Make it first.") from error
    except OSError as error:
        raise WriteError(f"{path}: can't be written: {error.strerror or error}.") from error
    return handle, Path(name)


def _swap_folder(new: Path, path: Path) -> None:
    """Put a folder in the place of another; the old one is only removed when the new one stands."""
    if not path.exists():
        new.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
    path.rename(old / "was")
    try:
        new.rename(path)
    except OSError:
        (old / "was").rename(path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
