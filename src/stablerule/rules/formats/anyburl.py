"""Read and write AnyBURL's format: body groundings, support, confidence and rule, tab-separated.

::

    310<TAB>287<TAB>0.9258<TAB>speaks(X,Y) <= lives_in(X,A), language_of(Y,A)
    12<TAB>9<TAB>0.75<TAB>speaks(X,french) <= lives_in(X,paris)

AnyBURL's confidence is support / groundings; ours adds 5 to the denominator, so it is computed from the two counts.
Variables are single capital letters. Names are not escaped and may contain any sign, so atoms are found by their
variables. `me_myself_i` means the entity in the other place.
"""

from __future__ import annotations

import re
from functools import partial
from typing import IO, TYPE_CHECKING

from stablerule.errors import ReadError, spell_count
from stablerule.rules.formats.atoms import (
    Atom,
    Constant,
    RuleExporter,
    divide_rule_counts,
    express_rule,
    list_rule_atoms,
)
from stablerule.rules.formats.loading import (
    Format,
    RuleCollector,
    read_rule_file_lines,
    read_rule_number,
    shorten_rule_text,
)
from stablerule.rules.rule import BETWEEN
from stablerule.rules.scored import spell_rule_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stablerule.rules.formats.loading import LoadedRules, Parts
    from stablerule.rules.ruleset import RuleSet

ARROW = " <= "
ITSELF = "me_myself_i"
VARIABLES_ONLY = re.compile(r"(.+)\(([A-Z]),([A-Z])\)", re.DOTALL)
VARIABLE_FIRST = re.compile(r"([A-Z]),(.+)\)", re.DOTALL)
VARIABLE_SECOND = re.compile(r"(.+),([A-Z])\)", re.DOTALL)


def read_anyburl_rules(data: bytes, path: Path) -> LoadedRules:
    """Read the output of AnyBURL."""
    rules = RuleCollector(path, ("body_count", "support"))
    for line, text in read_rule_file_lines(data, path):
        cells = text.split("\t")
        if len(cells) != 4:
            expected = "4 tab-separated cells (groundings, support, confidence, rule)"
            raise ReadError(
                f"expected {expected}, found {len(cells)}: {shorten_rule_text(text)}.", path=path, line=line
            )
        groundings = read_rule_number(cells[0], "the body groundings", path, line, least=0)
        support = read_rule_number(cells[1], "the support", path, line, least=0)
        read_rule_number(cells[2], "the confidence", path, line)
        try:
            found = parse_anyburl_rule(cells[3])
        except ReadError as error:
            raise ReadError(error.problem, path=path, line=line) from error
        rules.add(found, (groundings, support))
    return rules.finish()


def parse_anyburl_rule(text: str) -> Parts | str:
    """Parse one rule; return its kind if it can't be expressed as a `Rule`.

    >>> parse_anyburl_rule("speaks(X,Y) <= lives_in(X,A), language_of(Y,A)")
    ('speaks', ('lives_in', '~language_of'), None, None)
    >>> parse_anyburl_rule("speaks(X,french) <= lives_in(X,Paris, Texas (city))")
    ('speaks', ('lives_in',), 'french', 'Paris, Texas (city)')
    """
    head_text, arrow, body_text = f"{text} ".partition(ARROW)
    if not arrow:
        raise ReadError(f"expected a rule such as r(X,Y) <= s(X,A), t(A,Y), found {shorten_rule_text(text)}.")
    head = _read_anyburl_atom(head_text)
    if head is None:
        found = f"{shorten_rule_text(head_text)} in {shorten_rule_text(text)}"
        raise ReadError(f"expected a head such as r(X,Y) or r(X,name), found {found}.")
    return express_rule(head, list(_read_anyburl_body(body_text.removesuffix(" "), text)))


def _read_anyburl_body(body: str, text: str) -> Iterator[Atom]:
    """Split at the signs between atoms; if a piece is not an atom, the signs were part of a name."""
    pieces = body.split("), ") if body else []
    while pieces:
        piece = pieces.pop(0)
        while True:
            atom = _read_anyburl_atom(piece + ")" if pieces else piece)
            if not pieces or (atom is not None and "(" in pieces[0]):
                break
            piece += "), " + pieces.pop(0)
        if atom is None:
            found = f"{shorten_rule_text(piece)} in {shorten_rule_text(text)}"
            raise ReadError(f"expected atoms such as s(X,A) or s(X,name), found {found}.")
        yield atom


def _read_anyburl_atom(text: str) -> Atom | None:
    """Read `relation(X,A)`, `relation(X,name)` or `relation(name,X)`."""
    if match := VARIABLES_ONLY.fullmatch(text):
        return Atom(match[1], match[2], match[3])
    # A bracket may be part of the relation. The right split leaves a name with paired brackets.
    unsure, at = None, text.find("(", 1)
    while at > 0:
        if match := VARIABLE_FIRST.fullmatch(text, at + 1):
            found, name = Atom(text[:at], match[1], _read_anyburl_constant(match[2], match[1])), match[2]
        elif match := VARIABLE_SECOND.fullmatch(text, at + 1):
            found, name = Atom(text[:at], _read_anyburl_constant(match[1], match[2]), match[2]), match[1]
        else:
            found, name = None, ""
        if found and (("(" not in name and ")" not in name) or _has_paired_brackets(name)):
            return found
        unsure = unsure or found
        at = text.find("(", at + 1)
    return unsure


def _read_anyburl_constant(name: str, other: str) -> str:
    return other if name == ITSELF else Constant(name)


def _has_paired_brackets(name: str) -> bool:
    depth = 0
    for sign in name:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return False
    return depth == 0


def write_anyburl_rules(rules: RuleSet, stream: IO[bytes]) -> tuple[str, ...]:
    """Write rules in AnyBURL's format; rules without support and body count, or without a spelling, are skipped."""
    lines = RuleExporter(
        "AnyBURL's format",
        partial(list_rule_atoms, ends=("X", "Y"), between=BETWEEN),
        spell_anyburl_rule,
        parse_anyburl_rule,
    )
    broken = 0
    for scored, text in lines.spell_all(rules, needs=("support", "body_count")):
        support, groundings = scored.support or 0.0, scored.body_count or 0.0
        broken += not (support.is_integer() and groundings.is_integer())
        confidence = divide_rule_counts(support, groundings) or 0.0
        stream.write(
            f"{spell_rule_number(groundings)}\t{spell_rule_number(support)}\t{confidence!r}\t{text}\n".encode()
        )
    if broken:
        lines.notes.append(
            f"{spell_count(broken, 'rule')} with estimated counts; AnyBURL's own tools read whole numbers only."
        )
    return lines.finish(rules, kept=("support", "body_count", "confidence"))


def spell_anyburl_rule(head: Atom, body: list[Atom]) -> str:
    """Spell a rule in AnyBURL's format."""
    return ARROW.join([_spell_anyburl_atom(head), ", ".join(map(_spell_anyburl_atom, body))])


def _spell_anyburl_atom(atom: Atom) -> str:
    return f"{atom.relation}({atom.first},{atom.second})"


ANYBURL = Format("anyburl", (".anyburl",), read_anyburl_rules, write_anyburl_rules)
