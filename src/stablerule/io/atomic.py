"""Write files completely or not at all: to a hidden file beside the output, which is then renamed.

Hidden files and folders are locked while their process lives. So the next run recognises what a killed process left
behind, even if its process id is in use again. It removes these files, and restores a folder that was moved away but
not yet replaced.
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

# The errors of a full disk or a lost mount, from Python and from polars.
NOT_WRITTEN = (OSError, pl.exceptions.ComputeError)
# The errors of file systems that can't flush, mostly of folders.
NOT_FLUSHED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EROFS)
SUFFIX = ".stablerule"
# The most processes that may write to one output at the same time.
MOST = 16
# In a hidden folder: the new output, and the one that it replaces.
NEW, OLD = "new", "old"
LONGEST_NAME = 40


@contextmanager
def write_beside(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and rename it to `path` if the block succeeds.

    After an error or an interrupt no temporary file remains, and an existing file is unchanged. Only a regular file is
    ever replaced, and its permissions are kept. Links are followed; devices and pipes are written to directly.
    durable: flush to the disk, so that the file survives a power cut; False is for files that can be made again.
    """
    with reword_write_errors(path):
        if is_stream(path):
            with spool_stream(path) as temporary:
                yield temporary
            return
        place = resolve_place(path)
        if os.path.isdir(place):
            raise WriteError(f"{path}: can't be written: it is a folder. Choose another name.")
        if os.path.lexists(place) and not os.access(place, os.W_OK):
            raise WriteError(f"{path}: can't be written: the file is read-only.")
        with make_temporary_file(place) as temporary:
            yield temporary
            _copy_file_rights(temporary, place)
            if durable:
                flush_to_disk(temporary)
            os.replace(temporary, place)
            if durable:
                flush_to_disk(place.parent)


def resolve_place(path: Path) -> Path:
    """Return the target of a path after following links; raise an error if its folder does not exist."""
    if not path.name:
        raise WriteError(f"{path}: can't be written: it has no file name.")
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        missing = place.parent if path.is_symlink() else path.parent
        raise WriteError(f"{path}: the folder {str(missing)!r} does not exist. Make it first.")
    with suppress(FileNotFoundError):
        os.lstat(place)  # raises an error for an invalid name before starting
    return place


def _copy_file_rights(temporary: Path, place: Path) -> None:
    """Copy the permissions and, if allowed, the owner of a replaced file; a new file gets the default permissions."""
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
    """Flush a file, or the names in a folder, to the disk."""
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
    """Turn system errors in the block into a WriteError about `path`."""
    try:
        yield
    except BrokenPipeError:  # the reader closed the pipe, which is not an error
        raise
    except FileNotFoundError as error:
        if str(error.filename).endswith(SUFFIX) and path.parent.is_dir():  # such as /proc
            raise WriteError(
                f"{path}: can't be written: the folder {str(path.parent)!r} does not allow new files. Choose another "
                "one."
            ) from error
        raise make_write_error(path, error) from error
    except (*NOT_WRITTEN, ValueError) as error:
        raise make_write_error(path, error) from error


def make_write_error(path: Path, error: Exception) -> WriteError:
    """Make a WriteError from a system error."""
    return WriteError(f"{path}: can't be written: {shorten_system_error(error)}.")


def read_umask() -> int:
    """Return the umask: the permissions that new files don't get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def make_temporary_file(place: Path) -> Iterator[Path]:
    """Yield an empty hidden file beside `place`, and remove it afterwards if it still exists."""
    with _make_locked(place, folder=False) as temporary:
        yield temporary


@contextmanager
def make_temporary_folder(place: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `place`, with an empty folder `new` in it, and remove it afterwards.

    If `place` does not exist then, and the hidden folder has a folder `old`, that one is restored first.
    """
    with _make_locked(place, folder=True) as temporary:
        (temporary / NEW).mkdir()
        yield temporary


def clear_temporaries(place: Path) -> None:
    """Remove the temporaries of killed processes beside `place`; those of living processes are kept."""
    for leftover in _list_temporaries(place):
        with _lock_existing(leftover) as ours:
            if ours:
                _remove_temporary(leftover, place)


def restore_folder(path: Path) -> None:
    """Restore a folder that a killed process moved away and did not replace."""
    try:
        place = Path(os.path.realpath(path))
        if os.path.lexists(place):
            return
    except (OSError, ValueError):  # an invalid name
        return
    for leftover in _list_temporaries(place):
        if (leftover / OLD).is_dir():
            with _lock_existing(leftover) as ours, suppress(OSError):
                if ours:
                    _put_back_folder(leftover, place)


@contextmanager
def claim_output(path: Path) -> Iterator[None]:
    """Reserve an output for the block: other processes that want it raise a WriteError at once."""
    place = Path(os.path.realpath(path))
    claim = _name_temporary(place, "claim")
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError as error:
        raise WriteError(f"{path}: can't be written: {error.strerror}.") from error
    with _lock_existing(claim, without_locks=True) as ours:
        if not ours:
            raise WriteError(f"{path}: another process is writing it. Wait for it, or choose another output.")
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
    """Name a temporary by number, so that leftovers are found without listing the folder."""
    name = place.name
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}"
    return place.with_name(f".{name}.{number}{SUFFIX}")


@contextmanager
def _make_locked(place: Path, *, folder: bool) -> Iterator[Path]:
    """Make a temporary with the first free number; numbers of dead processes are free again."""
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
                continue  # just before the lock, another process took it for a leftover
            made = os.lstat(temporary)
            try:
                yield temporary
            finally:
                with suppress(OSError):
                    # After renaming, its name is free and may belong to another process.
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
    """Lock a file or folder for the block; yield False if another process has it, or has replaced it.

    without_locks: the result on systems without locks, where existing temporaries are never taken for leftovers.
    """
    if sys.platform == "win32":
        yield without_locks
        return
    import fcntl  # noqa: PLC0415  # only on Unix

    try:
        # Without following links, which others may put into a shared folder, and without waiting for a FIFO.
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
