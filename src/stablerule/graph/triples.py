"""Triples: facts as integer rows, and fast sorting of rows by packing three ids into one integer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stablerule.errors import InputError

Ids: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
Column: TypeAlias = NDArray[np.integer[Any]]
OPTIONAL_COLUMNS = ("weight", "source", "time")


@dataclass(frozen=True, eq=False)
class Triples:
    """Rows of (head, relation, tail) ids, with optional columns.

    Rows keep their order and their duplicates; a `Graph` is the set of them. A writable array is copied, a read-only
    one is shared.

    rows: (n, 3) int32; weight: (n,) float64; source: (n,) int32, an id of `Vocabulary.sources`;
    time: (n,) int64 for numbers such as years, or datetime64 for dates.

    >>> triples = Triples(np.array([[0, 0, 1], [1, 0, 2], [0, 0, 1]]))
    >>> len(triples), len(triples.distinct()), triples.heads
    (3, 2, array([0, 1, 0], dtype=int32))
    """

    rows: Ids
    weight: NDArray[np.float64] | None = None
    source: Ids | None = None
    time: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        given = np.asarray(self.rows)
        if given.size == 0 and given.ndim == 1:
            given = np.empty((0, 3), np.int32)  # np.array([]) has another shape
        if given.ndim != 2 or given.shape[1] != 3:
            raise InputError(f"Triples must be an array of shape (n, 3): head, relation, tail; got {given.shape}.")
        rows = _copy_triple_array(given, _convert_triple_ids(given, "Triples"))
        object.__setattr__(self, "rows", rows)
        for name, convert in (
            ("weight", _convert_fact_weights),
            ("source", _convert_triple_ids),
            ("time", _convert_fact_times),
        ):
            if getattr(self, name) is None:
                continue
            column = np.asarray(getattr(self, name))
            if column.shape != (len(rows),):
                raise InputError(f"Column {name!r} must have one value per triple ({len(rows):,}), got {column.shape}.")
            object.__setattr__(self, name, _copy_triple_array(column, convert(column, f"Column {name!r}")))

    @classmethod
    def empty(cls) -> Triples:
        """Return no facts."""
        return cls(np.empty((0, 3), np.int32))

    @classmethod
    def concat(cls, *parts: Triples) -> Triples:
        """Join several; an optional column is kept if every non-empty part has it."""
        parts = tuple(p for p in parts if len(p)) or (cls.empty(),)
        columns = {}
        for name in OPTIONAL_COLUMNS:
            values = [getattr(p, name) for p in parts]
            if all(v is not None for v in values):
                columns[name] = read_only(np.concatenate(values))
        return cls(read_only(np.concatenate([p.rows for p in parts])), **columns)

    @property
    def heads(self) -> Ids:
        """The ids of the heads (n,)."""
        return self.rows[:, 0]

    @property
    def relations(self) -> Ids:
        """The ids of the relations (n,)."""
        return self.rows[:, 1]

    @property
    def tails(self) -> Ids:
        """The ids of the tails (n,)."""
        return self.rows[:, 2]

    def take(self, which: NDArray[Any]) -> Triples:
        """Return the rows at these positions, or where this mask is true."""
        columns = {n: read_only(c[which]) for n in OPTIONAL_COLUMNS if (c := getattr(self, n)) is not None}
        return Triples(read_only(self.rows[which]), **columns)

    def distinct(self) -> Triples:
        """Return the facts without repetitions, in the order of their first rows."""
        first = sort_distinct_triples(self.heads, self.relations, self.tails).first
        return self if len(first) == len(self) else self.take(np.sort(first))

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Triples):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and all(
            _compare_triple_columns(getattr(self, n), getattr(other, n)) for n in OPTIONAL_COLUMNS
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, and hashing arrays is slow


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, so that it can be shared without a copy; nobody else may have a writable view of it."""
    array.flags.writeable = False
    return array


