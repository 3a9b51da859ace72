"""One way to compile a kernel, so that all are typed, cached on disk and free of the interpreter's lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile at the first call for the types it gets; later processes take it from the cache."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))
