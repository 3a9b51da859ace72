"""Completion without a shift, the paper's Table 4: the rule learners of `methods` on all test facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.registry import METHODS as LEARNERS
from stablerule_lab.experiments.by_graph import mrr_cell, table_by_graph
from stablerule_lab.experiments.cells import grouped
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.group_tables import PAPER_NAMES, mrr_of_tails
from stablerule_lab.experiments.methods import (
    LARGE,
    LARGE_MINUTES,
    LEFT_OUT,
    METHODS,
    SMALL,
    STORE,
    is_cheap,
    made_with,
    run_cell,
)
from stablerule_lab.experiments.printed import NO_SHIFT, cited_graph, whose_print
from stablerule_lab.experiments.variants import FORMS
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from stablerule_lab.experiments.printed import Printed

METRICS = ("mrr", "hits@1", "hits@10")
HEADINGS = (
    "method",
    "seeds",
    "MRR",
    "Hits@1",
    "Hits@10",
    "MRR, optimistic ties",
    "MRR, tails only",
    "printed MRR",
    "coverage",
)
RULES = tuple(name for name, variant in METHODS.items() if LEARNERS[variant.learner].explains)


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph and method: figures over all test facts, averaged over seeds."""
    rows = []
    for (graph, method), ran in grouped(results, "graph", "method").items():
        runs = [one["result"] for one in ran]
        row: dict[str, Any] = {"graph": graph, "method": method, "seeds": len(runs)}
        for form in FORMS:
            row[form] = {metric: float(np.mean([run["whole"][form][metric] for run in runs])) for metric in METRICS}
        row["tails"] = mrr_of_tails(runs)
        rows.append(row | {"coverage": float(np.mean([run["coverage"] for run in runs]))})
    return rows


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the MRR of all methods on all graphs, then a table for each graph, the best method first."""
    cells = {(r["method"], r["graph"]): mrr_cell(r["realistic"]["mrr"], r["seeds"], _printed(r)) for r in rows}
    made = table_by_graph("MRR by graph", cells, RULES)
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = [row for row in rows if row["graph"] == graph]
        some.sort(key=lambda row: (-row["realistic"]["mrr"], row["method"]))
        made.append(Table(graph + whose_print(graph), HEADINGS, tuple(_line(row) for row in some)))
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    printed = _printed(row)
    return (
        row["method"],
        str(row["seeds"]),
        *(f"{row['realistic'][metric]:.3f}" for metric in METRICS),
        f"{row['optimistic']['mrr']:.3f}",
        f"{row['tails']:.3f}" if row["tails"] is not None else "",
        f"{printed.mrr / 100:.3f}" if printed else "",
        f"{row['coverage']:.3f}",
    )


def _printed(row: dict[str, Any]) -> Printed | None:
    return NO_SHIFT.get(cited_graph(row["graph"]), {}).get(PAPER_NAMES.get(row["method"], row["method"]))


WITHOUT_SHIFT = Experiment(
    name="no-shift",
    store=STORE,
    about="How accurate are rule learners on all test facts (Table 4)?",
    needs=f"up to {LARGE_MINUTES:g} minutes a cell; shares the cells of `methods`",
    graphs=("fb15k-237", "yago3-10-quarter"),
    more_graphs=(*SMALL, *(name for name in LARGE if name == "wn18rr")),
    methods=RULES,
    seeds=(0, 1, 2, 3, 4),
    run=run_cell,
    made_with=made_with,
    left_out=LEFT_OUT,
    is_cheap=is_cheap,
    summarise=summarise,
    tables=tables,
)
