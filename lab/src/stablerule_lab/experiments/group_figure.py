"""A figure of the MRR of each method in each of the five groups."""

from __future__ import annotations

from typing import Any

from stablerule_lab.pages.plots import MEAN, legend_below, new_grid, series
from stablerule_lab.pages.results_page import Drawing


def group_figure(rows: list[dict[str, Any]], align: str) -> list[Drawing]:
    """Draw a panel for each graph: a line for each method, a mark for each group, and the mean."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    if not graphs:
        return []
    most = max(sum(row["graph"] == graph for row in rows) for graph in graphs)
    figure, panels = new_grid(len(graphs), 2, width=4.6, height=1.5 + 0.22 * most)
    for graph, panel in zip(graphs, panels, strict=True):
        some = [row for row in rows if row["graph"] == graph]
        some.sort(key=lambda row: row[align]["realistic"]["mrr"]["mean"])
        found = [row[align]["realistic"]["mrr"] for row in some]
        for place, group in enumerate(found[0]["groups"]):
            values = [one["groups"][group] for one in found]
            panel.plot(values, range(len(found)), **series(place, line=False), label=group)
        means = [one["mean"] for one in found]
        panel.plot(means, range(len(found)), **MEAN, label="mean")
        panel.set(title=graph, xlabel="MRR, realistic")
        panel.set_yticks(range(len(found)), [row["method"] for row in some])
        panel.grid(axis="y", linewidth=0.3)
    legend_below(figure, panels[0], 6)
    caption = "Test MRR in five groups by paths, from the facts with the fewest paths to those with the most."
    if align != "density":
        caption = "Test MRR in five groups by paths, numbered arbitrarily."
    return [Drawing("groups", caption, figure)]
