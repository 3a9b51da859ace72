"""Read and write AMIE's standard output: one line for each rule, with log lines around.

::

    ?a  lives_in  ?f  ?f  official_language  ?b   => ?a  speaks  ?b<TAB>0.61<TAB>0.8<TAB>0.9<TAB>40<TAB>50<TAB>44<TAB>-1

The cells after the rule are head coverage, standard confidence, PCA confidence, support, body size, PCA body size and
the functional variable; a negative number is not computed by AMIE. As elsewhere here, confidences are computed from the
counts, with 5 added to the denominator. AMIE also counts paths that visit an entity twice, and measures the PCA
confidence from the functional variable: -1 is the first variable of the head, -2 the second.
"""

from __future__ import annotations

import re
from functools import partial
from typing import IO, TYPE_CHECKING

from stablerule.errors import ReadError, spell_count
from stablerule.graph import INVERSE
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
from stablerule.rules.scored import PESSIMISM, spell_rule_number

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.rules.formats.loading import LoadedRules, Parts
    from stablerule.rules.ruleset import RuleSet
    from stablerule.rules.scored import ScoredRule

ARROW = " => "
HEADER = (
    "Rule",
    "Head Coverage",
    "Standard Confidence",
    "Pca Confidence",
    "Support",
    "Body Size",
    "Pca Body Size",
    "Functional Variable",
)
FROM_TAIL = ("-2", "?b")
GAP = re.compile(r" {2,}")
BETWEEN = tuple(f"?{letter}" for letter in "cdefghijklmnopqrstuvwxyz")


def read_amie_rules(data: bytes, path: Path) -> LoadedRules:
    """Read the output of AMIE."""
    rules = RuleCollector(path, ("head_coverage", "pca_confidence", "support", "body_count"))
    log_lines = from_tail = rule_lines = 0
    header = False
    for line, text in read_rule_file_lines(data, path):
        cells = text.split("\t")
        if cells[:2] == ["Rule", HEADER[1]]:
            header = True
        elif ARROW not in cells[0]:
            log_lines += 1
        else:
            rule_lines += 1
            try:
                rules.add(parse_amie_rule(cells[0]), _read_amie_numbers(cells, path, line))
            except ReadError as error:
                raise ReadError(error.problem, path=path, line=line) from error
            from_tail += cells[7] in FROM_TAIL
    if not rule_lines and not header:
        raise ReadError("no rules: expected lines such as '?a  r  ?b   => ?a  s  ?b' with numbers.", path=path)
    if log_lines:
        rules.notes.append(f"skipped {spell_count(log_lines, 'log line')}.")
    if from_tail:
        rules.notes.append(f"{spell_count(from_tail, 'PCA confidence')} measured from the tail by AMIE.")
    return rules.finish()


def _read_amie_numbers(cells: list[str], path: Path, line: int) -> tuple[float | None, ...]:
    if len(cells) < len(HEADER):
        expected = f"{len(HEADER)} tab-separated cells ({', '.join(HEADER)})"
        raise ReadError(f"expected {expected}, found {len(cells)}.", path=path, line=line)
    values = (read_rule_number(cells[i], HEADER[i], path, line) for i in range(1, 7))
    coverage, _, pca, support, body, pca_body = (value if value >= 0 else None for value in values)
    if pca_body is None and pca and support is not None:
        pca_body = support / pca
    if support is not None and pca_body is not None:
        pca = support / (pca_body + PESSIMISM)
    elif pca:
        pca = None
    return coverage, pca, support, body


def parse_amie_rule(text: str) -> Parts | str:
    """Parse one rule; return its kind if it can't be expressed as a `Rule`.

    >>> parse_amie_rule("?f  son  ?b  ?a  uncle  ?f   => ?a  brother  ?b")
    ('brother', ('uncle', 'son'), None, None)
    """
    body_text, _, head_text = text.partition(ARROW)
    body, head = _read_amie_atoms(body_text), _read_amie_atoms(head_text)
    if body is None or head is None or len(head) != 1:
        raise ReadError(
            f"expected a rule such as '?a  r  ?f  ?f  s  ?b   => ?a  t  ?b', found {shorten_rule_text(text)}."
        )
    return express_rule(head[0], body)


def _read_amie_atoms(text: str) -> list[Atom] | None:
    """Read `?a  relation  ?b  ...`; two spaces separate names, which may contain single ones."""
    text = text.strip(" ")
    tokens = GAP.split(text) if text else []
    if len(tokens) % 3:
        return None
    return [
        Atom(relation, _read_amie_term(first), _read_amie_term(second))
        for first, relation, second in zip(tokens[::3], tokens[1::3], tokens[2::3], strict=True)
    ]


def _read_amie_term(token: str) -> str:
    return token if token.startswith("?") else Constant(token)


def write_amie_rules(rules: RuleSet, stream: IO[bytes]) -> tuple[str, ...]:
    """Write rules in AMIE's format; an unknown number is -1."""
    lines = RuleExporter(
        "AMIE's format", partial(list_rule_atoms, ends=("?a", "?b"), between=BETWEEN), spell_amie_rule, parse_amie_rule
    )
    stream.write(("\t".join(HEADER) + "\n").encode())
    for scored, text in lines.spell_all(rules):
        stream.write("\t".join([text, *_spell_amie_numbers(scored)]).encode() + b"\n")
    return lines.finish(rules, kept=("support", "body_count", "confidence", "pca_confidence", "head_coverage"))


def spell_amie_rule(head: Atom, body: list[Atom]) -> str:
    """Spell a rule in AMIE's format."""
    return "".join(f"{atom.first}  {atom.relation}  {atom.second}  " for atom in body) + (
        f"{ARROW}{head.first}  {head.relation}  {head.second}"
    )


def _spell_amie_numbers(scored: ScoredRule) -> list[str]:
    support, body, pca = scored.support, scored.body_count, scored.pca_confidence
    standard = divide_rule_counts(support, body) if support is not None and body is not None else None
    pca_body = None
    if support and pca:
        with_constant = divide_rule_counts(support, pca) or 0.0
        pca_body = _round_amie_number(with_constant - PESSIMISM) if with_constant > PESSIMISM else None
        pca = divide_rule_counts(support, pca_body) if pca_body else None
    numbers = (scored.head_coverage, standard, pca, support, body, pca_body)
    known = [spell_rule_number(number) if number is not None else "-1" for number in numbers]
    turned = scored.rule.constants is None and scored.rule.head_relation.startswith(INVERSE)
    return [*known, "-2" if turned else "-1"]


def _round_amie_number(number: float) -> float:
    """Round a number that two divisions moved away from a whole one."""
    return float(round(number)) if abs(number - round(number)) < 1e-6 else number


AMIE = Format("amie", (".amie",), read_amie_rules, write_amie_rules)
