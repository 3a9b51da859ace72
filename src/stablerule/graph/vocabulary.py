"""Vocabulary: the only place where names become ids and back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError, UnknownEntity, UnknownRelation, spell_names
from stablerule.graph.names import Names
from stablerule.graph.triples import Triples, read_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids

    Rename = Callable[[pl.Series], pl.Series]

INVERSE = "~"


def invert_relation_name(relation: str) -> str:
    """Return the name of the inverse of a relation.

    >>> invert_relation_name("capital_of"), invert_relation_name("~capital_of")
    ('~capital_of', 'capital_of')
    """
    return relation.removeprefix(INVERSE) if relation.startswith(INVERSE) else INVERSE + relation


@dataclass(frozen=True)
class Vocabulary:
    """The names of entities, relations and sources.

    With R relations there are 2R relation ids: `~r`, the inverse of `r`, has the id of `r` plus R.

    >>> vocabulary = Vocabulary(Names(["Paris", "France"]), Names(["capital_of"]))
    >>> vocabulary.relation_id("~capital_of"), vocabulary.relation_name(1)
    (1, '~capital_of')
    >>> vocabulary.entity_id("Pariss")
    Traceback (most recent call last):
    ...
    stablerule.errors.UnknownEntity: No entity 'Pariss' among 2 entities. Closest: 'Paris'.
    """

    entities: Names
    relations: Names
    sources: Names = field(default_factory=Names)

    def __post_init__(self) -> None:
        clash = self.relations.table.filter(self.relations.table.str.starts_with(INVERSE))
        if len(clash):
            raise InputError(
                f"Relation {clash[0]!r} starts with {INVERSE!r}, which marks inverses. Rename it in the data."
            )

    def entity_id(self, name: str) -> int:
        """Return the id of an entity; the error for an unknown one lists the closest names."""
        found = self.entities.id_of(_check_vocabulary_name(name, "an entity"))
        if found is None:
            some = spell_names(self.entities.table.head(3), begin="Some are")
            near = self.entities.closest(name) or f"{some} For all, in Python: list(dataset.vocabulary.entities)."
            raise UnknownEntity(f"No entity {name!r} among {len(self.entities):,} entities.{near}")
        return found

    def relation_id(self, name: str) -> int:
        """Return the id of a relation or of an inverse (`~name`); an unknown one is an error."""
        plain = _check_vocabulary_name(name, "a relation").removeprefix(INVERSE)
        found = self.relations.id_of(plain)
        if found is None:
            near = self.relations.closest(plain) or spell_names(self.relations)
            raise UnknownRelation(f"No relation {plain!r} among {len(self.relations):,} relations.{near}")
        return found if plain == name else found + len(self.relations)

    def entity_name(self, entity: int) -> str:
        """Return the name of an entity."""
        return self.entities[self.known_entity(entity)]

    def relation_name(self, relation: int) -> str:
        """Return the name of a relation id; ids from R on are inverses."""
        count = len(self.relations)
        at = self.known_relation(relation)
        return self.relations[at] if at < count else INVERSE + self.relations[at - count]

    @property
    def all_relations(self) -> pl.Series:
        """The names of all relation ids in order: the relations, then their inverses."""
        plain = self.relations.table
        return pl.concat([plain, INVERSE + plain])

    def known_entity(self, entity: int) -> int:
        """Return the id of an entity, or raise an error if there is none: numpy would accept -1."""
        if not 0 <= entity < len(self.entities):
            raise InputError(f"An entity id must be in 0..{len(self.entities) - 1}, got {entity}.")
        return entity

    def known_relation(self, relation: int) -> int:
        """Return the id of a relation or inverse, or raise an error if there is none."""
        if not 0 <= relation < 2 * len(self.relations):
            raise InputError(
                f"A relation id must be in 0..{2 * len(self.relations) - 1} (inverses included), got {relation}."
            )
        return relation

    def decode(self, triples: Triples) -> pl.DataFrame:
        """Return triples as a frame of names, with the columns head, relation, tail and optional ones."""
        columns = {
            "head": self.entities.names_of(triples.heads),
            "relation": self.relations.names_of(triples.relations),
            "tail": self.entities.names_of(triples.tails),
        }
        if triples.weight is not None:
            columns["weight"] = pl.Series(triples.weight)
        if triples.source is not None:
            columns["source"] = self.sources.names_of(triples.source)
        if triples.time is not None:
            columns["time"] = pl.Series(triples.time)
        return pl.DataFrame({name: series.alias(name) for name, series in columns.items()})

    def encode(self, frame: pl.DataFrame) -> Triples:
        """Return a frame of names as Triples; the error for an unknown name lists the closest ones.

        Optional columns are ignored: this is for queries, not for facts.
        """
        heads, tails = (self.entities.ids_of(frame[c]) for c in ("head", "tail"))
        relations = self.relations.ids_of(frame["relation"])
        for ids, column, look_up in (
            (heads, "head", self.entity_id),
            (relations, "relation", self.relation_id),
            (tails, "tail", self.entity_id),
        ):
            if (ids < 0).any():
                look_up(frame[column][int((ids < 0).argmax())])
        return Triples(read_only(np.stack([heads, relations, tails], axis=1)))

    def compute_digest(self) -> hashlib._Hash:
        """Return a hash of the names of entities and relations, to be updated further."""
        digest = hashlib.sha256()
        for names in (self.entities, self.relations):
            # Lengths first, so that different lists of names never give the same bytes.
            digest.update(names.table.str.len_bytes().to_numpy().astype("<u4").tobytes())
            digest.update("".join(names).encode())
        return digest


def _check_vocabulary_name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise InputError(f"The name of {what} must be a string, got {name!r}.")
    return name


@dataclass(frozen=True)
class Renumbering:
    """A mapping from the ids during reading to those of the finished vocabulary."""

    entities: Ids
    relations: Ids
    sources: Ids

    def apply(self, triples: Triples) -> Triples:
        """Return triples with their final ids."""
        rows = np.empty_like(triples.rows)
        rows[:, 0] = self.entities[triples.heads]
        rows[:, 1] = self.relations[triples.relations]
        rows[:, 2] = self.entities[triples.tails]
        source = None if triples.source is None else self.sources[triples.source]
        return Triples(read_only(rows), weight=triples.weight, source=source, time=triples.time)


class BadRow(InputError):
    """A row can't be a fact. The reader of the file adds the place, from `problem` and `row`."""

    def __init__(self, problem: str, row: int) -> None:
        self.problem, self.row = problem, row
        super().__init__(f"{problem} (row {row:,}).")


