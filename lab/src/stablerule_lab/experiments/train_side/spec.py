"""The spec of the train-side experiment: do the weights help?"""

from __future__ import annotations

from typing import Any

from stablerule_lab.experiments.by_graph import table_by_graph
from stablerule_lab.experiments.experiment import CACHE, Experiment
from stablerule_lab.experiments.train_side import runs
from stablerule_lab.experiments.train_side.summary import summarise
from stablerule_lab.pages.tables import Table

HEADINGS = ("method", "bias", "seeds", "mean", "worst", "deviation")
COMPARED = {"mean": "mean MRR", "worst": "worst group", "likelihood": "log P of other groups"}


def tables_by_bias(rows: list[dict[str, Any]], reference: str) -> list[Table]:
    """Return compact tables for each bias and figure: a line for each method, a column for each graph.

    A difference to the reference has half of its 95% interval over seeds.

    >>> gain = {"difference": 0.01, "seeds": [-0.02, 0.04]}
    >>> row = {"graph": "umls", "bias": 0.9, "method": "rff", "mean": 0.8, "worst": 0.7, "likelihood": {"others": -2}}
    >>> tables_by_bias([row | {"difference": {"mean": gain}}], "nodecor")[0].rows
    (('rff', '0.800 (+0.010 ± 0.030)'),)
    """
    made = []
    for bias in dict.fromkeys(row["bias"] for row in rows):
        for name, words in COMPARED.items():
            cells = {(row["method"], row["graph"]): _compact(row, name) for row in rows if row["bias"] == bias}
            made += table_by_graph(f"Bias {bias:g}: {words} and difference to {reference}, by graph", cells)
    return made


def _compact(row: dict[str, Any], name: str) -> str:
    value = row["likelihood"].get("others", float("nan")) if name == "likelihood" else row[name]
    found = row.get("difference", {}).get(name)
    if found is None:
        return f"{value:.3f}"
    low, high = found.get("seeds", (0, 0))
    half = f" ± {(high - low) / 2:.3f}" if "seeds" in found else ""
    return f"{value:.3f} ({found['difference']:+.3f}{half})"


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
    """Write a difference with its interval over seeds; with one seed, over queries and marked q."""
    for kind, mark in (("seeds", ""), ("queries", " q")):
        if kind in found:
            low, high = found[kind]
            return f"{found['difference']:+.3f} ({low:+.3f} to {high:+.3f}){mark}"
    return f"{found['difference']:+.3f}"


TRAIN_SIDE = Experiment(
    name="train-side",
    store="train-side",
    about="Do weights help when training examples favour one group of each relation?",
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
    tables=lambda rows, own: [*tables_by_bias(rows, own["reference"]), *tables(rows, own["reference"])],
)
