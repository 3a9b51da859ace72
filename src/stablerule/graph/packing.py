"""Rows of three ids packed into one integer, which sorts many times faster than three columns do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Packing:
    """How many bits each of three columns takes; `fits` is False where 63 are not enough."""

    bits: tuple[int, int, int]

    @classmethod
    def of(cls, *sizes: int) -> Packing:
        """Make room for ids below these three sizes."""
        a, b, c = (max(1, int(size - 1).bit_length()) for size in sizes)
        return cls((a, b, c))

    @property
    def fits(self) -> bool:
        """Whether a packed row is a positive 64-bit integer."""
        return sum(self.bits) <= 63

    def pack(self, a: Column, b: Column, c: Column) -> NDArray[np.int64]:
        """Three columns -> one key per row, in the same order as the rows."""
        keys = a.astype(np.int64)
        keys <<= self.bits[1]
        keys |= b
        keys <<= self.bits[2]
        keys |= c
        return keys

    def unpack(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], ...]:
        """Keys -> the three columns."""
        _, b, c = self.bits
        return (
            (keys >> (b + c)).astype(np.int32),
            ((keys >> c) & ((1 << b) - 1)).astype(np.int32),
            (keys & ((1 << c) - 1)).astype(np.int32),
        )


@dataclass(frozen=True)
class Sorted:
    """The order of rows: `order` sorts them (stable), `new` marks the first of each run of equals."""

    order: NDArray[np.int64]
    new: NDArray[np.bool_]

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Position of the first occurrence of each distinct row, by row order of the sorted rows."""
        return self.order[self.new]


def sort_distinct_triples(a: Column, b: Column, c: Column) -> Sorted:
    """Order rows by (a, b, c) and tell where a new one begins."""
    packing = Packing.of(*(int(col.max(initial=0)) + 1 for col in (a, b, c)))
    if packing.fits:
        keys = packing.pack(a, b, c)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        changed = keys[1:] != keys[:-1]
    else:
        order = np.lexsort((c, b, a))
        changed = np.zeros(max(len(order) - 1, 0), bool)
        for column in (a, b, c):
            changed |= column[order][1:] != column[order][:-1]
    return Sorted(order, np.concatenate([np.ones(min(len(order), 1), bool), changed]))


def sort_triples(
    a: Column, b: Column, c: Column, sizes: tuple[int, int, int], *, distinct: bool = False
) -> tuple[NDArray[np.int32], ...]:
    """Sort rows by (a, b, c), and leave out repetitions if asked to; sizes are upper bounds of the ids.

    >>> columns = np.array([1, 0, 1]), np.array([5, 6, 5]), np.array([2, 2, 2])
    >>> [column.tolist() for column in sort_triples(*columns, (2, 7, 3), distinct=True)]
    [[0, 1], [6, 5], [2, 2]]
    """
    packing = Packing.of(*sizes)
    if not packing.fits:
        found = sort_distinct_triples(a, b, c)
        order = found.first if distinct else found.order
        return tuple(col[order].astype(np.int32) for col in (a, b, c))
    keys = packing.pack(a, b, c)
    keys.sort()
    if distinct and len(keys):
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return packing.unpack(keys)
