"""Outputs that are no files: devices, pipes, and the descriptors of this process, such as /dev/stdout."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_LINKS = 40  # as many as Linux follows


def is_stream(path: Path) -> bool:
    """Tell whether what is written to `path` goes through, and nothing there is ever replaced.

    >>> is_stream(Path("/dev/stdout")), is_stream(Path("no such file"))
    (True, False)
    """
    if find_descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def find_descriptor(path: Path) -> int | None:
    """Return the number of the descriptor that a path such as /dev/stdout, /dev/fd/63 or a link to it names.

    To open it by its path would begin the file anew that the shell has led it to, and rename would lose it.
    """
    folders = {"/dev/fd", f"/proc/{os.getpid()}/fd"}
    try:
        for _ in range(MOST_LINKS):
            if path.name.isascii() and path.name.isdecimal() and os.path.realpath(path.parent) in folders:
                return int(path.name)
            path = path.parent / os.readlink(path)
    except (OSError, ValueError):
        pass  # no link, or not there
    return None


@contextmanager
def spool_stream(path: Path) -> Iterator[Path]:
    """Give a temporary file whose content is copied to the stream at the end: all of it, or nothing after an error."""
    _refuse_stream(path)
    handle, name = tempfile.mkstemp(prefix="stablerule-")
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb") as spooled, open(_open_descriptor(path), "wb") as out:
            shutil.copyfileobj(spooled, out)
    finally:
        with suppress(OSError):
            os.unlink(name)


def _refuse_stream(path: Path) -> None:
    """Refuse before the work what would fail after it; a pipe is not opened to try, because its reader would notice."""
    descriptor = find_descriptor(path)
    if descriptor is not None:
        os.fstat(descriptor)
    elif stat.S_ISBLK(path.stat().st_mode):
        raise OSError("it is a disk")
    elif not os.access(path, os.W_OK):
        raise PermissionError("no permission to write to it")


def _open_descriptor(path: Path) -> int:
    descriptor = find_descriptor(path)
    if descriptor is None:
        return os.open(path, os.O_WRONLY)
    for printed in (sys.stdout, sys.stderr):  # what was printed before comes first
        printed.flush()
    return os.dup(descriptor)
