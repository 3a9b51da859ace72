r"""Read and write the readable text format: one rule on each line, followed by its measures, tab-separated.

::

    nationality(X, Y) <- born_in(X, A), city_of(A, Y)<TAB>score=0.91<TAB>support=12

Measures are optional. A line that starts with # is a comment.
"""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING

from stablerule.errors import InputError, ReadError
from stablerule.rules.formats.loading import (
    Format,
    RuleCollector,
    read_rule_file_lines,
    read_rule_number,
    shorten_rule_text,
)
from stablerule.rules.rule import Rule
from stablerule.rules.scored import DROPPED, NUMBERS, spell_rule_number

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.rules.formats.loading import LoadedRules
    from stablerule.rules.ruleset import RuleSet

COMMENT = "#"


def read_rule_lines(data: bytes, path: Path) -> LoadedRules:
    """Read the readable text format."""
    rules = RuleCollector(path, NUMBERS)
    for line, text in read_rule_file_lines(data, path):
        if text.startswith(COMMENT):
            continue
        rule_text, *cells = text.split("\t")
        numbers = dict(_read_rule_number_cell(cell, path, line) for cell in cells if cell.strip())
        rules.add(parse_rule_line(rule_text, path, line), [numbers.get(name) for name in NUMBERS])
    return rules.finish()


def parse_rule_line(text: str, path: Path, line: int) -> tuple[str, tuple[str, ...], str | None, str | None]:
    """Parse one rule; an error has its file and line."""
    try:
        rule = Rule.parse(text)
    except InputError as error:
        raise ReadError(f"not a rule: {error}.", path=path, line=line) from error
    return rule.head_relation, rule.body, *(rule.constants or (None, None))


def _read_rule_number_cell(cell: str, path: Path, line: int) -> tuple[str, float]:
    name, equals, value = cell.strip().partition("=")
    if not equals or name not in (*NUMBERS, *DROPPED):
        expected = f"name=number with one of {', '.join(NUMBERS)}"
        raise ReadError(f"expected {expected} after the rule, found {shorten_rule_text(cell)}.", path=path, line=line)
    return name, read_named_rule_number(name, value, path, line)


def read_named_rule_number(name: str, value: str, path: Path, line: int) -> float:
    """Read a measure of a rule: a score may be any number, the others are at least 0."""
    return read_rule_number(value, name, path, line, least=-math.inf if name == "score" else 0)


def write_rule_lines(rules: RuleSet, stream: IO[bytes]) -> tuple[str, ...]:
    """Write one line for each rule, in the order of the set."""
    if not len(rules):
        stream.write(f"{COMMENT} no rules\n".encode())
    for scored in rules:
        numbers = [f"{name}={spell_rule_number(value)}" for name, value in scored.numbers.items()]
        stream.write("\t".join([str(scored.rule), *numbers]).encode() + b"\n")
    return ()


TEXT = Format("text", (".txt", ".rules"), read_rule_lines, write_rule_lines)
