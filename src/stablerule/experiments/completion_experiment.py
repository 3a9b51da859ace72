"""The spec of completion under query shift, the paper's table 3: the models of `methods`, judged by groups of paths."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.experiments.experiment import Experiment
from stablerule.experiments.judging import FORMS
from stablerule.experiments.methods import FOLDER, LARGE, LARGE_MINUTES, METHODS, MINUTES, SMALL, cells, run_cell
from stablerule.experiments.path_groups import ALIGNMENTS
from stablerule.experiments.printed import COMPLETION
from stablerule.experiments.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.experiments.experiment import Options
    from stablerule.experiments.printed import Printed

METRICS = ("mrr", "hits@1", "hits@10")
HEADINGS = (
    "method",
    "seeds",
    "MRR",
    "by chance",
    "worst",
    "Hits@1",
    "Hits@10",
    "MRR, kind ties",
    "printed MRR",
    "printed Hits@1",
    "printed Hits@10",
    "over seeds",
)


def summarise(results: list[dict[str, Any]], cache: Path, own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph and method.

    For each alignment of the clusters and each way to break ties: mean, deviation and worst over the groups, where the
    figures of a group are first averaged over seeds, as in the paper; by_chance: the deviation of groups of the same
    sizes dealt out at random; over_seeds: the deviation of the mean over groups from seed to seed.
    """
    by_method = defaultdict(list)
    for one in results:
        by_method[one["cell"]["graph"], one["cell"]["method"]].append(one)
    rows = []
    for (graph, method), runs in by_method.items():
        row: dict[str, Any] = {"graph": graph, "method": method, "seeds": [run["cell"]["seed"] for run in runs]}
        for align in ALIGNMENTS:
            found = [run["result"]["groups"][align] for run in runs]
            row[align] = {form: _over_groups(found, form) for form in FORMS}
            row["sizes"] = {name: group["n"] for name, group in found[0]["groups"].items()}
        rows.append(row)
    return rows


def _over_groups(found: list[dict[str, Any]], form: str) -> dict[str, Any]:
    """found: of each seed."""
    names = list(found[0]["groups"])
    told: dict[str, Any] = {"by_chance": float(np.mean([one["by_chance"][form] for one in found]))}
    for metric in METRICS:
        values = np.array([[one["groups"][name][form][metric] for name in names] for one in found])  # (seeds, groups)
        of_group = values.mean(0)
        worst = int(of_group.argmin())
        told[metric] = {
            "mean": float(of_group.mean()),
            "deviation": float(of_group.std()),
            "worst": float(of_group[worst]),
            "worst_group": names[worst],
            "over_seeds": float(values.mean(1).std(ddof=1)) if len(found) > 1 else None,
        }
    return told


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a table for each graph, the best mean first."""
    align, made = own["align"], []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = [row for row in rows if row["graph"] == graph]
        some.sort(key=lambda row: (-row[align]["realistic"]["mrr"]["mean"], row["method"]))
        made.append(Table(graph, HEADINGS, tuple(_line(row, align) for row in some)))
    return made


def _line(row: dict[str, Any], align: str) -> tuple[str, ...]:
    honest, kind = row[align]["realistic"], row[align]["optimistic"]
    mrr = honest["mrr"]
    printed = COMPLETION.get(row["graph"], {}).get(_paper_name(row["method"]))
    return (
        row["method"],
        str(len(row["seeds"])),
        _spread(mrr),
        f"± {honest['by_chance']:.3f}",
        f"{mrr['worst']:.3f}",
        _spread(honest["hits@1"]),
        _spread(honest["hits@10"]),
        _spread(kind["mrr"]),
        *_printed(printed),
        f"± {mrr['over_seeds']:.4f}" if mrr["over_seeds"] is not None else "",
    )


def _paper_name(method: str) -> str:
    """The paper's own way to add rules up, and NCRL as published, stand beside what is printed for them, too."""
    return {"stablerule count": "stablerule", "ncrl faithful": "ncrl"}.get(method, method)


def _spread(found: dict[str, float]) -> str:
    return f"{found['mean']:.3f} ± {found['deviation']:.3f}"


def _printed(found: Printed | None) -> tuple[str, ...]:
    if found is None or found.deviation is None:
        return ("", "", "")
    pairs = zip(found[:3], found.deviation, strict=True)
    return tuple(f"{mean / 100:.3f} ± {deviation / 100:.3f}" for mean, deviation in pairs)


COMPLETION_UNDER_SHIFT = Experiment(
    name="completion",
    folder=FOLDER,
    about="every method on test facts in five groups by their paths: mean, deviation, worst group (table 3)",
    needs=f"up to {MINUTES:g} minutes a cell, {LARGE_MINUTES:g} on large graphs; the cells of `methods`",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=tuple(METHODS),
    seeds=(0, 1, 2, 3, 4),
    options={"align": "density"},
    cells=lambda graphs, methods, seeds, own: cells(graphs, methods, seeds),
    run=run_cell,
    summarise=summarise,
    tables=tables,
)
