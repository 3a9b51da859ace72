"""A set of rules as a notebook shows it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.rules.scored import ScoredRule

SHOWN = 10
COLUMNS = ("score", "confidence", "pca_confidence", "support")


def spell_rules_as_html(title: str, rules: Iterable[ScoredRule], more: int) -> str:
    """Write a table of rules; names are escaped, and a number that is an estimate begins with ~."""
    rows = "".join(map(_spell_rule_row, rules))
    titles = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in COLUMNS)
    behind = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<p>{escape(title)}</p><table><thead><tr><th style='text-align: left'>rule</th>{titles}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{behind}"
    )


def _spell_rule_row(one: ScoredRule) -> str:
    cells = "".join(f"<td>{spell_rule_cell(one, name)}</td>" for name in COLUMNS)
    return f"<tr><td style='text-align: left'>{escape(str(one.rule))}</td>{cells}</tr>"


def spell_rule_cell(one: ScoredRule, name: str) -> str:
    """Write a number for people; one that is an estimate begins with ~.

    >>> from stablerule.rules import Rule, ScoredRule
    >>> sampled = ScoredRule(Rule("r", ("s",)), support=1200, confidence=0.5, confidence_low=0.4, confidence_high=0.6)
    >>> spell_rule_cell(sampled, "support"), spell_rule_cell(sampled, "confidence"), spell_rule_cell(sampled, "score")
    ('~1,200', '~0.500', '-')
    """
    value: float | None = getattr(one, name)
    if value is None:
        return "-"
    text = f"{value:,.0f}" if name in ("support", "body_count") else f"{value:.3f}"
    return f"~{text}" if one.is_estimate and name != "score" else text
