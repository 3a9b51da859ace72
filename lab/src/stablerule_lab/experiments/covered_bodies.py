"""The share of each group's facts that rule bodies link, as a table and a figure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from stablerule.registry import METHODS
from stablerule.shifts import measure_body_coverage
from stablerule_lab.pages.plots import MEAN, legend_below, new_figure, series
from stablerule_lab.pages.results_page import Drawing
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from stablerule.extending import Reasoner
    from stablerule.graph import Graph, Triples
    from stablerule.shifts import Grouping

SHOWN, OF_BEST = 10, 50  # rules


def covered_bodies(
    model: Reasoner, facts: Triples, groups: Grouping, graph: Graph, *, relation: str
) -> list[dict[str, Any]]:
    """Return the rows of `measure_body_coverage` for the main rules; none for learners without rules.

    These have the most support among the best by score: the very best may hold for two facts only.
    """
    if not METHODS[model.method].explains:
        return []
    chains = model.rules.filter(kind="chains", head_relation=relation)
    best = chains.top(OF_BEST, "confidence" if chains.to_frame()["score"].null_count() else "score")
    return measure_body_coverage(
        facts, groups, best.top(SHOWN, "support"), graph, relation=relation, top=SHOWN
    ).to_dicts()


ALL, CONFIDENCE = "all", "confidence"


def coverage_table(title: str, rows: list[dict[str, Any]], groups: list[str]) -> Table:
    """Return a table with a line for each rule and a column for each group."""
    by_rule: dict[str, dict[str, float]] = defaultdict(dict)
    for one in rows:
        by_rule[one["rule"]] |= {one["group"]: one["covered"], ALL: one["average"], CONFIDENCE: one["confidence"]}
    lines = tuple(
        (f"`{rule}`", f"{found[CONFIDENCE]:.2f}", *(f"{found.get(name, 0):.1%}" for name in (*groups, ALL)))
        for rule, found in by_rule.items()
    )
    return Table(title, ("rule", CONFIDENCE, *groups, ALL), lines)


def coverage_figure(name: str, caption: str, rows: list[dict[str, Any]], groups: list[str]) -> Drawing:
    """Draw a line for each rule, the best on top, with marks for the groups and for all facts."""
    rules = list(dict.fromkeys(one["rule"] for one in rows))[::-1]
    figure, (panel,) = new_figure(width=7.5, height=1.2 + 0.3 * len(rules))
    for i, group in enumerate(groups):
        found = {one["rule"]: one["covered"] for one in rows if one["group"] == group}
        shown = [(found[rule], place) for place, rule in enumerate(rules) if rule in found]
        panel.plot(*zip(*shown, strict=True) if shown else ([], []), **series(i, line=False), label=group)
    average = {one["rule"]: one["average"] for one in rows}
    panel.plot([average[rule] for rule in rules], range(len(rules)), **MEAN, label=ALL)
    panel.set(xlabel="share of facts that the body links")
    panel.set_yticks(range(len(rules)), [_body(rule) for rule in rules], fontsize=7)
    legend_below(figure, panel, 3)
    return Drawing(name, caption, figure)


def _body(rule: str) -> str:
    """Return the body of a rule, with shortened relation names.

    >>> _body("r(X, Y) <- /film/film/genre(X, A), /tv/genre(Y, A)")
    'genre(X, A), genre(Y, A)'
    """
    words = rule.partition(" <- ")[2].split(" ")
    return " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in words)
