"""The spec of the train-side experiment: does the weighting help?"""

from __future__ import annotations

from typing import Any

from stablerule_lab.experiments.experiment import CACHE, Experiment
from stablerule_lab.experiments.train_side import runs
from stablerule_lab.experiments.train_side.summary import summarise
from stablerule_lab.pages.tables import Table

HEADINGS = ("method", "bias", "seeds", "mean", "worst", "deviation")
COMPARED = {"mean": "mean", "worst": "worst", "likelihood": "log P of other groups"}


def tables(rows: list[dict[str, Any]], reference: str) -> list[Table]:
    """Return a table for each graph: a line for each bias and method.

    >>> gain = {"difference": 0.01, "seeds": [-0.02, 0.04]}
    >>> row = {"graph": "umls", "bias": 0.9, "method": "rff", "seeds": 5, "mean": 0.8, "worst": 0.7, "deviation": 0.1}
    >>> (made,) = tables([row | {"difference": {"mean": gain}}], "nodecor")
    >>> made.rows[0]
    ('rff', '0.9', '5', '0.800', '0.700', '0.100', '+0.010 (-0.020 to +0.040)', '', '')
    """
    headings = (*HEADINGS, *(f"{what} - {reference}" for what in COMPARED.values()))
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        own = sorted((row for row in rows if row["graph"] == graph), key=lambda row: row["bias"])
        made.append(Table(graph, headings, tuple(_line(row) for row in own)))
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    figures = (f"{row[name]:.3f}" for name in ("mean", "worst", "deviation"))
    gains = row.get("difference", {})
    compared = (_gain(gains[name]) if name in gains else "" for name in COMPARED)
    return (row["method"], str(row["bias"]), str(row["seeds"]), *figures, *compared)


def _gain(found: dict[str, Any]) -> str:
    """A difference with its interval: over seeds, or over queries, marked q, where there is one seed."""
    for kind, mark in (("seeds", ""), ("queries", " q")):
        if kind in found:
            low, high = found[kind]
            return f"{found['difference']:+.3f} ({low:+.3f} to {high:+.3f}){mark}"
    return f"{found['difference']:+.3f}"


TRAIN_SIDE = Experiment(
    name="train-side",
    store="train-side",
    about="learners on examples that favour one group of each relation, asked about all groups",
    needs="10 to 20 s a cell, minutes on fb15k-237",
    graphs=runs.GRAPHS,
    more_graphs=runs.CONFIRMING,
    methods=runs.MAIN,
    more_methods=tuple(name for name in runs.METHODS if name not in runs.MAIN),
    seeds=runs.SEEDS,
    options={"biases": runs.BIASES, "split": "test", "reference": "nodecor"},
    cells=lambda graphs, methods, seeds, own: runs.cells(graphs, methods, own["biases"], seeds, own["split"]),
    run=runs.run_cell,
    made_with=runs.made_with,
    summarise=lambda results, own: summarise(results, own[CACHE], reference=own["reference"]),
    tables=lambda rows, own: tables(rows, own["reference"]),
)
