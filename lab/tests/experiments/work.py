"""Work that tests do in a process of its own, which imports it by name."""

from __future__ import annotations

import os
import signal
import time
import warnings
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule_lab.experiments.cells import Cell


def tell(cell: Cell, cache: Path) -> dict[str, Any]:
    return {"process": os.getpid(), "cell": cell, "cache": str(cache)}


def refuse(cell: Cell, cache: Path) -> dict[str, Any]:
    raise InputError("no such graph")


def crash(cell: Cell, cache: Path) -> dict[str, Any]:
    warnings.warn("something harmless", stacklevel=1)
    os._exit(3)


def be_killed(cell: Cell, cache: Path) -> dict[str, Any]:
    warnings.warn("something harmless", stacklevel=1)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def wait(cell: Cell, cache: Path) -> dict[str, Any]:
    (cache / "child").write_text(str(os.getpid()))
    time.sleep(60)
    return {}
