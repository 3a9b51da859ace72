"""Training curves of StableRule, and correlations before and after weighting: the paper's Figures 5 and 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.errors import InputError
from stablerule.extending import PAPER_SIZES, join_options
from stablerule.learning import Decorrelation, StableRule
from stablerule_lab.experiments.by_graph import table_by_graph
from stablerule_lab.experiments.cells import grouped
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.methods import LARGE, QUICK_GRAPHS, SMALL
from stablerule_lab.experiments.printed import cited_graph
from stablerule_lab.experiments.process import run_apart
from stablerule_lab.pages.plots import legend_below, new_figure, series
from stablerule_lab.pages.results_page import Drawing
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule_lab.experiments.cells import Cell

# Fields of `Decorrelation`: our weights, with a penalty and a floor; ours without both; and the paper's.
WEIGHTS: dict[str, dict[str, Any]] = {
    "ours": {"weight_steps": 50},
    "no floor": {"weight_steps": 200, "weight_penalty": 0.0, "share_floor": 0.0},
    "as printed": {"literal": True},
}
WEIGHTS_IN_WORDS = {"ours": "our weights", "no floor": "ours without a floor", "as printed": "the paper's weights"}
METHODS: dict[str, dict[str, Any]] = {
    "stablerule": {},
    "lengths in turn": {"training.order": "lengths", "mining.min_length": 2},
}
# The paper's smallest and largest batches; only their curves are kept.
BATCHES: dict[str, dict[str, Any]] = {f"batches of {size}": {"training.batch_size": size} for size in (500, 8000)}
# These models answer no queries, so no aggregation is chosen.
LEARNING_ONLY = {"constants": False, "aggregation": "max_plus", "training.patience": None}
KEPT = 40  # dimensions of a correlation matrix that are kept


def weights_on(graph: str) -> dict[str, dict[str, Any]]:
    """Return the options of all kinds of weights; the paper's have its steps and rate for this graph.

    >>> weights_on("kinship")["as printed"]
    {'weight_steps': 200, 'weight_rate': 0.01, 'literal': True}
    """
    cited = cited_graph(graph)
    printed = StableRule.paper(cited if cited in PAPER_SIZES else "dblp").options
    rates = {name: printed[f"decorrelation.{name}"] for name in ("weight_steps", "weight_rate")}
    return WEIGHTS | {"as printed": rates | WEIGHTS["as printed"]}


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell."""
    method = str(cell["method"])
    weights = {"weights": weights_on(str(cell["graph"]))} if method in METHODS else {}
    return {"settings": join_options(LEARNING_ONLY, (METHODS | BATCHES)[method]), **weights}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `look` in a separate process."""
    return run_apart(look, cell, cache)


def look(cell: Cell, cache: Path) -> dict[str, Any]:
    """Train all steps without early stopping, and return the curves and correlations."""
    from stablerule_lab.inside.correlations import feature_correlations  # noqa: PLC0415  # torch

    dataset, method = load(str(cell["graph"])), str(cell["method"])
    options = made_with(cell)["settings"] | {"seed": cell["seed"]}
    model = StableRule.with_options(options).fit(dataset.graph)
    course = model.learned_.course
    if course is None:
        raise InputError(f"No walk of {dataset.name!r} closed, so the network was not trained.")
    told: dict[str, Any] = {"steps": course.steps, "checks": course.checks, "data": dataset.sha256}
    if method in BATCHES:
        return told
    told["correlations"] = {}
    for name, how in weights_on(str(cell["graph"])).items():
        found = feature_correlations(model, dataset.graph, Decorrelation(**how))
        told["correlations"][name] = {
            "mean_before": off_diagonal(found.before),
            "mean_after": off_diagonal(found.after),
            "dependence": found.dependence,
            "share": found.share,
            "after": np.round(found.after[:KEPT, :KEPT], 2).tolist(),
        }
        told["before"] = np.round(found.before[:KEPT, :KEPT], 2).tolist()
    return told


def off_diagonal(matrix: NDArray[np.float64]) -> float:
    """Return the mean absolute value off the diagonal, which is 0."""
    size = len(matrix)
    return float(np.abs(matrix).sum() / max(1, size * (size - 1)))


CURVES = {"loss": "weighted cross-entropy", "dependence": "dependence (equal = 1)", "share": "effective share"}
EVERY = 5  # steps
AT_THE_END = 100  # steps that measure fluctuations
SHOWN = ("mean_before", "mean_after", "dependence", "share")


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph and method: mean curves and fluctuations, and the first seed's correlations."""
    rows = []
    for (graph, method), ran in grouped(results, "graph", "method").items():
        runs = [one["result"] for one in ran]
        length = min(len(run["steps"]) for run in runs)
        curves = {
            name: [_mean([run["steps"][at].get(name) for run in runs]) for at in range(0, length, EVERY)]
            for name in CURVES
        }
        moved = float(np.mean([fluctuation([step["loss"] for step in run["steps"]]) for run in runs]))
        kept = {name: runs[0][name] for name in ("correlations", "before") if name in runs[0]}
        row = {"graph": graph, "method": method, "seeds": len(runs), "every": EVERY, "fluctuation": moved}
        rows.append(row | curves | kept)
    return rows


