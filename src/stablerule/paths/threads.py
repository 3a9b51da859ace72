"""How many cores may be used."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Count the cores that this process may run on, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
