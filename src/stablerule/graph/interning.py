"""Names become ids while a file is still being read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError
from stablerule.graph.names import Names
from stablerule.graph.triples import Triples, read_only
from stablerule.graph.vocabulary import INVERSE, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids

    Rename = Callable[[pl.Series], pl.Series]


@dataclass(frozen=True)
class Renumbering:
    """From the ids given while reading to those of the finished vocabulary."""

    entities: Ids
    relations: Ids
    sources: Ids

    def apply(self, triples: Triples) -> Triples:
        """Give the rows their final ids."""
        rows = np.empty_like(triples.rows)
        rows[:, 0] = self.entities[triples.heads]
        rows[:, 1] = self.relations[triples.relations]
        rows[:, 2] = self.entities[triples.tails]
        source = None if triples.source is None else self.sources[triples.source]
        return Triples(read_only(rows), weight=triples.weight, source=source, time=triples.time)


class BadRow(InputError):
    """A row that can't be a fact. Whoever read the row knows where it stands: `problem` and `row` say what to tell."""

    def __init__(self, problem: str, row: int) -> None:
        self.problem, self.row = problem, row
        super().__init__(f"{problem} (row {row:,}).")


class Interner:
    """Gives each new name the next id; at the end the names are sorted and the ids renumbered.

    The strings of a block are dropped as soon as they have ids, so the memory needed is that of the distinct
    names and twelve bytes a triple, not that of the text.

    >>> interner = Interner()
    >>> triples = interner.add(pl.DataFrame({"head": ["b"], "relation": ["r"], "tail": ["a"]}))
    >>> vocabulary, renumbering = interner.finish()
    >>> list(vocabulary.entities), renumbering.apply(triples).rows.tolist()
    (['a', 'b'], [[1, 0, 0]])
    """

    def __init__(self) -> None:
        self._entities, self._relations, self._sources = _Codes(), _Codes(), _Codes()
        self._checked = 0

    def add(self, frame: pl.DataFrame) -> Triples:
        """Intern a frame with the columns head, relation, tail and perhaps weight, source, time."""
        for name in ("head", "relation", "tail"):
            if frame[name].null_count() or (frame[name] == "").any():
                empty = frame[name].fill_null("") == ""
                raise BadRow(f"Column {name!r} has an empty name; every triple needs three names", _first(empty))
        rows = np.empty((len(frame), 3), np.int32)
        rows[:, 0] = self._entities.add(frame["head"])
        rows[:, 1] = self._relations.add(frame["relation"])
        self._refuse_inverses(frame["relation"])
        rows[:, 2] = self._entities.add(frame["tail"])
        return Triples(
            read_only(rows),
            weight=_numbers(frame, "weight"),
            source=self._sources.add(frame["source"]) if "source" in frame.columns else None,
            time=_numbers(frame, "time"),
        )

    def _refuse_inverses(self, relations: pl.Series) -> None:
        """Look at the names that are new only: there are few relations, and many rows."""
        new = self._relations.names().slice(self._checked)
        self._checked += len(new)
        clash = new.filter(new.str.starts_with(INVERSE))
        if len(clash):
            raise BadRow(
                f"relation {clash[0]!r} begins with {INVERSE!r}, which spells an inverse here; rename it in the data",
                _first(relations == clash[0]),
            )

    def names(self) -> pl.Series:
        """All names seen so far: of entities, relations and sources."""
        return pl.concat(codes.names().alias("name") for codes in (self._entities, self._relations, self._sources))

    def finish(self, rename: Rename | None = None) -> tuple[Vocabulary, Renumbering]:
        """Sort the names, after `rename` if given (distinct names must stay distinct)."""
        tables = [codes.names() for codes in (self._entities, self._relations, self._sources)]
        if rename:
            tables = [rename(table) for table in tables]
        orders = [table.arg_sort().to_numpy() for table in tables]
        names = [
            Names.from_sorted(table.gather(pl.Series(order)).rechunk())
            for table, order in zip(tables, orders, strict=True)
        ]
        return Vocabulary(*names), Renumbering(*map(_inverse, orders))


class _Codes:
    """Codes for strings, in the order in which they were first seen.

    Polars hashes the strings and keeps the distinct ones (a `Categories`): six times less work on twenty million
    triples than joining each block with the names known so far. Polars forgets the mapping when no data uses it.
    """

    def __init__(self) -> None:
        self._categories = pl.Categories.random()
        self._dtype = pl.Categorical(self._categories)
        self._keeps_the_mapping = pl.Series([], dtype=self._dtype)

    def add(self, names: pl.Series) -> Ids:
        return names.cast(self._dtype).to_physical().to_numpy().astype(np.int32)

    def names(self) -> pl.Series:
        return self._categories.to_series()


def _numbers(frame: pl.DataFrame, column: str) -> NDArray[Any] | None:
    return frame[column].to_numpy() if column in frame.columns else None


def _first(mask: pl.Series) -> int:
    return int(mask.arg_true()[0])


def _inverse(order: NDArray[Any]) -> Ids:
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse
