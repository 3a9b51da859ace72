"""Folders written whole or not at all; and none is replaced that is not one of ours.

Where the system can do that, the old and the new folder change places in one step, so that one of them is always there.
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
# Where the system says that something is at a place already.
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES)  # the last on Windows
MOST_TRIES = 100


class FolderKind(Protocol):
    """Knows what in a folder this package has written, because only that may be replaced."""

    def find_foreign(self, folder: Path) -> list[str]:
        """Return the names of all that is somebody else's."""


@dataclass(frozen=True)
class OwnFolder:
    """How to know a folder that this package wrote, from the names in it.

    marks: one of these must be there; empty where any of our files will do. ours: which names we may have written.
    """

    ours: Callable[[str], bool]
    marks: frozenset[str] = frozenset()

    def find_foreign(self, folder: Path) -> list[str]:
        """Return the names that we have not written: all of them where the mark of the folder is missing."""
        files = {entry.name: entry.is_file(follow_symlinks=False) for entry in os.scandir(folder)}
        known = not self.marks or any(files.get(mark) for mark in self.marks)
        return [name for name, is_file in files.items() if not (known and is_file and self.ours(name))]


# Models and checkpoints: learners keep what they need in files of these kinds, beside the one that says what it is.
MODEL = OwnFolder(
    ours=lambda name: name.endswith((".json", ".parquet", ".arrow", ".safetensors", ".npy")),
    marks=frozenset({"model.json", "progress.json"}),
)


def check_output_folder(path: Path, *, overwrite: bool = False, replaces: FolderKind = MODEL) -> None:
    """Refuse what `write_folder_beside` would refuse, before the work whose result goes there."""
    with suppress(_OnlyTried), write_folder_beside(path, overwrite=overwrite, replaces=replaces):
        raise _OnlyTried


class _OnlyTried(Exception):
    """Ends a writing that was only tried."""


@contextmanager
def write_folder_beside(path: Path, *, overwrite: bool = False, replaces: FolderKind = MODEL) -> Iterator[Path]:
    """Give a temporary folder beside `path`, and rename it to `path` if the block ends well.

    An existing folder that is not empty is only replaced with `overwrite`, and only if it is of the kind that
    `replaces` describes and holds nothing else: a user's other files are never removed. Nor is a plain file replaced.
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
            # The block may have taken hours, in which something was put there.
            _refuse_foreign_folder(path, place, overwrite=overwrite, replaces=replaces)
            _move_folder(temporary, place, path, overwrite=overwrite)
            flush_to_disk(place.parent)


def _refuse_foreign_folder(path: Path, place: Path, *, overwrite: bool, replaces: FolderKind) -> None:
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise WriteError(f"{path}: there is a file of that name. Choose another place, or remove it.")
    if os.listdir(place) and not overwrite:
        raise _make_exists_error(path)
    # What a killed run left inside, beside a file that was being written there, is ours.
    foreign = sorted(name for name in replaces.find_foreign(place) if not name.endswith(SUFFIX))
    if foreign:
        shown = ", ".join(map(repr, foreign[:5])) + (", ..." if len(foreign) > 5 else "")
        raise WriteError(
            f"{path}: holds more than what would be written, and is not replaced: {shown}. "
            "Choose another place, or move these away."
        )


def _make_exists_error(path: Path) -> OutputExists:
    return OutputExists(f"{path}: already exists. Choose another place, or pass overwrite=True (--overwrite).")


def _move_folder(temporary: Path, place: Path, path: Path, *, overwrite: bool) -> None:
    """Put `new` in the place of what is there: in one step, or else with what was there under `old` for a moment.

    Without `overwrite`, the system itself sees to it that only an empty folder is replaced, whoever else writes there.
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
        with suppress(FileNotFoundError):  # moved away by another process: then its place is free for a moment
            os.rename(place, temporary / OLD)
            try:
                os.rename(temporary / NEW, place)
            except OSError as error:
                if error.errno not in TAKEN:
                    raise  # and `old` is put back
                shutil.rmtree(temporary / OLD, ignore_errors=True)  # replaced by what another process has put there
            else:
                return
    raise OSError(errno.EBUSY, "other processes write to it all the time")


def exchange_paths(one: Path, other: Path) -> bool:
    """Exchange two files or folders of one file system; False where that can't be done, and nothing has changed."""
    call = _find_system_call()
    return call is not None and call(os.fsencode(one), os.fsencode(other)) == 0


@cache
def _find_system_call() -> Any:
    """Return what takes two paths and exchanges them, None on systems without it."""
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "linux":
            rename = library.renameat2
            return lambda one, other: rename(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
        if sys.platform == "darwin":
            rename = library.renamex_np
            return lambda one, other: rename(one, other, RENAME_SWAP)
    except (OSError, AttributeError, TypeError):  # an old C library; Windows has no such library at all
        pass
    return None
