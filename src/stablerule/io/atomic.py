"""Files and folders written whole or not at all; and no folder is replaced that is not one of ours."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from stablerule.errors import WriteError
from stablerule.io.files import shorten_file_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a full disk or a lost mount looks like, from Python and from polars.
NOT_WRITTEN = (OSError, pl.exceptions.ComputeError)


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder, and rename it to `path` if the block ends well.

    After an error or an interrupt nothing is left over, and what stood at `path` still stands.
    """
    if os.path.isdir(path):
        raise WriteError(f"{path}: can't be written: there is a folder of that name.")
    handle, temporary = make_temporary_beside(path, tempfile.mkstemp)
    os.close(handle)
    try:
        yield temporary
        # mkstemp makes private files; a result should have the rights of any other new file.
        os.chmod(temporary, 0o666 & ~read_umask())
        os.replace(temporary, path)
    except NOT_WRITTEN as error:
        raise make_write_error(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def make_temporary_beside(path: Path, make: Callable[..., tuple[int, str]]) -> tuple[int, Path]:
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
        raise make_write_error(path, error) from error
    return handle, Path(name)


def make_write_error(path: Path, error: Exception) -> WriteError:
    """Word what the system says when it does not let us write."""
    return WriteError(f"{path}: can't be written: {shorten_file_error(error)}.")


def read_umask() -> int:
    """Return the rights that new files don't get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@dataclass(frozen=True)
class OwnFolder:
    """How to know a folder that this package wrote, from the names in it.

    marks: one of these must be there; empty where any of our files will do. ours: which names we may have written.
    """

    ours: Callable[[str], bool]
    marks: frozenset[str] = frozenset()

    def foreign(self, names: list[str]) -> list[str]:
        """Return the names that we have not written: all of them where the mark of the folder is missing."""
        if self.marks and not self.marks & set(names):
            return names
        return [name for name in names if not self.ours(name)]


# Models and checkpoints: learners keep what they need in files of these kinds, beside the one that says what it is.
MODEL = OwnFolder(
    ours=lambda name: name.endswith((".json", ".parquet", ".arrow", ".safetensors", ".npy")),
    marks=frozenset({"model.json", "progress.json"}),
)


def check_output_folder(path: Path, *, overwrite: bool = False, replaces: OwnFolder = MODEL) -> None:
    """Refuse what `folder_beside` would refuse, before the work whose result goes there."""
    place = Path(os.path.realpath(path))
    _refuse_foreign_folder(path, place, overwrite=overwrite, replaces=replaces)
    if not place.parent.is_dir():
        raise WriteError(f"{path}: the folder {str(path.parent)!r} does not exist. Make it first.")
    _, tried = make_temporary_beside(place, lambda **kw: (0, tempfile.mkdtemp(**kw)))
    tried.rmdir()


@contextmanager
def folder_beside(path: Path, *, overwrite: bool = False, replaces: OwnFolder = MODEL) -> Iterator[Path]:
    """Give a temporary folder beside `path`, and rename it to `path` if the block ends well.

    An existing folder that is not empty is only replaced with `overwrite`, and only if it is of the kind that
    `replaces` describes and holds nothing else: a user's other files are never removed. Nor is a plain file replaced.
    """
    try:
        place = Path(os.path.realpath(path))  # a link stays a link: what it leads to is replaced
    except (OSError, ValueError) as error:
        raise make_write_error(path, error) from error
    _refuse_foreign_folder(path, place, overwrite=overwrite, replaces=replaces)
    _, temporary = make_temporary_beside(place, lambda **kw: (0, tempfile.mkdtemp(**kw)))
    try:
        yield temporary
        os.chmod(temporary, 0o777 & ~read_umask())
        # The block may have taken hours, in which something was put there.
        _refuse_foreign_folder(path, place, overwrite=overwrite, replaces=replaces)
        _swap_output_folder(temporary, place)
    except NOT_WRITTEN as error:
        raise make_write_error(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_foreign_folder(path: Path, place: Path, *, overwrite: bool, replaces: OwnFolder) -> None:
    try:
        entries = {entry.name: entry.is_file(follow_symlinks=False) for entry in os.scandir(place)}
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        if not os.path.lexists(place):
            return
        raise WriteError(f"{path}: there is a file of that name. Choose another place, or remove it.") from error
    except (OSError, ValueError) as error:
        raise make_write_error(path, error) from error
    if entries and not overwrite:
        raise WriteError(f"{path}: already exists. Choose another place, or pass overwrite=True (--overwrite).")
    foreign = [n for n in entries if not entries[n]]
    foreign += replaces.foreign([n for n in entries if entries[n]]) if entries else []
    if foreign:
        shown = ", ".join(map(repr, sorted(foreign)[:5])) + (", ..." if len(foreign) > 5 else "")
        raise WriteError(
            f"{path}: holds more than what would be written, and is not replaced: {shown}. "
            "Choose another place, or move these away."
        )


def _swap_output_folder(new: Path, path: Path) -> None:
    """Put a folder in the place of another; the old one is only removed when the new one stands."""
    if not path.exists():
        new.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=".old", dir=path.parent))
    path.rename(old / "was")
    try:
        new.rename(path)
    except OSError:
        (old / "was").rename(path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
