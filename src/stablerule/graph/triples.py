"""Facts as integer rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stablerule.errors import InputError
from stablerule.graph.packing import sort_distinct_triples

Ids: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
OPTIONAL_COLUMNS = ("weight", "source", "time")


@dataclass(frozen=True, eq=False)
class Triples:
    """Rows of (head, relation, tail) ids, with optional columns beside them.

    Rows keep their order and their duplicates: they are what was read. A `Graph` is the set of them. An array that the
    caller could still write to is copied; a read-only one is shared.

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
            given = np.empty((0, 3), np.int32)  # what np.array([]) of no rows gives
        if given.ndim != 2 or given.shape[1] != 3:
            raise InputError(f"Triples must be an array of shape (n, 3): head, relation, tail; got {given.shape}.")
        rows = _own_triple_array(given, _convert_triple_ids(given, "Triples"))
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
            object.__setattr__(self, name, _own_triple_array(column, convert(column, f"Column {name!r}")))

    @classmethod
    def empty(cls) -> Triples:
        """No facts."""
        return cls(np.empty((0, 3), np.int32))

    @classmethod
    def concat(cls, *parts: Triples) -> Triples:
        """Join several; an optional column stays where every non-empty part has it."""
        parts = tuple(p for p in parts if len(p)) or (cls.empty(),)
        columns = {}
        for name in OPTIONAL_COLUMNS:
            values = [getattr(p, name) for p in parts]
            if all(v is not None for v in values):
                columns[name] = read_only(np.concatenate(values))
        return cls(read_only(np.concatenate([p.rows for p in parts])), **columns)

    @property
    def heads(self) -> Ids:
        """(n,)."""
        return self.rows[:, 0]

    @property
    def relations(self) -> Ids:
        """(n,)."""
        return self.rows[:, 1]

    @property
    def tails(self) -> Ids:
        """(n,)."""
        return self.rows[:, 2]

    def take(self, which: NDArray[Any]) -> Triples:
        """Return the rows at these positions, or where this mask is true."""
        columns = {n: read_only(c[which]) for n in OPTIONAL_COLUMNS if (c := getattr(self, n)) is not None}
        return Triples(read_only(self.rows[which]), **columns)

    def distinct(self) -> Triples:
        """Leave out repeated facts; the first of each stays, in the order of the rows."""
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

    __hash__ = None  # type: ignore[assignment]  # compared by content, and arrays have no cheap hash


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Close an array that nobody else has for writing, so that it can be shared from now on without a copy."""
    array.flags.writeable = False
    return array


def _own_triple_array(given: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only array that its former owner can't change behind our back."""
    array = np.ascontiguousarray(wanted)
    if array.flags.writeable and np.may_share_memory(array, given):
        array = array.copy()
    return read_only(array)


def _convert_triple_ids(given: NDArray[Any], what: str) -> Ids:
    if given.dtype.kind not in "iu" and given.size:
        raise InputError(f"{what} must hold whole numbers (ids), got {given.dtype}.")
    bounds = np.iinfo(np.int32)
    if not np.can_cast(given.dtype, np.int32) and given.size and (given.min() < bounds.min or given.max() > bounds.max):
        bad = given.max() if given.max() > bounds.max else given.min()
        raise InputError(f"{what} must hold ids of at most {bounds.max:,}, got {int(bad):,}.")
    return given.astype(np.int32, copy=False)


def _convert_fact_weights(given: NDArray[Any], what: str) -> NDArray[np.float64]:
    if given.dtype.kind not in "fiu" and given.size:
        raise InputError(f"{what} must hold numbers, got {given.dtype}.")
    return given.astype(np.float64, copy=False)


def _convert_fact_times(given: NDArray[Any], what: str) -> NDArray[Any]:
    if given.dtype.kind == "M":
        return given
    if given.dtype.kind not in "iu" and given.size:
        raise InputError(f"{what} must hold whole numbers or dates, got {given.dtype}.")
    return given.astype(np.int64, copy=False)


def _compare_triple_columns(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b))