def fluctuation(losses: list[float]) -> float:
    """Return the standard deviation of the loss around its trend, from differences of consecutive steps.

    >>> fluctuation([5.0, 4.0, 3.0, 2.0]), fluctuation([3.0, 4.0] * 50)
    (0.0, 0.7070...)
    """
    return float(np.diff(losses[-AT_THE_END:]).std() / np.sqrt(2))


def _mean(values: list[float | None]) -> float | None:
    """Return the mean of known values; None during the warm-up."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return correlations and effective shares under each kind of weights, and the fluctuations of two batch sizes."""
    return [*_of_correlations_by_graph(rows), *_of_correlations(rows), *_of_batches(rows)]


def _of_correlations_by_graph(rows: list[dict[str, Any]]) -> list[Table]:
    """Return one table for StableRule: the mean absolute correlation, and the effective share of the samples."""
    cells = {}
    for row in rows:
        if row["method"] == "stablerule":
            graph, found = row["graph"], row["correlations"]
            cells["equal weights", graph] = f"{found['ours']['mean_before']:.3f} / 1.00"
            for name, one in found.items():
                cells[WEIGHTS_IN_WORDS[name], graph] = f"{one['mean_after']:.3f} / {one['share']:.2f}"
    return table_by_graph("Mean absolute correlation / effective share, by graph", cells, corner="weights")


def _of_correlations(rows: list[dict[str, Any]]) -> list[Table]:
    headings = (
        "graph, method",
        "weights",
        "mean absolute correlation before",
        "after",
        "dependence left",
        "effective share",
    )
    lines = [
        (f"{row['graph']}, {row['method']}", name, *(f"{found[key]:.3f}" for key in SHOWN))
        for row in rows
        for name, found in row.get("correlations", {}).items()
    ]
    return [Table("Feature correlations, first seed", headings, tuple(lines))] if lines else []


def _of_batches(rows: list[dict[str, Any]]) -> list[Table]:
    """Return the fluctuation of the loss with both batch sizes."""
    found = {(row["graph"], row["method"]): row for row in rows}
    graphs = [
        graph for graph in dict.fromkeys(row["graph"] for row in rows) if all((graph, b) in found for b in BATCHES)
    ]
    lines = [
        (
            graph,
            str(min(found[graph, name]["seeds"] for name in BATCHES)),
            *(f"{found[graph, name]['fluctuation']:.3f}" for name in BATCHES),
        )
        for graph in graphs
    ]
    title = f"Deviation of the loss from batch to batch, last {AT_THE_END} steps"
    return [Table(title, ("graph", "seeds", *BATCHES), tuple(lines))] if lines else []


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw the curves, and the correlations of the first graph that has them."""
    looked_into = [row for row in rows if "correlations" in row]
    if not looked_into:
        return []
    return [_drawn_curves(looked_into), _drawn_correlations(looked_into[0])]


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
    caption = "Loss, dependence of the dimensions under the weights, and effective share of the samples, by step."
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
        f"Absolute correlations of {len(row['before'])} dimensions of the body embeddings of {row['graph']}. "
        "The effective share is the share of the samples that still count."
    )
    return Drawing("correlations", caption, figure)


WHILE_LEARNING = Experiment(
    name="training",
    store="training",
    about="How do loss and correlations change during training (Figures 5 and 6)?",
    needs="10 to 60 s a cell",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=(*METHODS, *BATCHES),
    seeds=(0, 1, 2),
    is_cheap=lambda graph, method: graph in QUICK_GRAPHS,
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=figures,
)
