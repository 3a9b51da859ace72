"""Compile kernels, all typed, cached on disk and free of the interpreter's lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from stablerule.progress import COMPILING_NOW

if TYPE_CHECKING:
    from collections.abc import Callable

# Passed to kernels in place of an id. A literal -1 would be a type of its own and compile the kernel once more.
NOTHING = cast("int", np.int64(-1))
ZERO = NOTHING + 1  # in place of a computed number


class _Compiling(event.Listener):
    """Notices kernels that are compiled, which takes seconds, but not those loaded from the cache."""

    def on_start(self, event: object) -> None:
        COMPILING_NOW.begin()

    def on_end(self, event: object) -> None:
        COMPILING_NOW.end()


event.register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; later processes load it from the cache."""
    return _compile_kernel(function)


def compiled_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call; without a wrapper for Python this takes a fifth less time."""
    return _compile_kernel(function, no_cpython_wrapper=True)


def compiled_leaf(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that returns numbers and makes no arrays, without reference counting.

    A kernel counts references to all arrays of a tuple whenever it accesses the tuple. Before optimization this is most
    of its code, and afterwards none of it, so leaves compile in half the time.
    """
    return _compile_kernel(function, _nrt=False)


def compiled_leaf_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a leaf that only kernels call."""
    return _compile_kernel(function, _nrt=False, no_cpython_wrapper=True)


def _compile_kernel(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    # `_nrt` is set for all, because otherwise functions that a leaf calls would be compiled as leaves.
    whole = {"cache": True, "nogil": True, "_nrt": True, **options}
    return cast("Callable[P, R]", numba.njit(**whole)(function))  # type: ignore[call-overload]
