"""Work in a process of its own, so that its time and its memory are its own, and a crash ends nothing else.

python -m stablerule.experiments.apart MODULE FUNCTION CELL CACHE prints what the function made of a cell.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stablerule.experiments.cells import Cell


def run_apart(work: Callable[[Cell, Path], dict[str, Any]], cell: Cell, cache: Path) -> dict[str, Any]:
    """Do the work for a cell, with a function that stands in a module by its name."""
    words = [work.__module__, work.__name__, json.dumps(cell), str(cache)]
    ran = subprocess.run([sys.executable, "-m", __name__, *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1:] or [f"the process ended with {ran.returncode}"]
        raise InputError(last[0])
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def peak_memory() -> float:
    """The most memory that this process had, in bytes."""
    import resource  # noqa: PLC0415  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


if __name__ == "__main__":
    module, function, asked, folder = sys.argv[1:]
    made = getattr(importlib.import_module(module), function)(json.loads(asked), Path(folder))
    made.setdefault("peak_gb", round(peak_memory() / 1e9, 2))  # unless the work has looked at a better moment
    print(json.dumps(made))  # noqa: T201  # the parent process reads it
