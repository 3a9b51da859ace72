"""Run work on all cores, so that Ctrl-C can end it."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from threading import Event

T = TypeVar("T")
R = TypeVar("R")
A_MOMENT = 0.1  # seconds


def count_cores() -> int:
    """Return the number of cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def run_in_threads(
    work: Callable[[T], R], parts: Iterable[T], *, threads: int | None = None, stop: Event | None = None
) -> list[R]:
    """Run the work for each part in threads, and return the results in the order of the parts.

    The main thread wakes up regularly, because a signal may reach a thread in compiled code, and the main thread would
    not notice while it waits for a lock. After Ctrl-C or an error no new part starts, and `stop` is set for running
    ones.

    >>> run_in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    with ThreadPoolExecutor(threads or count_cores()) as pool:
        futures = [pool.submit(work, part) for part in parts]
        pending = set(futures)
        try:
            while pending:
                done, pending = wait(pending, timeout=A_MOMENT, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except BaseException:
            if stop:
                stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