def _copy_triple_array(given: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only array, copied if the caller could still change it."""
    array = np.ascontiguousarray(wanted)
    if array.flags.writeable and np.may_share_memory(array, given):
        array = array.copy()
    return read_only(array)


def _convert_triple_ids(given: NDArray[Any], what: str) -> Ids:
    if given.dtype.kind not in "iu" and given.size:
        raise InputError(f"{what} must be whole numbers (ids), got {given.dtype}.")
    bounds = np.iinfo(np.int32)
    if not np.can_cast(given.dtype, np.int32) and given.size and (given.min() < bounds.min or given.max() > bounds.max):
        bad = given.max() if given.max() > bounds.max else given.min()
        raise InputError(f"{what} must be ids of at most {bounds.max:,}, got {int(bad):,}.")
    return given.astype(np.int32, copy=False)


def _convert_fact_weights(given: NDArray[Any], what: str) -> NDArray[np.float64]:
    if given.dtype.kind not in "fiu" and given.size:
        raise InputError(f"{what} must be numbers, got {given.dtype}.")
    return given.astype(np.float64, copy=False)


def _convert_fact_times(given: NDArray[Any], what: str) -> NDArray[Any]:
    if given.dtype.kind == "M":
        return given
    if given.dtype.kind not in "iu" and given.size:
        raise InputError(f"{what} must be whole numbers or dates, got {given.dtype}.")
    return given.astype(np.int64, copy=False)


def _compare_triple_columns(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b))


@dataclass(frozen=True)
class TriplePacking:
    """The number of bits of each of three packed columns; `fits` is False if 63 are not enough."""

    bits: tuple[int, int, int]

    @classmethod
    def of(cls, *sizes: int) -> TriplePacking:
        """Return a packing for ids below three sizes."""
        a, b, c = (max(1, int(size - 1).bit_length()) for size in sizes)
        return cls((a, b, c))

    @property
    def fits(self) -> bool:
        """Whether a packed row is a positive 64-bit integer."""
        return sum(self.bits) <= 63

    def pack(self, a: Column, b: Column, c: Column) -> NDArray[np.int64]:
        """Return one key for each row, which sorts like the rows."""
        keys = a.astype(np.int64)
        keys <<= self.bits[1]
        keys |= b
        keys <<= self.bits[2]
        keys |= c
        return keys

    def unpack(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], ...]:
        """Return the three columns of keys."""
        _, b, c = self.bits
        return (
            (keys >> (b + c)).astype(np.int32),
            ((keys >> c) & ((1 << b) - 1)).astype(np.int32),
            (keys & ((1 << c) - 1)).astype(np.int32),
        )


@dataclass(frozen=True)
class SortedTriples:
    """The order of rows: `order` sorts them (stable), `new` marks the first of equal rows in that order."""

    order: NDArray[np.int64]
    new: NDArray[np.bool_]

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The position of the first occurrence of each distinct row, in sorted order."""
        return self.order[self.new]


def sort_distinct_triples(a: Column, b: Column, c: Column) -> SortedTriples:
    """Return the order of rows by (a, b, c), and where a new row begins."""
    packing = TriplePacking.of(*(int(col.max(initial=0)) + 1 for col in (a, b, c)))
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
    return SortedTriples(order, np.concatenate([np.ones(min(len(order), 1), bool), changed]))


def sort_triples(
    a: Column, b: Column, c: Column, sizes: tuple[int, int, int], *, distinct: bool = False
) -> tuple[NDArray[np.int32], ...]:
    """Sort rows by (a, b, c), optionally without repetitions; sizes are upper bounds of the ids.

    >>> columns = np.array([1, 0, 1]), np.array([5, 6, 5]), np.array([2, 2, 2])
    >>> [column.tolist() for column in sort_triples(*columns, (2, 7, 3), distinct=True)]
    [[0, 1], [6, 5], [2, 2]]
    """
    packing = TriplePacking.of(*sizes)
    if not packing.fits:
        found = sort_distinct_triples(a, b, c)
        order = found.first if distinct else found.order
        return tuple(col[order].astype(np.int32) for col in (a, b, c))
    keys = packing.pack(a, b, c)
    keys.sort()
    if distinct and len(keys):
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return packing.unpack(keys)
