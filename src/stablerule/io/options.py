"""How a file is to be read, in one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from stablerule.errors import OptionError

Column: TypeAlias = str | int
Columns: TypeAlias = Sequence[Column] | Mapping[str, Column]
TRIPLE = ("head", "relation", "tail")
EXTRA = ("weight", "source", "time")


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_dataset` that say how one file is read.

    columns: where head, relation and tail stand, by name or by number (from 0): `("s", "p", "o")`, `(2, 0, 1)`, or
        `{"head": "s", "relation": "p", "tail": "o", "weight": "certainty"}`.
    header: True or False; None looks whether the first line has names such as head, relation, tail.
    separator: one character; None takes a comma for .csv and a tab otherwise.
    comment: lines that begin with it are left out; None reads them as facts.
    encoding: of text files.
    literals: "drop" or "keep" the facts of RDF files whose tail is a literal.
    prefixes: of RDF names, beside those that the file declares.
    base: an IRI that is left out at the beginning of RDF names.
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
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '\r\n"'):
            raise OptionError(f"Argument 'separator' must be one character, got {self.separator!r}.")
        if self.comment is not None and not self.comment:
            raise OptionError("Argument 'comment' must be the beginning of a comment line, or None, got ''.")
        if self.literals not in ("drop", "keep"):
            raise OptionError(f"Argument 'literals' must be 'drop' or 'keep', got {self.literals!r}.")
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise OptionError(f"Argument 'encoding' must be a known encoding, got {self.encoding!r}.") from error
        if self.columns is not None:
            self._check_columns()

    @property
    def wanted(self) -> dict[str, Column] | None:
        """The asked columns by role, or None where the file decides."""
        if self.columns is None:
            return None
        if isinstance(self.columns, Mapping):
            return dict(self.columns)
        return dict(zip((*TRIPLE, *EXTRA), self.columns, strict=False))

    def _check_columns(self) -> None:
        wanted = self.wanted or {}
        unknown = set(wanted) - {*TRIPLE, *EXTRA}
        if isinstance(self.columns, str) or unknown or not set(TRIPLE) <= set(wanted):
            raise OptionError(
                f"Argument 'columns' must name or number the columns of head, relation and tail "
                f"(and of weight, source, time if they are there), got {self.columns!r}."
            )
        if len(set(wanted.values())) < len(wanted):
            raise OptionError(f"Argument 'columns' must not name a column twice, got {self.columns!r}.")
        if any(isinstance(c, int) and c < 0 for c in wanted.values()):
            raise OptionError(f"Argument 'columns' counts columns from 0, got {self.columns!r}.")
        if len({type(c) for c in wanted.values()}) > 1:
            raise OptionError(f"Argument 'columns' must use names or numbers, not both, got {self.columns!r}.")
