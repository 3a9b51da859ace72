"""The spec of the comparison of methods: how good each is on test as it is, and what it costs."""

from __future__ import annotations

from typing import Any

from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.methods import FOLDER, LARGE, LARGE_MINUTES, METHODS, MINUTES, SMALL, run_cell
from stablerule.experiments.printed import COMPLETION
from stablerule.reports.tables import Table

HEADINGS = (
    "method",
    "MRR",
    "Hits@1",
    "Hits@10",
    "MRR, kind ties",
    "cited",
    "learn, s",
    "rank, s",
    "cores",
    "peak, GB",
    "seed",
    "ended by",
    "settings",
)


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each cell."""
    return [one["cell"] | one["result"] for one in results]


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a table for each graph, the best method first."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = [row for row in rows if row["graph"] == graph]
        some.sort(key=lambda row: (-row["whole"]["realistic"]["mrr"], row["method"], row["seed"]))
        made.append(Table(graph, HEADINGS, tuple(_line(row) for row in some)))
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    honest, kind = row["whole"]["realistic"], row["whole"]["optimistic"]
    figures = (*(honest[name] for name in ("mrr", "hits@1", "hits@10")), kind["mrr"])
    seconds = (f"{row['seconds'][name]:.0f}" for name in ("learn", "rank"))
    return (
        row["method"],
        *(f"{value:.3f}" for value in figures),
        _cited(row["graph"], row["method"]),
        *seconds,
        str(row["cores"]),
        f"{row['peak_gb']:.1f}",
        str(row["seed"]),
        _ended(row),
        ", ".join(f"{name}={value}" for name, value in row["settings"].items()) or "defaults",
    )


def _cited(graph: str, method: str) -> str:
    """What the paper prints for it, if it does."""
    printed = COMPLETION.get(graph, {}).get(method)
    return f"{printed.mrr / 100:.3f}" if printed else ""


def _ended(row: dict[str, Any]) -> str:
    if row["ended_by"] == "minutes":
        return f"{row['minutes']:g} minutes, epoch {row['epochs']}"
    return str(row["ended_by"])


METHODS_COMPARED = Experiment(
    name="methods",
    folder=FOLDER,
    about="every method with its settings, on graphs as they are: accuracy, seconds, memory",
    needs=f"up to {MINUTES:g} minutes a cell, {LARGE_MINUTES:g} on large graphs",
    graphs=SMALL,
    more_graphs=(*LARGE, "geography"),
    methods=tuple(METHODS),
    seeds=(0,),
    run=run_cell,
    summarise=summarise,
    tables=tables,
)
