"""One way to compile a kernel, so that all are typed, cached on disk and free of the interpreter's lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from stablerule.progress import COMPILING_NOW

if TYPE_CHECKING:
    from collections.abc import Callable

# Where a kernel takes an id or nothing. A literal -1 would be a type of its own, for which all is compiled once more.
NOTHING = cast("int", np.int64(-1))
ZERO = NOTHING + 1  # where a kernel takes a number that others compute


class _Compiling(event.Listener):
    """Notices what is compiled, which takes seconds, and not what comes from the cache."""

    def on_start(self, event: object) -> None:
        COMPILING_NOW.begin()

    def on_end(self, event: object) -> None:
        COMPILING_NOW.end()


event.register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile at the first call for the types it gets; later processes take it from the cache."""
    return _compile_kernel(function)


def compiled_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile what only kernels call: without a door for Python that takes a fifth less time."""
    return _compile_kernel(function, no_cpython_wrapper=True)


def compiled_leaf(function: Callable[P, R]) -> Callable[P, R]:
    """Compile what returns numbers, makes no array and keeps none: nothing in it counts references.

    A kernel counts the references to all arrays of a tuple whenever it looks into the tuple. That is most of its code
    before it is optimized, and none of it after, so leaves compile in half the time.
    """
    return _compile_kernel(function, _nrt=False)


def compiled_leaf_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a leaf that only kernels call."""
    return _compile_kernel(function, _nrt=False, no_cpython_wrapper=True)


def _compile_kernel(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    # What a leaf calls would be compiled as a leaf, if it did not say that it is none.
    whole = {"cache": True, "nogil": True, "_nrt": True, **options}
    return cast("Callable[P, R]", numba.njit(**whole)(function))  # type: ignore[call-overload]
