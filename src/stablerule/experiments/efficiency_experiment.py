"""The spec of efficiency, the paper's section 6.5: does its complexity claim hold?"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.experiments.efficiency import SWEEPS, WAYS, cells, claimed, made_with, run_cell
from stablerule.experiments.experiment import Experiment, Options
from stablerule.reports.plots import COLOURS, legend_below, new_grid, series
from stablerule.reports.results_page import Drawing
from stablerule.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURED = {"milliseconds_a_step": "ms a step", "seconds": "seconds in all", "peak_gb": "peak, GB"}


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each sweep: its points, the best of all seeds, and the slope of each measure.

    A slope is the exponent: time grows as value^slope, by least squares on logarithms.
    """
    by_sweep: dict[tuple[str, ...], dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        cell = one["cell"]
        by_sweep[cell["graph"], cell["method"], cell["sweep"]][cell["value"]].append(one["result"])
    rows = []
    for (graph, method, sweep), found in by_sweep.items():
        points = []
        for value, runs in sorted(found.items()):
            # The machine is noisy, and noise only adds: the best run counts.
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
    """Return a line for each sweep: the measures at its ends, and the exponents."""
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
    """The slope of the paper's formula at the same values."""
    costs = _by_formula(row)
    exponent = slope([point["value"] for point in row["points"]], costs) if costs else None
    return "" if exponent is None else f"{exponent:.2f}"


def _by_formula(row: dict[str, Any]) -> list[float]:
    """What the paper's formula says at each point; nothing where it says nothing."""
    costs = [claimed(row["method"], row["sweep"], point["value"]) for point in row["points"]]
    return [cost for cost in costs if cost is not None]


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw a panel for each sweep: milliseconds a step against the value, logarithmic, with one scale for all."""
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
        "Milliseconds of one learning step while one thing grows, logarithmic scales. Grey: how the formula of the "
        "paper grows, from the first point of each line."
    )
    return [Drawing("growth", caption, figure)]


def _draw(panel: Axes, row: dict[str, Any]) -> None:
    """The measured points, and the formula where it says something."""
    x, y = zip(*((p["x"], p["milliseconds_a_step"]) for p in row["points"]), strict=True)
    panel.plot(x, y, **series(list(WAYS).index(row["method"])), label=row["method"])
    if costs := _by_formula(row):
        panel.plot(x, [y[0] * cost / costs[0] for cost in costs], color=COLOURS[-1], linestyle=":", zorder=1)


def short_number(value: float) -> str:
    """Write a number in few characters, for the side of a plot.

    >>> short_number(34014), short_number(237), short_number(2.0)
    ('34k', '237', '2')
    """
    return f"{value / 1000:.0f}k" if value >= 10_000 else f"{value:g}"


EFFICIENCY = Experiment(
    name="efficiency",
    store="efficiency",
    about="how time and memory of StableRule grow with facts, relations, rule length, d, T_d, O_d and N (section 6.5)",
    needs="half a minute a cell and six for the longest rules, with a core of its own",
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
