"""The spec of the ablation, the paper's table 7: StableRule with one thing taken away, judged like all methods."""

from __future__ import annotations

from typing import Any

from stablerule_lab.experiments.differences import change
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.group_figure import group_figure
from stablerule_lab.experiments.group_tables import by_seed, group_tables, summarise_groups
from stablerule_lab.experiments.methods import ABLATED, LARGE, LEFT_OUT, SMALL, STORE, is_cheap, made_with, run_cell
from stablerule_lab.experiments.printed import ABLATION, cited_graph, whose_print
from stablerule_lab.pages.tables import Table

OURS = "stablerule"
WHOLES = ("full recipe", "bare")  # from which something is taken away; from StableRule by all others
METHODS = (OURS, *ABLATED, "tabular")
# What is printed stands beside what is nearest to it.
PAPER_NAMES = dict.fromkeys(METHODS, "") | {
    "bare": "stablerule",
    "bare nodecor": "nodecor",
    "bare firstmoment": "firstmoment",
    "bare noback": "noback",
    "full recipe": "stablerule",
    "full recipe nodecor": "nodecor",
}
HEADINGS = (
    "method",
    "against",
    "seeds",
    "difference of MRR",
    "95%, over seeds",
    "of its value",
    "printed, of its value",
)


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the figures of each graph, and what is lost with what is taken away."""
    return [*group_tables(rows, own["align"], ABLATION, names=PAPER_NAMES), *differences(rows, own["align"])]


def differences(rows: list[dict[str, Any]], align: str) -> list[Table]:
    """Return a table for each graph: the MRR over groups less that of the whole, seed by seed."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        there = {row["method"]: row for row in rows if row["graph"] == graph}
        lines = []
        for method, row in there.items():
            whole = next((name for name in WHOLES if method.startswith(name)), OURS)
            if method != whole and whole in there:
                lines += _difference(row, there[whole], align)
        if lines:
            title = f"{graph}: what is lost{whose_print(graph)}"
            made.append(Table(title, HEADINGS, tuple(lines)).without_empty())
    return made


def _difference(row: dict[str, Any], whole: dict[str, Any], align: str) -> list[tuple[str, ...]]:
    """A line; none if no seed is there for both."""
    found = change(by_seed(row, align), by_seed(whole, align))
    if found is None:
        return []
    interval = "" if found.interval is None else "{:+.4f} to {:+.4f}".format(*found.interval)
    return [
        (
            row["method"],
            whole["method"],
            str(found.seeds),
            f"{found.difference:+.4f}",
            interval,
            f"{found.share:+.2%}",
            _printed_difference(row["graph"], row["method"], whole["method"]),
        )
    ]


def _printed_difference(graph: str, method: str, whole: str) -> str:
    """What the paper prints for it, as a share of the whole."""
    cited = ABLATION.get(cited_graph(graph), {})
    own, other = (cited.get(PAPER_NAMES[name]) for name in (method, whole))
    if own is None or other is None:
        return ""
    return f"{own.mrr / other.mrr - 1:+.2%}"


TAKEN_APART = Experiment(
    name="ablation",
    store=STORE,
    about="StableRule with one thing taken away, and with the paper's way to add rules up (table 7)",
    needs="10 to 60 s a cell, minutes on large graphs, up to 45 minutes for the full recipe",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=METHODS,
    seeds=(0, 1, 2, 3, 4),
    options={"align": "density"},
    run=run_cell,
    made_with=made_with,
    left_out=LEFT_OUT,
    is_cheap=is_cheap,
    summarise=summarise_groups,
    tables=tables,
    figures=lambda rows, own: group_figure(rows, own["align"]),
)
