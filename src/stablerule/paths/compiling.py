"""One way to compile a kernel, so that all are typed, cached on disk and free of the interpreter's lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# Where a kernel takes an id or nothing. A literal -1 would be a type of its own, for which all is compiled once more.
NOTHING = cast("int", np.int64(-1))

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile at the first call for the types it gets; later processes take it from the cache."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))


def compiled_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile what only kernels call: without a door for Python that takes a fifth less time."""
    options = {"cache": True, "nogil": True, "no_cpython_wrapper": True}  # the last one is not in numba's stubs
    return cast("Callable[P, R]", numba.njit(**options)(function))  # type: ignore[call-overload]
