"""Two paths change places in one step, where the system can do that: then nobody ever sees neither of them."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

RENAME_EXCHANGE = 2  # of Linux
RENAME_SWAP = 2  # of macOS
AT_FDCWD = -100


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
