"""Find the columns of a table, detect a header, and convert weights and times.

A first line is a header if it has known column names, or if it does not look like a fact: its relation and its entities
occur nowhere else. A first line that shares a cell with another row is a fact, unless it is head, relation, tail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from stablerule.errors import ReadError, spell_closest
from stablerule.io.options import EXTRA, TRIPLE, ReadOptions, spell_read_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

Kind: TypeAlias = Literal["header", "fact", "unsure"]  # of a first line; unsure is read as a fact
# Tried in this order; the first that can parse every value is used.
TIME_TYPES: tuple[pl.DataType, ...] = (pl.Int64(), pl.Date(), pl.Datetime("us"))
TIME_KINDS = {"int64": "a whole number", "datetime64[D]": "a date", "datetime64[us]": "a date with the time of day"}
# Usual column names: pairs for head and tail, and names for the relation.
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
# Usual prefixes and suffixes of such names: `subject_id`, `:START_ID`, `fromNodeName`.
AROUND = ("id", "ids", "name", "iri", "uri", "node", "entity", "key", "code")
SAMPLE_ROWS = 20_000  # rows to compare a first line with
ENOUGH_ROWS = 20  # rows needed to decide about a first line without known names


@dataclass(frozen=True)
class RowPlace:
    """The place of a row of a frame in its source: a line of text, a row of a frame or list, or only the file.

    >>> str(RowPlace("facts.tsv", lines=[3, 5]).make_error("expected a tail", 1))
    'facts.tsv, line 5: expected a tail.'
    >>> str(RowPlace("polars frame", first_row=0).make_error("expected a tail", 1))
    'polars frame: expected a tail (row 1).'
    """

    path: str | Path
    lines: Sequence[int] | None = None
    first_line: int | None = None
    first_row: int | None = None

    def make_error(self, problem: str, row: int) -> ReadError:
        """Make an error about one row."""
        if self.lines is not None:
            return ReadError(f"{problem}.", path=self.path, line=self.lines[row])
        if self.first_line is not None:
            return ReadError(f"{problem}.", path=self.path, line=self.first_line + row)
        where = "" if self.first_row is None else f" (row {self.first_row + row:,})"
        return ReadError(f"{problem}{where}.", path=self.path)

    def name_row(self, row: int) -> str:
        """Spell the line or the row, for a message about two of them."""
        if self.lines is not None or self.first_line is not None:
            return f"line {(self.lines[row] if self.lines is not None else (self.first_line or 0) + row):,}"
        return f"row {(self.first_row or 0) + row:,}"


@dataclass(frozen=True)
class Part:
    """Some rows as a frame of names, and their place."""

    frame: pl.DataFrame
    place: RowPlace


@dataclass(frozen=True)
class Layout:
    """The number of columns of a table, the positions of those that are read, and the kind of the first line."""

    width: int
    places: dict[str, int]
    first_line: Kind

    @property
    def has_header(self) -> bool:
        """Whether the first line is a header."""
        return self.first_line == "header"


def find_table_layout(
    first: Sequence[str],
    options: ReadOptions,
    *,
    path: str | Path,
    line: int | None = None,
    rows: Callable[[], Iterable[Sequence[str]]] | None = None,
    csv: bool = False,
) -> Layout:
    """Find the columns of a table by the options and the first line, which in a file may be a header or a fact.

    rows: the rows after the first line of a file; None for frames, which always have column names.

    >>> find_table_layout(["object", "subject", "predicate"], ReadOptions(), path="x.csv", line=1).places
    {'head': 1, 'relation': 2, 'tail': 0}
    """
    wanted, header = options.wanted, read_header_words(first)
    if wanted is not None and not any(isinstance(column, int) for column in wanted.values()):
        return Layout(len(first), _find_named_columns(first, wanted, path, line), "header")
    if wanted is not None:
        header = Header({role: column for role, column in wanted.items() if isinstance(column, int)}, header.named)
        if (last := max(header.places.values())) >= len(first):
            raise ReadError(
                f"no column {last}: there are {len(first)} columns, numbered from 0.",
                path=path,
                line=line,
            )
    elif len(first) != len(TRIPLE) and (header.named < len(TRIPLE) or options.header is False):
        raise ReadError(_describe_wrong_width(first, options), path=path, line=line)
    if options.header is not None or rows is None:
        kind: Kind = "fact" if options.header is False else "header"
    else:
        kind = judge_header_line(first, header, rows(), csv=csv)
    if wanted is None and kind != "header":
        header = Header(dict(zip(TRIPLE, range(3), strict=True)), 0)
    return Layout(len(first), header.places, kind)


def _find_named_columns(
    first: Sequence[str], wanted: dict[str, str | int], path: str | Path, line: int | None
) -> dict[str, int]:
    places = {}
    for role, column in wanted.items():
        if column not in first:
            raise ReadError(
                f"no column {column!r} in the header ({', '.join(map(repr, first))})."
                f"{spell_closest(str(column), first)}",
                path=path,
                line=line,
            )
        if list(first).count(str(column)) > 1:
            raise ReadError(
                f"two columns are named {column!r}. Choose by number, from 0, with {spell_read_option('columns')}.",
                path=path,
                line=line,
            )
        places[role] = list(first).index(str(column))
    return places


def _describe_wrong_width(first: Sequence[str], options: ReadOptions) -> str:
    found = f"expected 3 columns (head, relation, tail), found {len(first)}"
    if len(first) > 3:
        return f"{found}. Choose the columns by name or number with {spell_read_option('columns')}."
    for separator, name in (("\t", "tab"), (",", "comma"), (";", "semicolon"), (" ", "space"), ("|", "bar")):
        if separator != options.separator and any(cell.count(separator) == 2 for cell in first):
            return f"{found}. The separator may be a {name}: pass {spell_read_option('separator', separator)}."
    return f"{found}: {' | '.join(first)[:80]!r}."


def type_optional_columns(frame: pl.DataFrame, place: RowPlace) -> pl.DataFrame:
    """Convert weight and time to their types; an invalid value is an error with its place."""
    if "weight" in frame.columns:
        weight = _parse_weight_column(frame["weight"])
        bad = weight.is_null() | ~weight.is_finite().fill_null(value=False) | (weight < 0).fill_null(value=True)
        if bad.any():
            row = int(bad.arg_true()[0])
            raise place.make_error(
                f"expected a number of at least 0 as weight, found {_show_column_cell(frame['weight'], row)}", row
            )
        frame = frame.with_columns(weight)
    if "time" in frame.columns:
        frame = frame.with_columns(_parse_time_column(frame["time"], place))
    return frame


def _parse_time_column(values: pl.Series, place: RowPlace) -> pl.Series:
    attempts = [_parse_times_as(values, dtype) for dtype in TIME_TYPES]
    for attempt in attempts:
        if not attempt.null_count():
            return attempt
    unread = pl.Series([True] * len(values))
    for attempt in attempts:
        unread &= attempt.is_null()
    if unread.any():
        row = int(unread.arg_true()[0])
        found = _show_column_cell(values, row)
        raise place.make_error(f"expected a whole number or an ISO date such as 2024-05-31 as time, found {found}", row)
    # Each value is valid, but their kinds differ: report the first one, and the first of another kind.
    usual = next(attempt for attempt in attempts if attempt[0] is not None)
    row = int(usual.is_null().arg_true()[0])
    found, before = _show_column_cell(values, row), _show_column_cell(values, 0)
    raise place.make_error(f"all times must be of one kind, found {found} after {before} in {place.name_row(0)}", row)


def _show_column_cell(values: pl.Series, row: int) -> str:
    return repr(values.slice(row, 1).to_list()[0])


def _parse_weight_column(values: pl.Series) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal() or values.dtype == pl.Object:
        return pl.Series(values.name, [None] * len(values), pl.Float64)
    return values.cast(pl.Float64, strict=False)


def _parse_times_as(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Parse values as one type of time; null where this fails."""
    if isinstance(values.dtype, pl.Datetime):
        if values.dtype.time_zone:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        values = values.dt.cast_time_unit("us")
    if values.dtype == dtype:
        return values
    if values.dtype.is_temporal() or values.dtype.is_nested() or values.dtype == pl.Object:
        return pl.Series(values.name, [None] * len(values), dtype)
    text = values.cast(pl.String)
    if dtype == pl.Int64():
        return text.cast(pl.Int64, strict=False)
    if dtype == pl.Date():
        return text.str.to_date("%Y-%m-%d", strict=False)
    text = text.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    return text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)


