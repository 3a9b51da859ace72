"""Rules as a table for people: a few numbers, and the rule, wrapped at its atoms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len

from stablerule.cli.output import break_line, console, note
from stablerule.rules.html import spell_rule_cell
from stablerule.rules.rule import ARROW
from stablerule.rules.scored import GAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stablerule.rules import Rule, RuleSet

INDENT = "  "
NARROWEST = 30  # that a column of rules gets
MUCH_LOWER = 0.05
TITLES = {"pca_confidence": "pca", "head_coverage": "coverage"}


def print_rules_table(rules: RuleSet, by: str) -> None:
    """Print a row for each rule, and what there is to know about the numbers."""
    if not len(rules):
        return
    own = by if by in ("score", "head_coverage") or not rules.has(GAIN) else GAIN
    names = list(dict.fromkeys([own, "confidence", "pca_confidence", "support"]))
    titles = [TITLES.get(name, name) for name in names]
    rows = [[spell_rule_cell(one, name) for name in names] for one in rules]
    widths = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
    room = max(NARROWEST, console.width - sum(widths) - 2 * len(widths))
    typer.echo(_join_printed_cells([*titles, "rule"], widths))
    for one, cells in zip(rules, rows, strict=True):
        first, *more = wrap_rule(one.rule, room)
        typer.echo(_join_printed_cells([*cells, first], widths))
        for line in more:
            typer.echo(" " * (sum(widths) + 2 * len(widths)) + line)
    for text in print_note_on_numbers(rules):
        note(text)


def _join_printed_cells(cells: list[str], widths: list[int]) -> str:
    *numbers, text = cells
    return "  ".join([*(cell.rjust(width) for cell, width in zip(numbers, widths, strict=True)), text])


def print_note_on_numbers(rules: RuleSet) -> Iterator[str]:
    """Say what ~ means, and why a confidence can be low though the rule is right."""
    if any(one.is_estimate for one in rules):
        yield "~ is an estimate from some entities X; --format json has its 95% interval."
    if any((one.pca_confidence or 0) - (one.confidence or 0) > MUCH_LOWER for one in rules):
        yield (
            "confidence counts facts that are held out or missing as wrong: for a relation with one value it can't "
            "pass the share of train. pca leaves out X that have no fact of the relation."
        )


def wrap_rule(rule: Rule, width: int) -> list[str]:
    """Break the text of a rule after an atom, or in a name that is too long for a line."""
    head, *body = rule.atoms
    pieces = [f"{head} {ARROW}", *(f"{atom}," for atom in body[:-1]), body[-1]]
    lines = [pieces[0]]
    for piece in pieces[1:]:
        longer = f"{lines[-1]} {piece}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(INDENT + piece)
    return [part for line in lines for part in break_line(line, width, 2 * INDENT)]
