"""Run a cell in a separate process, so that its time and memory can be measured and a crash ends only the cell.

python -m stablerule_lab.experiments.process MODULE FUNCTION CELL CACHE prints the result of the function as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError, StableRuleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stablerule_lab.experiments.cells import Cell

ERROR = "error of the process"


def run_apart(work: Callable[[Cell, Path], dict[str, Any]], cell: Cell, cache: Path) -> dict[str, Any]:
    """Run a function of a module on a cell in a separate process, and return its result."""
    words = [work.__module__, work.__name__, json.dumps(cell), str(cache)]
    ran = subprocess.run([sys.executable, "-m", __name__, *words], capture_output=True, text=True, check=False)
    if ran.returncode < 0:
        name = signal.Signals(-ran.returncode).name
        memory = " (perhaps out of memory)" if name == "SIGKILL" else ""
        raise InputError(f"The process was ended by {name}{memory}.")
    last = ran.stdout.splitlines()[-1:]
    found: dict[str, Any] = json.loads(last[0]) if last else {}
    if ran.returncode or ERROR in found:
        raise InputError(found.get(ERROR) or f"The process ended with {ran.returncode}. {ran.stderr.strip()}".strip())
    return found


def peak_memory() -> float:
    """Return the peak memory of this process in bytes."""
    import resource  # noqa: PLC0415  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: nobody would read the result."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _work(module: str, function: str, asked: str, folder: str) -> dict[str, Any]:
    try:
        made: dict[str, Any] = getattr(importlib.import_module(module), function)(json.loads(asked), Path(folder))
    except StableRuleError as error:
        return {ERROR: str(error)}
    except Exception as error:  # the parent reports any error
        return {ERROR: "".join(traceback.format_exception_only(error)).strip()}
    made.setdefault("peak_gb", round(peak_memory() / 1e9, 2))  # unless the work measured it itself
    return made


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    print(json.dumps(_work(*sys.argv[1:])))  # noqa: T201  # the parent process reads it