@dataclass(frozen=True)
class Header:
    """A first line read as a header: the positions of the columns, and how many of the three it names."""

    places: dict[str, int]
    named: int


def read_header_words(first: Sequence[str]) -> Header:
    """Find head, relation and tail by the words of a header; columns that they do not name are assigned in order.

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
    """Decide whether the first line is a header, from the rows after it; see the top of this file.

    header: the positions of the columns. csv: whether the columns are separated by commas or similar signs; such files
    usually have a header, whatever its words are.

    >>> header = read_header_words(["source", "type", "target"])
    >>> judge_header_line(["source", "type", "target"], header, [["a", "r", "b"]], csv=False)
    'header'
    >>> judge_header_line(["source", "type", "target"], header, [["a", "type", "b"]], csv=False)
    'fact'
    """
    words = [_simplify_header_word(cell) for cell in first]
    if set(TRIPLE) <= set(words) or (len(first) != len(TRIPLE) and header.named == len(TRIPLE)):
        return "header"
    named = tuple(header.places[role] for role in TRIPLE)
    readings = {named, (0, 1, 2)} if len(first) == len(TRIPLE) else {named}  # by the words, and as a fact
    counts: dict[str, int] = {}
    for row in rows:
        if len(row) != len(first) or list(row) == list(first):
            continue
        if any(row[r] == first[r] or {first[h], first[t]} & {row[h], row[t]} for h, r, t in readings):
            return "fact"
        relation = row[header.places["relation"]]
        counts[relation] = counts.get(relation, 0) + 1
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
