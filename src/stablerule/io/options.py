"""ReadOptions: the options for reading a file."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from stablerule.errors import OptionError

Column: TypeAlias = str | int
Columns: TypeAlias = Sequence[Column] | Mapping[str, Column]
TRIPLE = ("head", "relation", "tail")
EXTRA = ("weight", "source", "time")
# Python has them, but they are not for text files.
NOT_FOR_FILES = ("idna", "punycode", "undefined")


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_dataset` for reading one file.

    columns: the columns of head, relation and tail, by name or by number (from 0): `("s", "p", "o")`, `(2, 0, 1)`, or
        `{"head": "s", "relation": "p", "tail": "o", "weight": "certainty"}`. A list of tuples has numbers only.
    header: True or False; None detects whether the first line has names such as head, relation, tail.
    separator: one character; None is a comma for .csv and a tab otherwise.
    comment: lines that start with it are skipped; None reads them as facts.
    encoding: of text files.
    literals: "drop" or "keep" the facts of RDF files whose tail is a literal.
    prefixes: for RDF names, in addition to those that the file declares.
    base: an IRI that is removed at the start of RDF names, and resolves relative IRIs in Turtle.
    """

    columns: Columns | None = None
    header: bool | None = None
    separator: str | None = None
    comment: str | None = "#"
    encoding: str = "utf-8"
    literals: Literal["drop", "keep"] = "drop"
    prefixes: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None

    def __post_init__(self) -> None:
        if self.header not in (None, True, False):
            raise _make_read_option_error("header", "True, False or None", self.header)
        _check_separator(self.separator, self.comment)
        if self.literals not in ("drop", "keep"):
            raise _make_read_option_error("literals", "'drop' or 'keep'", self.literals)
        _check_encoding(self.encoding)
        if self.base is not None and not (isinstance(self.base, str) and ":" in self.base):
            raise _make_read_option_error("base", "an IRI such as 'https://example.org/'", self.base)
        if self.columns is not None:
            _check_column_option(self.columns, self.wanted or {})
            if self.header is False and any(isinstance(c, str) for c in (self.wanted or {}).values()):
                columns, header = spell_read_option("columns"), spell_read_option("header", False)
                raise OptionError(
                    f"{columns} has column names, but {header} means that there are none. "
                    "Number the columns from 0, or leave one of the two out."
                )

    @property
    def wanted(self) -> dict[str, Column] | None:
        """The columns asked for, by role; None if the file decides."""
        if isinstance(self.columns, Mapping):
            return dict(self.columns)
        if isinstance(self.columns, str) or not isinstance(self.columns, Sequence):
            return None
        return dict(zip((*TRIPLE, *EXTRA), self.columns, strict=False))


def spell_read_option(option: str, value: object = None) -> str:
    r"""Spell an option for Python and for the command line, for messages of both.

    >>> print(spell_read_option("encoding", "latin-1"))
    encoding='latin-1' (--encoding latin-1)
    >>> print(spell_read_option("separator", "\t"), spell_read_option("columns"), sep="; ")
    separator='\t' (--separator tab); columns= (--columns)
    """
    match option, value:
        case "literals", _:
            flag = "--keep-literals"
        case "split", tuple(shares):
            flag = f"--shares {','.join(map(str, shares))}"
        case "header", False:
            flag = "--no-header"
        case "header", _:
            flag = "--header"
        case "comment", None:
            return "comment=None (--comment none)"
        case _, None:
            return f"{option}= (--{option})"
        case _, "\t":
            flag = f"--{option} tab"
        case _, str(text):
            flag = f"--{option} {text if text.isalnum() or len(text) > 1 else repr(text)}"
        case _:
            flag = f"--{option} {value}"
    return f"{option}={value!r} ({flag})"


def _make_read_option_error(option: str, expected: str, found: object) -> OptionError:
    return OptionError(f"Argument {option!r} must be {expected}, got {found!r}.")


def _check_separator(separator: object, comment: object) -> None:
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1 or separator in '\r\n"'):
        raise _make_read_option_error("separator", "one character", separator)
    if comment is not None and (not isinstance(comment, str) or not comment or set(comment) & {"\r", "\n"}):
        raise _make_read_option_error("comment", "the start of a comment line, or None", comment)
    if isinstance(separator, str) and isinstance(comment, str) and comment.startswith(separator):
        raise OptionError(
            f"{spell_read_option('separator', separator)} is also the start of a comment. "
            f"Pass {spell_read_option('comment')}, or another start of comments."
        )


def _check_encoding(encoding: object) -> None:
    try:
        if not isinstance(encoding, str) or codecs.lookup(encoding).name in NOT_FOR_FILES:
            raise LookupError
        "a".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError) as error:
        raise _make_read_option_error("encoding", "a known encoding", encoding) from error


def _check_column_option(columns: object, wanted: dict[str, Column]) -> None:
    unknown = set(wanted) - {*TRIPLE, *EXTRA}
    too_many = isinstance(columns, Sequence) and len(columns) > len(TRIPLE) + len(EXTRA)
    if isinstance(columns, str) or too_many or unknown or not set(TRIPLE) <= set(wanted):
        raise OptionError(
            f"Argument 'columns' must name or number the columns of head, relation and tail "
            f"(and optionally weight, source, time), got {columns!r}."
        )
    kinds = {type(c) for c in wanted.values()}
    if len(kinds) > 1 or not kinds <= {str, int}:
        raise OptionError(f"Argument 'columns' must use names or numbers, not both, got {columns!r}.")
    if len(set(wanted.values())) < len(wanted):
        raise OptionError(f"Argument 'columns' must not name a column twice, got {columns!r}.")
    if any(isinstance(c, int) and c < 0 for c in wanted.values()):
        raise OptionError(f"Argument 'columns' counts columns from 0, got {columns!r}.")
