"""The spec of groups in the plane, the paper's figure 3, and of how often bodies link their facts."""

from __future__ import annotations

from typing import Any

from stablerule.experiments.covered_bodies_figure import coverage_figure, coverage_table
from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.group_planes import made_with, run_cell
from stablerule.experiments.methods import LARGE, SMALL
from stablerule.reports.plots import COLOURS, MARKERS, legend_below, new_grid
from stablerule.reports.results_page import Drawing
from stablerule.reports.tables import Table


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each cell."""
    return [one["cell"] | one["result"] for one in results]


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return which relation is shown, how far its groups are apart, and how often bodies link their facts."""
    if not rows:
        return []
    lines = tuple(_line(row) for row in rows)
    about = ("graph", "relation with the most test facts", "facts", "variance between groups, in the plane")
    headings = (*about, *(f"linked, {group}" for group in rows[0]["groups"]))
    coverage = [
        coverage_table(_titled(row), row["coverage_of_bodies"], row["groups"])
        for row in rows
        if row["coverage_of_bodies"]
    ]
    return [Table("Groups by paths", headings, lines), *coverage]


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    linked = (f"{share:.0%}" for share in row["linked"])
    return (row["graph"], row["relation"], f"{row['facts']:,}", f"{row['separation']:.1%}", *linked)


def _titled(row: dict[str, Any]) -> str:
    return f"{row['graph']}: facts of {row['relation']} that a body links, by groups of paths"


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw a panel for each graph, a mark for each fact; and for each graph how often bodies link facts."""
    if not rows:
        return []
    figure, panels = new_grid(len(rows), 3, width=3.2, height=2.8)
    for row, panel in zip(rows, panels, strict=True):
        for label, name in enumerate(row["groups"]):
            here = [point for point, at in zip(row["points"], row["labels"], strict=True) if at == label]
            x, y = zip(*here, strict=True) if here else ((), ())
            panel.scatter(x, y, c=COLOURS[label], marker=MARKERS[label], label=name, s=9, linewidths=0, alpha=0.75)
        panel.set(title=f"{row['graph']}: {row['relation'].strip('/').rpartition('/')[2]}", xticks=[], yticks=[])
    legend_below(figure, panels[0], 5)
    caption = (
        "Test facts of one relation by the paths between their ends, in the two directions in which they differ most."
    )
    coverage = [
        coverage_figure(f"coverage-{row['graph']}", f"{_titled(row)}.", row["coverage_of_bodies"], row["groups"])
        for row in rows
        if row["coverage_of_bodies"]
    ]
    return [Drawing("planes", caption, figure), *coverage]


GROUPS_IN_THE_PLANE = Experiment(
    name="planes",
    store="planes",
    about="groups by paths in the plane, for one relation of each graph, and what bodies link them (figure 3)",
    needs="seconds a cell, a minute on large graphs",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=("by_paths",),
    seeds=(0,),
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=figures,
)
