"""The spec of what happens while StableRule learns, the paper's figures 5 and 6."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablerule.experiments.cells import grouped
from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.methods import LARGE, SMALL
from stablerule.experiments.training import METHODS, WEIGHTS, made_with, run_cell
from stablerule.reports.plots import legend_below, new_figure, series
from stablerule.reports.results_page import Drawing
from stablerule.reports.tables import Table

CURVES = {"loss": "weighted cross-entropy", "dependence": "dependence (equal = 1)", "share": "effective share"}
EVERY = 5  # steps
SHOWN = ("mean_before", "mean_after", "dependence", "share")


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph and method: curves averaged over seeds, and correlations of the first seed."""
    rows = []
    for (graph, method), ran in grouped(results, "graph", "method").items():
        runs = [one["result"] for one in ran]
        length = min(len(run["steps"]) for run in runs)
        curves = {
            name: [_mean([run["steps"][at].get(name) for run in runs]) for at in range(0, length, EVERY)]
            for name in CURVES
        }
        kept = {"correlations": runs[0]["correlations"], "before": runs[0]["before"]}
        rows.append({"graph": graph, "method": method, "seeds": len(runs), "every": EVERY, **curves, **kept})
    return rows


def _mean(values: list[float | None]) -> float | None:
    """None where the weights have not come in yet."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return what each kind of weights does to the mean size of correlations, and what it costs."""
    headings = (
        "graph, method",
        "weights",
        "mean size of correlations before",
        "after",
        "dependence left",
        "effective share",
    )
    lines = [
        (f"{row['graph']}, {row['method']}", name, *(f"{found[key]:.3f}" for key in SHOWN))
        for row in rows
        for name, found in row["correlations"].items()
    ]
    return [Table("Feature correlations, first seed", headings, tuple(lines))] if lines else []


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw the curves, and the correlations of the first graph that has them."""
    if not rows:
        return []
    return [_drawn_curves(rows), _drawn_correlations(rows[0])]


def _drawn_curves(rows: list[dict[str, Any]]) -> Drawing:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, panels = new_figure(len(CURVES), len(methods), width=3.6, height=2.5)
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    for place, panel in enumerate(panels):
        method, name = methods[place // len(CURVES)], list(CURVES)[place % len(CURVES)]
        for row in (row for row in rows if row["method"] == method):
            steps = [row["every"] * i for i in range(len(row[name]))]
            style = series(graphs.index(row["graph"])) | {"markevery": 0.2}
            panel.plot(steps, [np.nan if v is None else v for v in row[name]], **style, label=row["graph"])
        panel.set(title=method, xlabel="step", ylabel=CURVES[name])
    legend_below(figure, panels[0], 6)
    caption = "Loss of the batches, dependence of the dimensions under the weights, and effective share of the samples."
    return Drawing("curves", caption, figure)


def _drawn_correlations(row: dict[str, Any]) -> Drawing:
    figure, panels = new_figure(1 + len(WEIGHTS), width=2.6, height=2.6)
    shown = {"equal weights": row["before"]} | {name: one["after"] for name, one in row["correlations"].items()}
    image = None
    for panel, (name, matrix) in zip(panels, shown.items(), strict=True):
        image = panel.imshow(np.abs(matrix), cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
        share = row["correlations"].get(name, {}).get("share", 1.0)
        panel.set(title=f"{name}\neffective share {share:.2f}", xticks=[], yticks=[])
    if image is not None:
        figure.colorbar(image, ax=panels, shrink=0.7)
    caption = (
        f"|correlation| of {len(row['before'])} dimensions of the body embeddings of {row['graph']}, the diagonal 0. "
        "The effective share says how many of the samples still count."
    )
    return Drawing("correlations", caption, figure)


WHILE_LEARNING = Experiment(
    name="training",
    folder="training",
    about="loss and dependence while StableRule learns, correlations before and after weighting (figures 5 and 6)",
    needs="10 to 60 s a cell",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=tuple(METHODS),
    seeds=(0, 1, 2),
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=figures,
)
