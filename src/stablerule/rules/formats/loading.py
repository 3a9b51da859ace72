"""Helpers for all rule formats: numbered lines, collecting rules into a set, and notes on skipped rules."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

from stablerule.errors import ReadError, spell_count
from stablerule.rules.ruleset import RuleSet
from stablerule.rules.scored import KEY, make_rule_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

Parts: TypeAlias = tuple[str, tuple[str, ...], str | None, str | None]
"""Head relation, body, constant, body constant: one rule, before it is put into a table."""


class LoadedRules(NamedTuple):
    """Rules from a file, and notes on rules that were skipped."""

    rules: RuleSet
    notes: tuple[str, ...]


class Format(NamedTuple):
    """A rule format: its name, its suffixes, a reader and a writer."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[bytes, Path], LoadedRules]
    write: Callable[[RuleSet, IO[bytes]], tuple[str, ...]]


def decode_rule_file(data: bytes, path: Path) -> str:
    """Return the text of a file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"byte {data[error.start]:#04x} is not UTF-8. Save the file as UTF-8.", path=path, line=line
        ) from error
    if not text.strip():
        raise ReadError("no rules: the file is empty.", path=path)
    return text


def read_rule_file_lines(data: bytes, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines with their numbers. Only LF and CRLF end a line: names may contain other breaks."""
    for number, line in enumerate(decode_rule_file(data, path).split("\n"), start=1):
        text = line.removesuffix("\r")
        if text.strip():
            yield number, text


def read_rule_number(text: str, what: str, path: Path, line: int, *, least: float = -math.inf) -> float:
    """Read a number of a line."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= least):
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise ReadError(f"expected a number{bound} for {what}, found {shorten_rule_text(text)}.", path=path, line=line)
    return number


def shorten_rule_text(text: str) -> str:
    """Quote a piece of a file for a message, shortened."""
    return repr(text if len(text) <= 100 else text[:97] + "...")


@dataclass
class RuleCollector:
    """Collects the rules of a file into a set."""

    path: Path
    numbers: tuple[str, ...]
    rows: list[tuple[Parts, Sequence[float | None]]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, found: Parts | str, numbers: Sequence[float | None]) -> None:
        """Add a rule with its measures, or count the kind of one that can't be expressed."""
        if isinstance(found, str):
            self.left_out[found] += 1
        else:
            self.rows.append((found, numbers))

    def finish(self) -> LoadedRules:
        """Return the set, with notes on skipped rules."""
        columns: dict[str, list[object]] = {}
        for place, name in enumerate(KEY):
            columns[name] = [parts[place] for parts, _ in self.rows]
        for place, name in enumerate(self.numbers):
            columns[name] = [numbers[place] for _, numbers in self.rows]
        return load_rule_columns(columns, self.path, (*self.notes, *note_left_out_rules(self.left_out)))


def load_rule_columns(columns: Mapping[str, Sequence[object]], path: Path, notes: tuple[str, ...] = ()) -> LoadedRules:
    """Make a set from lists by column; see `load_rule_frame`."""
    try:
        frame = make_rule_frame(columns)
    except ReadError as error:
        raise ReadError(error.problem, path=path) from error
    return load_rule_frame(frame, path, notes)


def load_rule_frame(frame: pl.DataFrame, path: Path, notes: tuple[str, ...] = ()) -> LoadedRules:
    """Make a set from the table of a file; repeated rules are skipped, with a note."""
    try:
        rules = RuleSet.from_frame(frame, repeated="first")
    except ReadError as error:
        raise ReadError(error.problem, path=path) from error
    again = len(frame) - len(rules)
    if again:
        notes = (*notes, f"skipped {spell_count(again, 'repeated rule')}; the first one counts.")
    return LoadedRules(rules, notes)


def note_left_out_rules(kinds: Counter[str]) -> tuple[str, ...]:
    """Return a note for each kind of skipped rule; in a kind, `*` marks the plural s.

    >>> note_left_out_rules(Counter({"acyclic rule* of length 2": 1200, "rule* without a body": 1}))
    ("skipped 1,200 acyclic rules of length 2, which can't be expressed.", \
"skipped 1 rule without a body, which can't be expressed.")
    """
    return tuple(
        f"skipped {count:,} {kind.replace('*', '' if count == 1 else 's', 1)}, which can't be expressed."
        for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    )