class Interner:
    """Assign ids to names while reading; at the end, names are sorted and ids renumbered.

    The strings of a block are dropped as soon as they have ids. So the memory needed is that of the distinct names and
    twelve bytes for each triple, not that of the text.

    >>> interner = Interner()
    >>> triples = interner.add(pl.DataFrame({"head": ["b"], "relation": ["r"], "tail": ["a"]}))
    >>> vocabulary, renumbering = interner.finish()
    >>> list(vocabulary.entities), renumbering.apply(triples).rows.tolist()
    (['a', 'b'], [[1, 0, 0]])
    """

    def __init__(self) -> None:
        self._entities, self._relations, self._sources = _NameCodes(), _NameCodes(), _NameCodes()
        self._checked = 0

    def add(self, frame: pl.DataFrame) -> Triples:
        """Return a frame with head, relation, tail, and optionally weight, source, time, as triples of ids."""
        for name in ("head", "relation", "tail"):
            if frame[name].null_count() or (frame[name] == "").any():
                empty = frame[name].fill_null("") == ""
                raise BadRow(
                    f"Column {name!r} has an empty name; every triple needs three names", _find_first_bad_row(empty)
                )
        rows = np.empty((len(frame), 3), np.int32)
        rows[:, 0] = self._entities.add(frame["head"])
        rows[:, 1] = self._relations.add(frame["relation"])
        self._refuse_inverses(frame["relation"])
        rows[:, 2] = self._entities.add(frame["tail"])
        return Triples(
            read_only(rows),
            weight=_read_fact_column(frame, "weight"),
            source=self._sources.add(frame["source"]) if "source" in frame.columns else None,
            time=_read_fact_column(frame, "time"),
        )

    def _refuse_inverses(self, relations: pl.Series) -> None:
        """Raise an error for a relation that starts with `~`; only new names are checked, for speed."""
        new = self._relations.names().slice(self._checked)
        self._checked += len(new)
        clash = new.filter(new.str.starts_with(INVERSE))
        if len(clash):
            raise BadRow(
                f"relation {clash[0]!r} starts with {INVERSE!r}, which marks inverses; rename it in the data",
                _find_first_bad_row(relations == clash[0]),
            )

    def names(self) -> pl.Series:
        """Return all names seen so far: of entities, relations and sources."""
        return pl.concat(codes.names().alias("name") for codes in (self._entities, self._relations, self._sources))

    def finish(self, rename: Rename | None = None) -> tuple[Vocabulary, Renumbering]:
        """Return the vocabulary and the renumbering; `rename`, if given, must keep distinct names distinct."""
        tables = [codes.names() for codes in (self._entities, self._relations, self._sources)]
        if rename:
            tables = [rename(table) for table in tables]
        orders = [table.arg_sort().to_numpy() for table in tables]
        names = [
            Names.from_sorted(table.gather(pl.Series(order)).rechunk())
            for table, order in zip(tables, orders, strict=True)
        ]
        return Vocabulary(*names), Renumbering(*map(_invert_name_order, orders))


class _NameCodes:
    """Codes for strings, in the order of their first occurrence.

    Polars hashes the strings and stores the distinct ones (a `Categories`). On twenty million triples this is six times
    faster than joining each block with the known names. Polars drops the mapping when no data uses it.
    """

    def __init__(self) -> None:
        self._categories = pl.Categories.random()
        self._dtype = pl.Categorical(self._categories)
        self._keeps_the_mapping = pl.Series([], dtype=self._dtype)

    def add(self, names: pl.Series) -> Ids:
        return names.cast(self._dtype).to_physical().to_numpy().astype(np.int32)

    def names(self) -> pl.Series:
        return self._categories.to_series()


def _read_fact_column(frame: pl.DataFrame, column: str) -> NDArray[Any] | None:
    return frame[column].to_numpy() if column in frame.columns else None


def _find_first_bad_row(mask: pl.Series) -> int:
    return int(mask.arg_true()[0])


def _invert_name_order(order: NDArray[Any]) -> Ids:
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse
