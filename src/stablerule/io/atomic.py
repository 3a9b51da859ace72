"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from stablerule.errors import WriteError
from stablerule.io.files import shorten_file_error
from stablerule.io.streams import is_stream, spool_stream
from stablerule.io.temporaries import SUFFIX, make_temporary_file

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a full disk or a lost mount looks like, from Python and from polars.
NOT_WRITTEN = (OSError, pl.exceptions.ComputeError)
# What file systems say that have no flush, of folders above all.
NOT_FLUSHED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EROFS)


@contextmanager
def write_beside(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path in the same folder, and rename it to `path` if the block ends well.

    After an error or an interrupt nothing is left over, and what was at `path` is still there. Only a plain file is
    ever replaced, and its rights are kept: links are followed, and what names a device or a pipe is written through.
    durable: wait for the disk, so that a power cut takes nothing; without it, for files that can be made again.
    """
    with word_write_errors(path):
        if is_stream(path):
            with spool_stream(path) as temporary:
                yield temporary
            return
        place = resolve_place(path)
        if os.path.isdir(place):
            raise WriteError(f"{path}: can't be written: there is a folder of that name.")
        if os.path.lexists(place) and not os.access(place, os.W_OK):
            raise WriteError(f"{path}: can't be written: the file is protected against writing.")
        with make_temporary_file(place) as temporary:
            yield temporary
            _copy_file_rights(temporary, place)
            if durable:
                flush_to_disk(temporary)
            os.replace(temporary, place)
            if durable:
                flush_to_disk(place.parent)


def resolve_place(path: Path) -> Path:
    """Follow links: they stay, and what they lead to is written."""
    if not path.name:
        raise WriteError(f"{path}: can't be written: it names no file or folder.")
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        missing = place.parent if path.is_symlink() else path.parent
        raise WriteError(f"{path}: the folder {str(missing)!r} does not exist. Make it first.")
    with suppress(FileNotFoundError):
        os.lstat(place)  # a name that the system does not take is told before the work, not after it
    return place


def _copy_file_rights(temporary: Path, place: Path) -> None:
    """A replaced file keeps its rights and, where we may, its owner; a new one has those of any other new file."""
    try:
        before = place.stat()
    except FileNotFoundError:
        os.chmod(temporary, 0o666 & ~read_umask())
        return
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)
    shutil.copymode(place, temporary)


def flush_to_disk(path: Path) -> None:
    """Wait until a file is on the disk, or the names in a folder."""
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NOT_FLUSHED:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def word_write_errors(path: Path) -> Iterator[None]:
    """Turn what the system says in the block into an error of ours about `path`."""
    try:
        yield
    except BrokenPipeError:  # a reader that has gone is no fault
        raise
    except FileNotFoundError as error:
        if str(error.filename).endswith(SUFFIX) and path.parent.is_dir():  # such as /proc
            raise WriteError(
                f"{path}: can't be written: the folder {str(path.parent)!r} takes no new files. Choose another place."
            ) from error
        raise make_write_error(path, error) from error
    except (*NOT_WRITTEN, ValueError) as error:
        raise make_write_error(path, error) from error


def make_write_error(path: Path, error: Exception) -> WriteError:
    """Word what the system says when it does not let us write."""
    return WriteError(f"{path}: can't be written: {shorten_file_error(error)}.")


def read_umask() -> int:
    """Return the rights that new files don't get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
