"""Names: a sorted table of distinct names, where the position of a name is its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stablerule.errors import spell_closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike

    from stablerule.graph.triples import Ids

# Comparing a mistyped name with more candidates takes noticeable time.
MOST_CANDIDATES = 2_000


class Names:
    """Distinct names in sorted order.

    Ids do not depend on the order of rows or the format of a file. So the same facts get the same ids, and the same
    seed gives the same result. Names are sorted by Unicode code point.

    >>> names = Names(["Paris", "Berlin", "Paris"])
    >>> len(names), names.id_of("Paris"), names[0]
    (2, 1, 'Berlin')
    >>> names.ids_of(["Paris", "Rome"])
    array([ 1, -1], dtype=int32)
    """

    __slots__ = ("_table",)

    def __init__(self, names: Iterable[str] | pl.Series = ()) -> None:
        series = names if isinstance(names, pl.Series) else pl.Series(list(names), dtype=pl.String)
        self._table = series.alias("name").unique().sort()

    @classmethod
    def from_sorted(cls, table: pl.Series) -> Names:
        """Make names from a table that is already sorted and distinct, without copying it."""
        names = cls.__new__(cls)
        names._table = table.alias("name")
        return names

    @property
    def table(self) -> pl.Series:
        """All names in the order of their ids."""
        return self._table

    def id_of(self, name: str) -> int | None:
        """Return the id of one name, None if it is unknown."""
        try:
            at = int(self._table.search_sorted(name))
        except UnicodeEncodeError:  # half a surrogate pair is not valid text, so it can't be a name
            return None
        return at if at < len(self) and self._table[at] == name else None

    def ids_of(self, names: Iterable[str] | pl.Series) -> Ids:
        """Return the id of each name, -1 if it is unknown."""
        series = names if isinstance(names, pl.Series) else pl.Series(list(names), dtype=pl.String)
        found = (
            series.alias("name")
            .to_frame()
            .join(self._table.to_frame().with_row_index("id"), on="name", how="left", maintain_order="left")
        )
        return found["id"].cast(pl.Int32).fill_null(-1).to_numpy()

    def names_of(self, ids: ArrayLike) -> pl.Series:
        """Return the names of many ids."""
        return self._table.gather(pl.Series(np.asarray(ids, dtype=np.int64)))

    def closest(self, name: str) -> str:
        """Spell the names nearest to a mistyped one, as the end of an error message."""
        name = name.encode(errors="replace").decode()
        table = self._table
        if len(table) > MOST_CANDIDATES:
            table = self._share_most_trigrams(name)
        return spell_closest(name, table)

    def _share_most_trigrams(self, name: str) -> pl.Series:
        folded = name.casefold()
        trigrams = {folded[i : i + 3] for i in range(max(1, len(folded) - 2))}
        column = pl.col("name").str.to_lowercase()
        shared = pl.sum_horizontal(column.str.contains(t, literal=True).cast(pl.Int32) for t in sorted(trigrams))
        near = self._table.to_frame().lazy()
        near = near.filter(column.str.contains_any(sorted(trigrams))).with_columns(
            shared=shared, length=(column.str.len_chars().cast(pl.Int64) - len(folded)).abs()
        )
        order = near.sort("shared", "length", descending=[True, False], maintain_order=True)
        return order.head(MOST_CANDIDATES // 10).collect()["name"]

    def __getitem__(self, index: int) -> str:
        name: str = self._table[int(index)]
        return name

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.id_of(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self._table.equals(other._table)

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else None))

    def __repr__(self) -> str:
        return f"Names({len(self):,})"
