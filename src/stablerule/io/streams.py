"""Outputs that are not regular files: devices, pipes, and descriptors of this process, such as /dev/stdout."""

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

MOST_LINKS = 40  # the limit of Linux


def is_stream(path: Path) -> bool:
    """Return whether a path is a stream that is written to, rather than a file that is replaced.

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
    """Return the descriptor number of a path such as /dev/stdout, /dev/fd/63 or a link to one, None for other paths.

    Opening such a path would truncate the file that the shell redirected it to, and renaming would replace it.
    """
    folders = {"/dev/fd", f"/proc/{os.getpid()}/fd"}
    try:
        for _ in range(MOST_LINKS):
            if path.name.isascii() and path.name.isdecimal() and os.path.realpath(path.parent) in folders:
                return int(path.name)
            path = path.parent / os.readlink(path)
    except (OSError, ValueError):
        pass  # not a link, or missing
    return None


@contextmanager
def spool_stream(path: Path) -> Iterator[Path]:
    """Yield a temporary file whose content is copied to the stream at the end; after an error nothing is copied."""
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
    """Check, before starting, that a stream can be written; a pipe is not opened, because its reader would notice."""
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
