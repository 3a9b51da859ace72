"""Work in threads: a few at a time, and for so long that somebody still waits for it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from stablerule.errors import StableRuleError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
THREADS, SECONDS, WAITING = 4, 30.0, 100


class Busy(StableRuleError):
    """Nobody is free to answer, or it took too long."""


class Workers:
    """A few threads that answer requests, one each.

    What takes too long is given up by whoever waits; its thread still ends it, and is free again only then.
    """

    def __init__(self, threads: int = THREADS, seconds: float = SECONDS, waiting: int = WAITING) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="answers")
        self._seconds, self._room, self._counting = seconds, waiting + threads, threading.Lock()

    async def run(self, work: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
        """Do the work in a thread, and wait for it."""
        with self._counting:
            if self._room <= 0:
                raise Busy("Too many requests at once. Try again in a moment.")
            self._room -= 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._work, partial(work, *args, **options))
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            future.add_done_callback(_forget_result)
            raise Busy(
                f"This took more than {self._seconds:g} seconds. Ask for less, such as one relation or fewer answers."
            ) from None

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, work: Callable[[], R]) -> R:
        try:
            return work()
        finally:
            with self._counting:
                self._room += 1


def _forget_result(future: asyncio.Future[R]) -> None:
    if not future.cancelled():
        future.exception()
