"""The queries to compare: with known or unseen names, with or without answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError, ReadError
from stablerule.graph import INVERSE, invert_relation_name
from stablerule.io.files import open_bytes
from stablerule.io.text import read_text_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples, Vocabulary
    from stablerule.graph.triples import Ids

UNKNOWN, COMMENT = "?", "#"
NOT_SEEN = -1
EXPECTED = "Expected head, relation and tail, tab-separated, with ? for the unknown end (or the answer as the tail)."


@dataclass(frozen=True, eq=False, repr=False)
class QuerySet:
    """n queries (entity, relation or inverse, ?) by id; -1 is a name that is not in the graph, or no answer.

    unseen_entities, unseen_relations: the names that are not in the graph, one for each query. unseen_answers: how many
    answers are not in the graph.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("trip", train=[("Paris", "capital_of", "France")]).graph
    >>> found = QuerySet.from_names([("Paris", "capital_of", "?"), ("?", "capital_of", "France")], graph)
    >>> found, found.relations.tolist()
    (QuerySet(2 queries, 0 with answers), [0, 1])
    """

    entities: Ids
    relations: Ids
    answers: Ids
    unseen_entities: tuple[str, ...] = ()
    unseen_relations: tuple[str, ...] = ()
    unseen_answers: int = 0

    @classmethod
    def from_facts(cls, facts: Triples, n_relations: int) -> QuerySet:
        """Make a query for the tail of each fact, then one for the head of each; with answers."""
        inverse = facts.relations + np.int32(n_relations)
        return cls(
            np.concatenate([facts.heads, facts.tails]),
            np.concatenate([facts.relations, inverse]),
            np.concatenate([facts.tails, facts.heads]),
        )

    @classmethod
    def from_names(cls, rows: Iterable[tuple[str, str, str]], graph: Graph) -> QuerySet:
        """Make queries from (head, relation, "?"), ("?", relation, tail), or three names, the tail as the answer."""
        taken = [_check_query_row(row) for row in rows]
        if not taken:
            raise InputError("There are no queries.")
        words, unseen = graph.vocabulary, _UnseenNames()
        ids = [_encode_query(row, words, unseen) for row in taken]
        columns = np.array(ids, np.int32).T
        names = tuple(unseen.entities), tuple(unseen.relations)
        return cls(columns[0], columns[1], columns[2], *names, unseen.answers)

    @cached_property
    def in_graph(self) -> NDArray[np.int64]:
        """The rows with entity and relation in the graph."""
        return np.flatnonzero((self.entities != NOT_SEEN) & (self.relations != NOT_SEEN))

    @property
    def labelled(self) -> NDArray[np.int64]:
        """The rows with an answer that is in the graph."""
        return np.flatnonzero(self.answers != NOT_SEEN)

    def without_answers(self) -> QuerySet:
        """Return the queries without their answers."""
        return replace(self, answers=np.full(len(self), NOT_SEEN, np.int32), unseen_answers=0)

    def take(self, rows: NDArray[Any]) -> QuerySet:
        """Return some rows, without the lists of unseen names."""
        return QuerySet(self.entities[rows], self.relations[rows], self.answers[rows])

    def __len__(self) -> int:
        return len(self.entities)

    def __repr__(self) -> str:
        return f"QuerySet({len(self):,} queries, {len(self.labelled):,} with answers)"


def read_query_set(path: str | PathLike[str], graph: Graph) -> QuerySet:
    """Read a query file. Names that are not in the graph are counted; they are not an error.

    Blank lines are skipped, and so are comments: lines that start with #, unless the first column is a known entity.
    """
    with open_bytes(Path(path)) as stream:
        return read_query_lines(stream, graph, path)


def read_query_lines(stream: IO[bytes], graph: Graph, path: str | PathLike[str]) -> QuerySet:
    """Read queries from a stream; path: what errors call it."""
    path, rows = Path(path), []
    for line, text in read_text_lines(stream, path):
        fields = text.split("\t")
        is_comment = text.startswith(COMMENT) and fields[0] not in graph.vocabulary.entities
        if not text.strip() or is_comment:
            continue
        try:
            rows.append(_check_query_row(tuple(fields)))
        except InputError as error:
            raise ReadError(f"found {text!r}. {EXPECTED}", path=path, line=line) from error
    if not rows:
        raise ReadError(f"no queries. {EXPECTED}", path=path)
    return QuerySet.from_names(rows, graph)


class _UnseenNames:
    def __init__(self) -> None:
        self.entities: list[str] = []
        self.relations: list[str] = []
        self.answers = 0


def _check_query_row(row: tuple[str, ...]) -> tuple[str, str, str]:
    is_query = (
        isinstance(row, tuple | list)
        and len(row) == 3
        and all(isinstance(name, str) and name for name in row)
        and row[1] != UNKNOWN
        and not (row[0] == UNKNOWN and row[2] == UNKNOWN)
    )
    if not is_query:
        raise InputError(f"A query must be (head, relation, tail) with '?' for the unknown end, got {row!r}.")
    head, relation, tail = row
    return head, relation, tail


def _encode_query(row: tuple[str, str, str], words: Vocabulary, unseen: _UnseenNames) -> tuple[int, int, int]:
    head, relation, tail = row
    entity, asked, answer = (
        (tail, invert_relation_name(relation), UNKNOWN) if head == UNKNOWN else (head, relation, tail)
    )
    known_entity, known_relation = entity in words.entities, asked.removeprefix(INVERSE) in words.relations
    if not known_entity:
        unseen.entities.append(entity)
    if not known_relation:
        unseen.relations.append(asked.removeprefix(INVERSE))
    known_answer = answer in words.entities
    if not known_answer and answer != UNKNOWN:
        unseen.answers += 1
    return (
        words.entity_id(entity) if known_entity else NOT_SEEN,
        words.relation_id(asked) if known_relation else NOT_SEEN,
        words.entity_id(answer) if answer != UNKNOWN and known_answer else NOT_SEEN,
    )
