"""Read queries from a file, and write the table of their answers."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablerule.errors import ReadError, UnknownName, WriteError
from stablerule.graph import invert_relation_name
from stablerule.io.files import open_bytes
from stablerule.io.text import read_text_lines
from stablerule.reasoning.calibration import Calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stablerule.graph import Vocabulary
    from stablerule.reasoning import Answer
    from stablerule.reasoning.model_on_graph import ModelOnGraph

UNKNOWN, COMMENT = "?", "#"
STDIN = Path("-")
COLUMNS = ("head", "relation", "tail", "rank", "score", "known", "asked", "probability")
NO_CELL = "\t\r\n"  # not allowed in a cell of a tab-separated table


@dataclass(frozen=True)
class Query:
    """One line of a query file; `?` marks the end that is asked for, unless the line has the answer there.

    >>> Query("?", "capital_of", "France").asked_as
    ('France', '~capital_of')
    """

    head: str
    relation: str
    tail: str

    @property
    def asks_for_head(self) -> bool:
        """Whether the query asks for the head; otherwise it asks for the tail."""
        return self.head == UNKNOWN

    @property
    def asked_as(self) -> tuple[str, str]:
        """The query as (entity, relation), with the inverse relation if the head is asked for."""
        return (self.tail, invert_relation_name(self.relation)) if self.asks_for_head else (self.head, self.relation)

    def complete_with(self, answer: str) -> tuple[str, str, str]:
        """Return the triple with an answer filled in."""
        return (answer, self.relation, self.tail) if self.asks_for_head else (self.head, self.relation, answer)


def read_queries(path: Path, words: Vocabulary) -> Iterator[Query]:
    """Read queries line by line; the path `-` is standard input.

    A line that is not a query is an error. Blank lines are skipped, and so are comments: lines that start with #,
    unless the first column is a known entity.
    """
    where, count = "standard input" if path == STDIN else path, 0
    with nullcontext(sys.stdin.buffer) if path == STDIN else open_bytes(path) as stream:
        for line, text in read_text_lines(stream, where):
            is_comment = text.startswith(COMMENT) and text.split("\t")[0] not in words.entities
            if text.strip() and not is_comment:
                count += 1
                yield _parse_query_line(text, words, where, line)
    if not count:
        raise ReadError(f"no queries. {_describe_query_line()}", path=where)


def answer_queries_of_file(
    opened: ModelOnGraph, queries: Iterator[Query], top: int, *, new: bool, candidates: Any
) -> Iterator[tuple[Query, list[Answer]]]:
    """Yield each query with its best answers, one at a time; `new` skips known answers."""
    waiting: deque[Query] = deque()

    def asked() -> Iterator[tuple[str, str]]:
        for query in queries:
            waiting.append(query)
            yield query.asked_as

    # One more, because the answer in the file may not be among the known facts.
    found = opened.model.answer(
        asked(),
        top + new,
        graph=opened.graph,
        known=opened.known if new else (),
        candidates=candidates,
    )
    for answers in found:
        query = waiting.popleft()
        kept = [one for one in answers if not (new and query.tail == one.entity and not query.asks_for_head)]
        yield query, kept[:top]


def write_answers(
    opened: ModelOnGraph, found: Iterator[tuple[Query, list[Answer]]], write: Callable[[str], object]
) -> tuple[int, int]:
    """Write a line for each answer; return the number of queries, and of those without an answer.

    The last column, the probability, is only written if the model is calibrated for the graph.
    """
    words, asked, without = opened.graph.vocabulary, 0, 0
    is_calibrated = isinstance(opened.model.calibration_for(opened.graph), Calibration)
    columns = COLUMNS if is_calibrated else COLUMNS[:-1]
    for query, answers in found:
        if not asked:  # not earlier: an error in the first line should leave no output
            write("\t".join(columns) + "\n")
        asked += 1
        without += not answers
        entity, relation = query.asked_as
        known = set(opened.known.tails(words.entity_id(entity), words.relation_id(relation)).tolist())
        end = "head" if query.asks_for_head else "tail"
        for rank, answer in enumerate(answers, 1):
            is_known = words.entity_id(answer.entity) in known or answer.entity == query.tail != UNKNOWN
            likely = "" if answer.probability is None or is_known else repr(answer.probability)
            cells = [str(rank), repr(answer.score), "yes" if is_known else "no", end, likely]
            row = map(_spell_answer_cell, (*query.complete_with(answer.entity), *cells))
            write("\t".join([*row][: len(columns)]) + "\n")
    return asked, without


def _spell_answer_cell(text: str) -> str:
    if any(sign in text for sign in NO_CELL):
        raise WriteError(
            f"The name {text!r} contains a tab or a line break, which TSV does not allow. Rename it in the data."
        )
    return text


def _parse_query_line(text: str, words: Vocabulary, path: str | Path, line: int) -> Query:
    fields = text.split("\t")
    if len(fields) != 3:
        raise ReadError(f"found {len(fields)} column(s). {_describe_query_line()}", path=path, line=line)
    query = Query(*fields)
    if "" in fields or query.relation == UNKNOWN or (query.head == UNKNOWN and query.tail == UNKNOWN):
        raise ReadError(f"found {text!r}. {_describe_query_line()}", path=path, line=line)
    try:
        words.relation_id(query.relation)
        for name in (query.head, query.tail):
            if name != UNKNOWN:
                words.entity_id(name)
    except UnknownName as error:
        raise ReadError(str(error), path=path, line=line) from error
    return query


def _describe_query_line() -> str:
    return "Expected head, relation and tail, tab-separated, with ? as the head or the tail."
