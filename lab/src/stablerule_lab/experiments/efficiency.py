"""How StableRule's time and memory grow with facts, relations, rule length, d, T_d, O_d and N.

The paper's section 6.5 gives O((T_d / d * O_d^2 + 2) * N * d^2) for training. Each sweep changes one value and trains
a fixed number of steps.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.extending import count_cores, join_options
from stablerule.graph import Graph
from stablerule.learning import StableRule
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.process import peak_memory, run_apart
from stablerule_lab.pages.plots import COLOURS, legend_below, new_grid, series
from stablerule_lab.pages.results_page import Drawing
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from stablerule.graph import Dataset
    from stablerule_lab.experiments.cells import Cell
    from stablerule_lab.experiments.experiment import Options

STEPS, FEW = 60, 10
SHARES = ("facts", "relations")  # sweeps of the graph; the others are options of the learner
SWEEPS: dict[str, tuple[float, ...]] = {
    "facts": (0.125, 0.25, 0.5, 1.0),
    "relations": (0.125, 0.25, 0.5, 1.0),
    "max_length": (2, 3, 4, 5),
    "size": (64, 128, 256, 512, 1024),
    "weight_steps": (1, 10, 50, 100),
    "moment_order": (1, 2, 3, 4),
    "batch_size": (1000, 2000, 4000, 8000),
    "walks": (125_000, 250_000, 500_000, 1_000_000),
}
GROUPED = {  # sweeps of nested options
    "size": "training.size",
    "weight_steps": "decorrelation.weight_steps",
    "moment_order": "decorrelation.moment_order",
    "batch_size": "training.batch_size",
}
OPTIONS: dict[str, Any] = {
    "training.steps": STEPS,
    "training.patience": None,
    "training.held_out": 0.0,  # no evaluation between steps
    "training.warm_up": 0,
    "training.size": 256,
    "decorrelation.weight_steps": 10,
    "decorrelation.moment_order": 2,
    "training.batch_size": 4000,
    "constants": False,
    "aggregation": "max_plus",
    "rules_per_relation": 10,
}
WAYS: dict[str, dict[str, Any]] = {"stablerule": {}, "nodecor": {"decorrelation": None}}
UNTOUCHED = {"nodecor": ("weight_steps", "moment_order")}  # sweeps without effect, since there are no weights


def claimed(method: str, sweep: str, value: float) -> float | None:
    """Return the operations of a training step by the paper's formula; None for sweeps that it does not cover.

    Without weights the first term is 0.

    >>> claimed("nodecor", "batch_size", 8000) / claimed("nodecor", "batch_size", 1000)
    8.0
    >>> round(claimed("stablerule", "weight_steps", 100) / claimed("stablerule", "weight_steps", 1), 2)
    1.77
    """
    if sweep not in GROUPED:
        return None
    at = {name: value if name == sweep else OPTIONS[option] for name, option in GROUPED.items()}
    weighting = 0.0 if method == "nodecor" else at["weight_steps"] / at["size"] * at["moment_order"] ** 2
    return float((weighting + 2) * at["batch_size"] * at["size"] ** 2)


def cells(graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options) -> list[Cell]:
    """List all cells: graph, method, sweep and value."""
    return [
        {"graph": graph, "method": method, "sweep": sweep, "value": value, "seed": seed}
        for seed in seeds
        for graph in graphs
        for sweep, values in SWEEPS.items()
        for method in methods
        if sweep not in UNTOUCHED.get(method, ())
        for value in values
    ]


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the learner's settings."""
    sweep = str(cell["sweep"])
    swept = {} if sweep in SHARES else {GROUPED.get(sweep, sweep): int(cell["value"])}
    return {"settings": join_options(OPTIONS, WAYS[str(cell["method"])], swept)}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `measure` in a separate process."""
    return run_apart(measure, cell, cache)


def measure(cell: Cell, cache: Path) -> dict[str, Any]:
    """Train, and return the seconds of the training steps, the seconds of all, and the peak memory."""
    sweep, value = str(cell["sweep"]), float(cell["value"])
    graph = part_of(load(str(cell["graph"])), sweep, value, int(cell["seed"]))
    options = made_with(cell)["settings"] | {"seed": cell["seed"]}
    warm = StableRule.with_options(options | {"training.steps": 2, "walks": 1000})
    warm.fit(graph)  # compiles the kernels, which are not measured
    few = StableRule.with_options(options | {"training.steps": FEW}).fit(graph)
    began = time.perf_counter()
    model = StableRule.with_options(options).fit(graph)
    seconds = time.perf_counter() - began
    return {
        "facts": graph.n_facts,
        "relations": int(np.unique(graph.triples.relations).size),
        "bodies": model.learned_.bodies,
        # The work before the first step is the same in both.
        "milliseconds_a_step": 1000 * (seconds_of_training(model) - seconds_of_training(few)) / (STEPS - FEW),
        "seconds": seconds,
        "peak_gb": peak_memory() / 1e9,
        "cores": count_cores(),
        "data": graph.sha256,
    }


def seconds_of_training(model: StableRule) -> float:
    """Return the training seconds of a model's network."""
    return 0.0 if model.learned_.course is None else model.learned_.course.seconds


