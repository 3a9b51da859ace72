"""The spec of the rule budget: where a better scorer of rules should show."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.methods import LARGE, QUICK_GRAPHS, SMALL
from stablerule.experiments.rule_budget import KEPT, METHODS, WEIGHED, made_with, run_cell
from stablerule.reports.plots import legend_below, new_figure, series
from stablerule.reports.results_page import Drawing
from stablerule.reports.tables import Table


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph, method and number of rules kept: means over seeds."""
    found = defaultdict(list)
    for one in results:
        for point in one["result"]["curve"]:
            found[one["cell"]["graph"], one["cell"]["method"], point["kept"]].append(point)
    return [
        {"graph": graph, "method": method, "kept": kept, "seeds": len(points)}
        | {"rules": float(np.mean([point["rules"] for point in points]))}
        | {by: _mean([point[by] for point in points]) for by in WEIGHED if by in points[0]}
        for (graph, method, kept), points in found.items()
    ]


def _mean(points: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([point[name] for point in points])) for name in points[0]}


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a table for each graph and each way to weigh."""
    return [table for by in WEIGHED for table in tables_by(rows, by)]


def tables_by(rows: list[dict[str, Any]], by: str) -> list[Table]:
    """Return a table for each graph: a line for each method, a column for each number of rules kept."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        lines = []
        for method in dict.fromkeys(row["method"] for row in rows if row["graph"] == graph):
            curve = {r["kept"]: r for r in rows if r["graph"] == graph and r["method"] == method}
            # A learner whose confidence chooses has only that to weigh by.
            figures = {kept: point.get(by, point.get("confidence", {})).get("mrr") for kept, point in curve.items()}
            seeds = str(max(point["seeds"] for point in curve.values()))
            cells_of_line = (f"{figures[k]:.3f}" if figures.get(k) is not None else "" for k in KEPT)
            lines.append((method, seeds, *cells_of_line))
        headings = ("method", "seeds", *(f"{kept} rules" for kept in KEPT))
        made.append(Table(f"{graph}, by {by}", headings, tuple(lines)).without_empty())
    return made


def curves(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw MRR against rules kept: a panel for each graph and each way to weigh, a line for each method."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    if not graphs:
        return []
    figure, panels = new_figure(len(WEIGHED), len(graphs), height=2.4)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for place, panel in enumerate(panels):
        graph, by = graphs[place // len(WEIGHED)], WEIGHED[place % len(WEIGHED)]
        for i, method in enumerate(methods):
            points = [row for row in rows if (row["graph"], row["method"]) == (graph, method)]
            shown = [(p["kept"], p.get(by, p.get("confidence", {})).get("mrr")) for p in points]
            panel.plot(*zip(*shown, strict=True) if shown else ([], []), **series(i), label=method)
        panel.set(xscale="log", title=f"{graph}, weighed by {by}", ylabel="MRR", xlabel="rules kept for each relation")
        panel.set_xticks(KEPT, [str(kept) for kept in KEPT])
        panel.minorticks_off()
    legend_below(figure, panels[0])
    caption = (
        "MRR on test, realistic, against the number of chains kept for each relation, chosen by each learner's score; "
        "the best rule that fires decides, by its score (left) or by its measured confidence (right)."
    )
    return [Drawing("curves", caption, figure)]


RULE_BUDGET = Experiment(
    name="rule-budget",
    store="rule-budget",
    about="MRR against rules kept for each relation, chosen by each learner's scores and by plain confidence",
    needs="a minute a cell, five on large graphs",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=tuple(METHODS),
    seeds=(0, 1, 2),
    is_cheap=lambda graph, method: graph in QUICK_GRAPHS,
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=curves,
)
