"""The only place where names become ids and back."""

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
    """Spell the inverse by name.

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
                f"Relation {clash[0]!r} begins with {INVERSE!r}, which spells an inverse here. Rename it in the data."
            )

    def entity_id(self, name: str) -> int:
        """Return the id of an entity; an unknown one is an error that says the closest names."""
        found = self.entities.id_of(_check_vocabulary_name(name, "an entity"))
        if found is None:
            some = spell_names(self.entities.table.head(3), begin="Some are")
            near = self.entities.closest(name) or f"{some} Python lists all: list(dataset.vocabulary.entities)."
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
        """Return the name of a relation id; those from R on are inverses."""
        count = len(self.relations)
        at = self.known_relation(relation)
        return self.relations[at] if at < count else INVERSE + self.relations[at - count]

    @property
    def all_relations(self) -> pl.Series:
        """Names of all relation ids in their order: the relations, then their inverses."""
        plain = self.relations.table
        return pl.concat([plain, INVERSE + plain])

    def known_entity(self, entity: int) -> int:
        """Return the id itself, or raise where there is no such entity: numpy would take -1 for the last one."""
        if not 0 <= entity < len(self.entities):
            raise InputError(f"An entity id must be in 0..{len(self.entities) - 1}, got {entity}.")
        return entity

    def known_relation(self, relation: int) -> int:
        """Do the same for a relation id; inverses have ids up to 2R."""
        if not 0 <= relation < 2 * len(self.relations):
            raise InputError(
                f"A relation id must be in 0..{2 * len(self.relations) - 1} (inverses included), got {relation}."
            )
        return relation

    def decode(self, triples: Triples) -> pl.DataFrame:
        """Triples -> a frame of names with the columns head, relation, tail, and the optional ones."""
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
        """Turn a frame of names into Triples; an unknown name is an error that says the closest ones.

        Optional columns are not looked at: this is for questions, not for facts.
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
        """Begin a hash with the names of entities and relations."""
        digest = hashlib.sha256()
        for names in (self.entities, self.relations):
            # Lengths first, so that no two lists of names run together into the same bytes.
            digest.update(names.table.str.len_bytes().to_numpy().astype("<u4").tobytes())
            digest.update("".join(names).encode())
        return digest


def _check_vocabulary_name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise InputError(f"The name of {what} must be text, got {name!r}.")
    return name


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
        self._entities, self._relations, self._sources = _NameCodes(), _NameCodes(), _NameCodes()
        self._checked = 0

    def add(self, frame: pl.DataFrame) -> Triples:
        """Intern a frame with the columns head, relation, tail and perhaps weight, source, time."""
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
        """Look at the names that are new only: there are few relations, and many rows."""
        new = self._relations.names().slice(self._checked)
        self._checked += len(new)
        clash = new.filter(new.str.starts_with(INVERSE))
        if len(clash):
            raise BadRow(
                f"relation {clash[0]!r} begins with {INVERSE!r}, which spells an inverse here; rename it in the data",
                _find_first_bad_row(relations == clash[0]),
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
        return Vocabulary(*names), Renumbering(*map(_invert_name_order, orders))


class _NameCodes:
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


def _read_fact_column(frame: pl.DataFrame, column: str) -> NDArray[Any] | None:
    return frame[column].to_numpy() if column in frame.columns else None


def _find_first_bad_row(mask: pl.Series) -> int:
    return int(mask.arg_true()[0])


def _invert_name_order(order: NDArray[Any]) -> Ids:
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse
