"""Write folders completely or not at all, and only replace folders that this package wrote.

If the system can exchange two folders in one step, the old or the new one is always there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stablerule.errors import OutputExists, WriteError
from stablerule.io.atomic import (
    NEW,
    OLD,
    SUFFIX,
    flush_to_disk,
    make_temporary_folder,
    read_umask,
    resolve_place,
    restore_folder,
    reword_write_errors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RENAME_EXCHANGE = 2  # of Linux
RENAME_SWAP = 2  # of macOS
AT_FDCWD = -100
# The errors of a path that exists already.
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES)  # the last on Windows
MOST_TRIES = 100


class FolderKind(Protocol):
    """Knows which files of a folder this package wrote, because only those may be replaced."""

    def find_foreign(self, folder: Path) -> list[str]:
        """Return the names of all other files."""


@dataclass(frozen=True)
class OwnFolder:
    """Recognise a folder that this package wrote by its file names.

    marks: one of these files must be there, if there are any marks. ours: whether this package may have written a name.
    """

    ours: Callable[[str], bool]
    marks: frozenset[str] = frozenset()

    def find_foreign(self, folder: Path) -> list[str]:
        """Return the names that this package did not write: all of them if no mark is there."""
        files = {entry.name: entry.is_file(follow_symlinks=False) for entry in os.scandir(folder)}
        known = not self.marks or any(files.get(mark) for mark in self.marks)
        return [name for name, is_file in files.items() if not (known and is_file and self.ours(name))]


# Models and checkpoints: a mark, and files of these kinds.
MODEL = OwnFolder(
    ours=lambda name: name.endswith((".json", ".parquet", ".arrow", ".safetensors", ".npy")),
    marks=frozenset({"model.json", "progress.json"}),
)


def check_output_folder(path: Path, *, overwrite: bool = False, replaces: FolderKind = MODEL) -> None:
    """Check, before starting, that `write_folder_beside` can write a folder."""
    with suppress(_OnlyTried), write_folder_beside(path, overwrite=overwrite, replaces=replaces):
        raise _OnlyTried


class _OnlyTried(Exception):
    """Ends an attempt to write, before anything is written."""


@contextmanager
def write_folder_beside(path: Path, *, overwrite: bool = False, replaces: FolderKind = MODEL) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, and rename it to `path` if the block succeeds.

    A folder that is not empty is only replaced with `overwrite`, and only if all its files are of the kind `replaces`:
    other files are never removed. A regular file is never replaced.
    """
    with reword_write_errors(path):
        place = resolve_place(path)
        restore_folder(place)
        _refuse_foreign_folder(path, place, overwrite=overwrite, replaces=replaces)
        with make_temporary_folder(place) as temporary:
            new = temporary / NEW
            yield new
            os.chmod(new, 0o777 & ~read_umask())
            for folder, _, files in os.walk(new):
                for written in (*files, "."):
                    flush_to_disk(Path(folder, written))
            # The block may have taken hours, and the output may exist by now.
            _refuse_foreign_folder(path, place, overwrite=overwrite, replaces=replaces)
            _move_folder(temporary, place, path, overwrite=overwrite)
            flush_to_disk(place.parent)


def _refuse_foreign_folder(path: Path, place: Path, *, overwrite: bool, replaces: FolderKind) -> None:
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise WriteError(f"{path}: is a file, not a folder. Choose another name, or remove it.")
    if os.listdir(place) and not overwrite:
        raise _make_exists_error(path)
    # Temporaries that a killed process left inside are ours.
    foreign = sorted(name for name in replaces.find_foreign(place) if not name.endswith(SUFFIX))
    if foreign:
        shown = ", ".join(map(repr, foreign[:5])) + (", ..." if len(foreign) > 5 else "")
        raise WriteError(
            f"{path}: contains other files, so it is not replaced: {shown}. Choose another folder, or move them away."
        )


def _make_exists_error(path: Path) -> OutputExists:
    return OutputExists(
        f"{path}: already exists. Choose another folder, or replace it with overwrite=True (--overwrite)."
    )


def _move_folder(temporary: Path, place: Path, path: Path, *, overwrite: bool) -> None:
    """Replace the output by `new`: in one step, or else with the former output in `old` for a moment.

    Without `overwrite`, the system itself guarantees that only an empty folder is replaced.
    """
    for _ in range(MOST_TRIES):
        try:
            os.rename(temporary / NEW, place)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
            if not overwrite and os.listdir(place):
                raise _make_exists_error(path) from error
        else:
            return
        if exchange_paths(temporary / NEW, place):
            return
        with suppress(FileNotFoundError):  # another process moved it away, so try again
            os.rename(place, temporary / OLD)
            try:
                os.rename(temporary / NEW, place)
            except OSError as error:
                if error.errno not in TAKEN:
                    raise  # `old` is restored
                shutil.rmtree(temporary / OLD, ignore_errors=True)  # another process has replaced it
            else:
                return
    raise OSError(errno.EBUSY, "other processes keep writing to it")


def exchange_paths(one: Path, other: Path) -> bool:
    """Exchange two files or folders of one file system; return False, without any change, if that is not possible."""
    call = _find_system_call()
    return call is not None and call(os.fsencode(one), os.fsencode(other)) == 0


@cache
def _find_system_call() -> Any:
    """Return the system call that exchanges two paths, None on systems without it."""
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "linux":
            rename = library.renameat2
            return lambda one, other: rename(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
        if sys.platform == "darwin":
            rename = library.renamex_np
            return lambda one, other: rename(one, other, RENAME_SWAP)
    except (OSError, AttributeError, TypeError):  # an old C library, or Windows
        pass
    return None
