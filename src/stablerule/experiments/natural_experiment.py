"""The spec of one relation under a natural shift, the paper's figure 4."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from stablerule.experiments.experiment import Experiment
from stablerule.experiments.methods import cells
from stablerule.experiments.natural import GRAPH, MINUTES, SCALING, run_cell
from stablerule.experiments.tables import Table

ALL, CONFIDENCE = "all", "confidence"


def summarise(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each method: MRR by country, mean, deviation and worst over countries, means over seeds."""
    by_method = defaultdict(list)
    for one in results:
        by_method[one["cell"]["graph"], one["cell"]["method"]].append(one["result"])
    rows = []
    for (graph, method), runs in by_method.items():
        names = list(runs[0]["groups"])
        mrr = np.array([[run["groups"][name]["realistic"]["mrr"] for name in names] for run in runs]).mean(0)
        rows.append(
            {"graph": graph, "method": method, "seeds": len(runs)}
            | {"countries": dict(zip(names, mrr.tolist(), strict=True))}
            | {"mean": float(mrr.mean()), "deviation": float(mrr.std()), "worst": names[int(mrr.argmin())]}
            | {"queries": {name: runs[0]["groups"][name]["n"] for name in names}}
            | {"optimistic": float(np.mean([run["whole"]["optimistic"]["mrr"] for run in runs]))}
            | {"seconds": float(np.mean([run["seconds"]["learn"] + run["seconds"]["rank"] for run in runs]))}
            | {"ended_by": runs[0]["ended_by"], "coverage_of_bodies": runs[0]["coverage_of_bodies"]}
        )
    return rows


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """Return results by country, and for each learner of rules how often its best bodies link authors to papers."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = sorted((row for row in rows if row["graph"] == graph), key=lambda row: (-row["mean"], row["method"]))
        countries = list(some[0]["countries"])
        headings = ("method", "seeds", *countries, "mean", "worst", "MRR of all, kind ties", "seconds", "ended by")
        made.append(Table(f"{graph}: MRR of the author", headings, tuple(_line(row) for row in some)))
        made += [_coverage(row, countries) for row in some if row["coverage_of_bodies"]]
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    figures = (f"{mrr:.3f}" for mrr in row["countries"].values())
    mean = f"{row['mean']:.3f} ± {row['deviation']:.3f}"
    rest = (row["worst"], f"{row['optimistic']:.3f}", f"{row['seconds']:.0f}", str(row["ended_by"]))
    return (row["method"], str(row["seeds"]), *figures, mean, *rest)


def _coverage(row: dict[str, Any], countries: list[str]) -> Table:
    by_rule: dict[str, dict[str, float]] = defaultdict(dict)
    for one in row["coverage_of_bodies"]:
        by_rule[one["rule"]] |= {one["group"]: one["covered"], ALL: one["average"], CONFIDENCE: one["confidence"]}
    lines = tuple(
        (f"`{rule}`", f"{found[CONFIDENCE]:.2f}", *(f"{found.get(name, 0):.1%}" for name in (*countries, ALL)))
        for rule, found in by_rule.items()
    )
    headings = ("rule", CONFIDENCE, *countries, ALL)
    return Table(f"{row['graph']}: authors that a body of {row['method']} links to the paper", headings, lines)


NATURAL_SHIFT = Experiment(
    name="natural",
    folder="natural",
    about="who wrote a paper, by the country of the author, with the coverage of bodies (figure 4)",
    needs=f"up to {MINUTES:g} minutes a cell and 6 GB",
    graphs=(GRAPH,),
    methods=SCALING,
    seeds=(0,),
    cells=lambda graphs, methods, seeds, own: cells(graphs, methods, seeds),
    run=run_cell,
    summarise=lambda results, cache, own: summarise(results),
    tables=lambda rows, own: tables(rows),
)