def part_of(dataset: Dataset, sweep: str, share: float, seed: int) -> Graph:
    """Return a share of the facts, or of the relations; other sweeps use the whole graph."""
    random, train = np.random.default_rng(seed), dataset.train
    if sweep == "facts":
        kept = random.permutation(len(train))[: round(share * len(train))]
        return Graph.build(train.take(np.sort(kept)), dataset.vocabulary, dataset.name)
    if sweep == "relations":
        some = random.permutation(dataset.graph.n_relations)[: max(1, round(share * dataset.graph.n_relations))]
        return Graph.build(train.take(np.isin(train.relations, some)), dataset.vocabulary, dataset.name)
    return dataset.graph


MEASURED = {"milliseconds_a_step": "ms a step", "seconds": "seconds in all", "peak_gb": "peak, GB"}


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each sweep: its points (the fastest of all seeds) and the slope of each measure.

    The slope is an exponent: time grows as value^slope, by least squares on logarithms.
    """
    by_sweep: dict[tuple[str, ...], dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        cell = one["cell"]
        by_sweep[cell["graph"], cell["method"], cell["sweep"]][cell["value"]].append(one["result"])
    rows = []
    for (graph, method, sweep), found in by_sweep.items():
        points = []
        for value, runs in sorted(found.items()):
            # Noise only adds time, so the fastest run counts.
            point: dict[str, Any] = {name: min(run[name] for run in runs) for name in MEASURED}
            points.append(point | {"value": value, "x": runs[0].get(sweep, value), "bodies": runs[0]["bodies"]})
        slopes = {name: slope([p["x"] for p in points], [p[name] for p in points]) for name in MEASURED}
        rows.append({"graph": graph, "method": method, "sweep": sweep, "points": points, "slopes": slopes})
    return rows


def slope(x: list[float], y: list[float]) -> float | None:
    """Return the exponent of growth.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    if len(x) < 2:
        return None
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a line for each sweep: the measures at both ends, and the exponents."""
    headings = ("sweep", "method", "from", "to", "ms a step", "seconds", "peak, GB", "exponent", "claimed")
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        there = [row for row in rows if row["graph"] == graph]
        there.sort(key=lambda row: (list(SWEEPS).index(row["sweep"]), list(WAYS).index(row["method"])))
        lines = tuple(_line(row) for row in there)
        made.append(Table(graph, headings, lines))
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    first, last = row["points"][0], row["points"][-1]
    exponent = row["slopes"]["milliseconds_a_step"]
    return (
        row["sweep"],
        row["method"],
        f"{first['x']:,.0f}",
        f"{last['x']:,.0f}",
        *(
            f"{first[name]:.{digits}f} to {last[name]:.{digits}f}"
            for name, digits in zip(MEASURED, (0, 1, 1), strict=True)
        ),
        "" if exponent is None else f"{exponent:.2f}",
        _claimed_exponent(row),
    )


def _claimed_exponent(row: dict[str, Any]) -> str:
    """Return the slope of the paper's formula at the same values."""
    costs = _by_formula(row)
    exponent = slope([point["value"] for point in row["points"]], costs) if costs else None
    return "" if exponent is None else f"{exponent:.2f}"


def _by_formula(row: dict[str, Any]) -> list[float]:
    """Return the paper's formula at each point, empty where it does not apply."""
    costs = [claimed(row["method"], row["sweep"], point["value"]) for point in row["points"]]
    return [cost for cost in costs if cost is not None]


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw a panel for each sweep: milliseconds a step by value, on logarithmic axes with a shared scale."""
    sweeps = [name for name in SWEEPS if any(row["sweep"] == name for row in rows)]
    if not sweeps:
        return []
    figure, panels = new_grid(len(sweeps), 4, width=2.8, height=2.4)
    for sweep, panel in zip(sweeps, panels, strict=True):
        for row in (row for row in rows if row["sweep"] == sweep):
            _draw(panel, row)
        panel.set(xscale="log", yscale="log", xlabel=sweep.replace("_", " "), ylabel="ms a step")
        values = sorted({point["x"] for row in rows if row["sweep"] == sweep for point in row["points"]})
        panel.set_xticks(values, [short_number(value) for value in values])
        panel.minorticks_off()
    lowest, highest = min(panel.get_ylim()[0] for panel in panels), max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(lowest, highest)
        panel.yaxis.set_major_formatter(lambda value, _: short_number(value))
    legend_below(figure, panels[sweeps.index("size") if "size" in sweeps else 0])
    caption = (
        "Milliseconds of one training step while one value grows, on logarithmic axes. Grey: the growth of the paper's "
        "formula, from the first point of each line."
    )
    return [Drawing("growth", caption, figure)]


def _draw(panel: Axes, row: dict[str, Any]) -> None:
    """Draw the measured points, and the formula where it applies."""
    x, y = zip(*((p["x"], p["milliseconds_a_step"]) for p in row["points"]), strict=True)
    panel.plot(x, y, **series(list(WAYS).index(row["method"])), label=row["method"])
    if costs := _by_formula(row):
        panel.plot(x, [y[0] * cost / costs[0] for cost in costs], color=COLOURS[-1], linestyle=":", zorder=1)


def short_number(value: float) -> str:
    """Write a number in few characters, for an axis.

    >>> short_number(34014), short_number(237), short_number(2.0)
    ('34k', '237', '2')
    """
    return f"{value / 1000:.0f}k" if value >= 10_000 else f"{value:g}"


EFFICIENCY = Experiment(
    name="efficiency",
    store="efficiency",
    about="How do StableRule's time and memory grow (Section 6.5)?",
    needs="half a minute a cell, six minutes for the longest rules, on a core of its own",
    graphs=("fb15k-237",),
    more_graphs=("umls", "geography"),
    methods=tuple(WAYS),
    seeds=(0,),
    cells=cells,
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=figures,
)
