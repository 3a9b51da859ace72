"""Files written whole or not at all: hidden beside their place first, then renamed.

What is hidden, a file or a folder, is locked while its process lives, so that the next run knows what a killed one
left, whatever has become of its process id since: it removes that, and puts back a folder that was moved away and not
yet replaced.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from stablerule.errors import WriteError, shorten_system_error
from stablerule.io.streams import is_stream, spool_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a full disk or a lost mount looks like, from Python and from polars.
NOT_WRITTEN = (OSError, pl.exceptions.ComputeError)
# What file systems say that have no flush, of folders above all.
NOT_FLUSHED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EROFS)
SUFFIX = ".stablerule"
# So many processes may write to one output at the same time.
MOST = 16
# In a hidden folder: what is being written, and what stood at the output before.
NEW, OLD = "new", "old"
LONGEST_NAME = 40


@contextmanager
def write_beside(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path in the same folder, and rename it to `path` if the block ends well.

    After an error or an interrupt nothing is left over, and what was at `path` is still there. Only a plain file is
    ever replaced, and its rights are kept: links are followed, and what names a device or a pipe is written through.
    durable: wait for the disk, so that a power cut takes nothing; without it, for files that can be made again.
    """
    with reword_write_errors(path):
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
def reword_write_errors(path: Path) -> Iterator[None]:
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
    return WriteError(f"{path}: can't be written: {shorten_system_error(error)}.")


def read_umask() -> int:
    """Return the rights that new files don't get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def make_temporary_file(place: Path) -> Iterator[Path]:
    """Give an empty hidden file beside `place`; afterwards it is removed, if it is still there."""
    with _make_locked(place, folder=False) as temporary:
        yield temporary


@contextmanager
def make_temporary_folder(place: Path) -> Iterator[Path]:
    """Give a hidden folder beside `place`, with an empty folder `new` in it; afterwards it is removed.

    If there is nothing at `place` by then, and a folder `old` in the hidden one, that is put back first.
    """
    with _make_locked(place, folder=True) as temporary:
        (temporary / NEW).mkdir()
        yield temporary


def clear_temporaries(place: Path) -> None:
    """Remove what killed runs left beside `place`; what a living process owns stays as it is."""
    for leftover in _list_temporaries(place):
        with _lock_existing(leftover) as ours:
            if ours:
                _remove_temporary(leftover, place)


def restore_folder(path: Path) -> None:
    """Put a folder back that a killed run had moved away, and not yet replaced by the new one."""
    try:
        place = Path(os.path.realpath(path))
        if os.path.lexists(place):
            return
    except (OSError, ValueError):  # a name that no system takes
        return
    for leftover in _list_temporaries(place):
        if (leftover / OLD).is_dir():
            with _lock_existing(leftover) as ours, suppress(OSError):
                if ours:
                    _put_back_folder(leftover, place)


@contextmanager
def claim_output(path: Path) -> Iterator[None]:
    """Keep other processes from the same long work for the block: they raise WriteError at once, not after it."""
    place = Path(os.path.realpath(path))
    claim = _name_temporary(place, "claim")
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError as error:
        raise WriteError(f"{path}: can't be written: {error.strerror}.") from error
    with _lock_existing(claim, without_locks=True) as ours:
        if not ours:
            raise WriteError(f"{path}: another process is at work on it. Wait for it, or choose another place.")
        try:
            yield
        finally:
            with suppress(OSError):
                claim.unlink()


def _list_temporaries(place: Path) -> Iterator[Path]:
    for number in range(1, MOST + 1):
        path = _name_temporary(place, number)
        with suppress(OSError):
            os.lstat(path)
            yield path


def _name_temporary(place: Path, number: int | str) -> Path:
    """Names are numbered and not random, so that leftovers are found without looking through the folder."""
    name = place.name
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}"
    return place.with_name(f".{name}.{number}{SUFFIX}")


@contextmanager
def _make_locked(place: Path, *, folder: bool) -> Iterator[Path]:
    """Make a temporary under the first number that is free, or free again because its process has died."""
    clear_temporaries(place)
    for number in range(1, MOST + 1):
        temporary = _name_temporary(place, number)
        try:
            if folder:
                temporary.mkdir(mode=0o700)
            else:
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        with _lock_existing(temporary, without_locks=True) as ours:
            if not ours:
                continue  # in the moment before the lock, another process took it for a leftover
            made = os.lstat(temporary)
            try:
                yield temporary
            finally:
                with suppress(OSError):
                    # Once it was renamed, its name is free, and may be another process's by now.
                    if os.path.samestat(made, os.lstat(temporary)):
                        _remove_temporary(temporary, place)
            return
    raise FileExistsError(f"{MOST} other processes are writing to it")


def _remove_temporary(temporary: Path, place: Path) -> None:
    with suppress(OSError):
        _put_back_folder(temporary, place)
        if stat.S_ISDIR(os.lstat(temporary).st_mode):
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink()


def _put_back_folder(temporary: Path, place: Path) -> None:
    if (temporary / OLD).is_dir() and not os.path.lexists(place):
        (temporary / OLD).rename(place)


@contextmanager
def _lock_existing(path: Path, *, without_locks: bool = False) -> Iterator[bool]:
    """Lock a file or folder for the block; False if another process has it, or has replaced it meanwhile.

    without_locks: the answer where the system has no locks. There, nothing that is found is ever taken for a leftover.
    """
    if sys.platform == "win32":
        yield without_locks
        return
    import fcntl  # noqa: PLC0415  # Unix alone has it

    try:
        # Not through links, which anybody may put into a shared folder, nor waiting for the other end of a FIFO.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked = _is_same_file(descriptor, path)
        except BlockingIOError:
            locked = False
        except OSError:  # a file system without locks
            locked = without_locks
        yield locked
    finally:
        os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False
