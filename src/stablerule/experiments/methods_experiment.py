"""The spec of the comparison of methods: how good each is on test as it is, and what it costs."""

from __future__ import annotations

from typing import Any

from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.group_tables import PAPER_NAMES
from stablerule.experiments.methods import (
    LARGE,
    LARGE_MINUTES,
    LEFT_OUT,
    METHODS,
    MINUTES,
    SMALL,
    STORE,
    made_with,
    run_cell,
)
from stablerule.experiments.printed import COMPLETION, SECONDS_ON_FB15K_237, cited_graph, whose_print
from stablerule.reports.tables import Table

HEADINGS = (
    "method",
    "MRR",
    "95%",
    "Hits@1",
    "Hits@10",
    "MRR, kind ties",
    "printed",
    "learn, s",
    "printed, s",
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
    """Return a table for each graph, the best method first, each with the first of its seeds.

    What more seeds say is told by groups, with `completion`.
    """
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        first: dict[str, dict[str, Any]] = {}
        for row in sorted((row for row in rows if row["graph"] == graph), key=lambda row: row["seed"]):
            first.setdefault(row["method"], row)
        some = sorted(first.values(), key=lambda row: (-row["whole"]["realistic"]["mrr"], row["method"]))
        made.append(Table(graph + whose_print(graph), HEADINGS, tuple(_line(row) for row in some)).without_empty())
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    honest, kind = row["whole"]["realistic"], row["whole"]["optimistic"]
    figures = (honest["hits@1"], honest["hits@10"], kind["mrr"])
    low, high = row["interval"]
    seconds = [f"{row['seconds'][name]:.0f}" for name in ("learn", "rank")]
    return (
        row["method"],
        f"{honest['mrr']:.3f}",
        f"{low:.3f}-{high:.3f}",
        *(f"{value:.3f}" for value in figures),
        _cited(row["graph"], row["method"]),
        seconds[0],
        _cited_seconds(row["graph"], row["method"]),
        seconds[1],
        str(row["cores"]),
        f"{row['peak_gb']:.1f}",
        str(row["seed"]),
        _ended(row),
        ", ".join(f"{name}={value}" for name, value in row["settings"].items()) or "defaults",
    )


def _cited(graph: str, method: str) -> str:
    """What the paper prints for it, if it does."""
    printed = COMPLETION.get(cited_graph(graph), {}).get(PAPER_NAMES.get(method, method))
    return f"{printed.mrr / 100:.3f}" if printed else ""


def _cited_seconds(graph: str, method: str) -> str:
    """What the paper prints for learners of rules on one graph, on a server with GPUs."""
    seconds = SECONDS_ON_FB15K_237.get(method) if graph == "fb15k-237" else None
    return "" if seconds is None else f"{seconds:,}"


def _ended(row: dict[str, Any]) -> str:
    if row["ended_by"] == "minutes":
        return f"{row['minutes']:g} minutes" + (f", epoch {row['epochs']}" if row["epochs"] else "")
    return str(row["ended_by"])


METHODS_COMPARED = Experiment(
    name="methods",
    store=STORE,
    about="every method with its settings, on graphs as they are: accuracy, seconds, memory",
    needs=f"up to {MINUTES:g} minutes a cell, {LARGE_MINUTES:g} on large graphs",
    graphs=SMALL,
    more_graphs=(*LARGE, "geography"),
    methods=tuple(METHODS),
    seeds=(0,),
    run=run_cell,
    made_with=made_with,
    left_out=LEFT_OUT,
    summarise=summarise,
    tables=tables,
)
