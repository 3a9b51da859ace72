"""Facts as integer rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stablerule.errors import InputError
from stablerule.graph.packing import sort_distinct

Ids: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
OPTIONAL_COLUMNS = ("weight", "source", "time")


@dataclass(frozen=True, eq=False)
class Triples:
    """Rows of (head, relation, tail) ids, with optional columns beside them.

    Rows keep their order and their duplicates: they are what was read. A `Graph` is the set of them.

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
        rows = np.ascontiguousarray(self.rows, dtype=np.int32).reshape(-1, 3)
        object.__setattr__(self, "rows", _frozen(rows))
        for name in OPTIONAL_COLUMNS:
            column = getattr(self, name)
            if column is None:
                continue
            if column.shape != (len(rows),):
                raise InputError(f"Column {name!r} must have one value per triple ({len(rows):,}), got {column.shape}.")
            object.__setattr__(self, name, _frozen(np.ascontiguousarray(column)))

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
                columns[name] = np.concatenate(values)
        return cls(np.concatenate([p.rows for p in parts]), **columns)

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
        columns = {n: c[which] for n in OPTIONAL_COLUMNS if (c := getattr(self, n)) is not None}
        return Triples(self.rows[which], **columns)

    def distinct(self) -> Triples:
        """Leave out repeated facts; the first of each stays, in the order of the rows."""
        first = sort_distinct(self.heads, self.relations, self.tails).first
        return self if len(first) == len(self) else self.take(np.sort(first))

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Triples):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and all(
            _same(getattr(self, n), getattr(other, n)) for n in OPTIONAL_COLUMNS
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, and arrays have no cheap hash


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b))
