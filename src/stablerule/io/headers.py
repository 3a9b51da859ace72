"""Whether the first line of a table is a header, and which column is which: by its words, and by the other rows.

A first line is a header if its words say so, or if it does not look like a fact: its relation occurs once, and its
entities nowhere else. A first line that shares a cell with another row is a fact, unless it is head, relation, tail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stablerule.io.options import EXTRA, TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What people call the columns: pairs for head and tail, and words for the relation.
ENDS = (
    ("head", "tail"),
    ("subject", "object"),
    ("subj", "obj"),
    ("source", "target"),
    ("src", "dst"),
    ("src", "tgt"),
    ("source", "destination"),
    ("from", "to"),
    ("start", "end"),
    ("entity1", "entity2"),
    ("node1", "node2"),
    ("arg1", "arg2"),
    ("h", "t"),
    ("s", "o"),
)
RELATIONS = (
    *("relation", "predicate", "relationship", "property", "rel", "pred", "edge", "type", "label", "edge_type"),
    *("relation_type", "relationship_type", "edge_label", "relation_name", "link", "verb", "attribute", "r", "p"),
)
# What may stand around such a word: `subject_id`, `:START_ID`, `fromNodeName`.
AROUND = ("id", "ids", "name", "iri", "uri", "node", "entity", "key", "code")
SAMPLE_ROWS = 20_000  # that a first line is held against
ENOUGH_ROWS = 20  # beside a first line whose words say nothing


@dataclass(frozen=True)
class Header:
    """What a first line says if it is a header: the places of the columns, and how many of the three it names."""

    places: dict[str, int]
    named: int


def read_header_words(first: Sequence[str]) -> Header:
    """Find head, relation and tail by the words of a header; what they do not name is taken in order.

    >>> read_header_words(["id", "Target ID", "type", "sourceId"]).places
    {'head': 3, 'relation': 2, 'tail': 1}
    >>> read_header_words(["package", "relation_type", "value"])
    Header(places={'head': 0, 'relation': 1, 'tail': 2}, named=1)
    """
    words = [_simplify_header_word(cell) for cell in first]
    found: dict[str, int] = {}
    for ends in ENDS:
        head, tail = (_find_header_word(words, end) for end in ends)
        if head is not None and tail is not None:
            found = {"head": head, "tail": tail}
            break
    for relation in RELATIONS:
        place = _find_header_word(words, relation)
        if place is not None and place not in found.values():
            found["relation"] = place
            break
    left = iter(i for i in range(len(first)) if i not in found.values())
    places = {role: found[role] if role in found else next(left, 0) for role in TRIPLE}
    if len(found) == len(TRIPLE):
        there = (extra for extra in EXTRA if words.count(extra) == 1 and words.index(extra) not in found.values())
        places |= {extra: words.index(extra) for extra in there}
    return Header(places, len(found))


def judge_header_line(
    first: Sequence[str], header: Header, rows: Iterable[Sequence[str]], *, csv: bool
) -> Literal["header", "fact", "unsure"]:
    """Tell whether the first line is a header, from the rows that follow it; see the top of this file.

    header: its places are those of the columns. csv: the columns stand apart by commas or the like; in such files a
    header is usual, whatever its words are.

    >>> header = read_header_words(["source", "type", "target"])
    >>> judge_header_line(["source", "type", "target"], header, [["a", "r", "b"]], csv=False)
    'header'
    >>> judge_header_line(["source", "type", "target"], header, [["a", "type", "b"]], csv=False)
    'fact'
    """
    words = [_simplify_header_word(cell) for cell in first]
    if set(TRIPLE) <= set(words) or (len(first) != len(TRIPLE) and header.named == len(TRIPLE)):
        return "header"
    head, relation, tail = (first[header.places[role]] for role in TRIPLE)
    counts: dict[str, int] = {}
    for row in rows:
        if len(row) != len(first) or list(row) == list(first):
            continue
        there = [row[header.places[role]] for role in TRIPLE]
        if there[1] == relation or head in (there[0], there[2]) or tail in (there[0], there[2]):
            return "fact"
        counts[there[1]] = counts.get(there[1], 0) + 1
    if header.named == len(TRIPLE) or (header.named > 1 and counts):
        return "header"
    if not csv or not counts:
        return "fact"
    alone = sum(counts.values()) >= ENOUGH_ROWS and min(counts.values()) > 1
    return "header" if alone else "unsure"


def _simplify_header_word(cell: str) -> str:
    """Bring `:START_ID`, `startId` and `Start ID` to one form.

    >>> [_simplify_header_word(cell) for cell in (":START_ID", "startId", "Start ID ", "Entity 1")]
    ['start_id', 'start_id', 'start_id', 'entity1']
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cell.strip())
    word = re.sub(r"[\W_]+", "_", apart).strip("_").casefold()
    return re.sub(r"_(\d)", r"\1", word)


def _find_header_word(words: Sequence[str], wanted: str) -> int | None:
    """Find the column with a word, or the only one with it and `id`, `name` or the like."""
    if words.count(wanted) == 1:
        return words.index(wanted)
    cores = ["_".join(part for part in word.split("_") if part not in AROUND) for word in words]
    return cores.index(wanted) if cores.count(wanted) == 1 and not words.count(wanted) else None
