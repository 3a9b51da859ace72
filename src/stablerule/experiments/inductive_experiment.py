"""The spec of inductive completion, the paper's table 5."""

from __future__ import annotations

from typing import Any

from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.group_figure import group_figure
from stablerule.experiments.group_tables import group_tables, summarise_groups
from stablerule.experiments.inductive import (
    ENDING,
    GRAIL,
    LEFT_OUT,
    METHODS_FOR_NEW,
    MINUTES,
    PARTED,
    PARTED_MINUTES,
    is_cheap,
    made_with,
    run_cell,
)
from stablerule.experiments.printed import INDUCTIVE
from stablerule.reports.tables import Table

# The paper's own partition is not public: its figures stand beside those of ours.
PRINTED = {f"{graph}{ENDING}": rows for graph, rows in INDUCTIVE.items()}


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return an overview of the versions of each graph of GraIL, then a table for each graph."""
    families = dict.fromkeys(graph.partition("_")[0] for graph in GRAIL)
    found = [_overview(family, rows, own["align"]) for family in families]
    return [*(table for table in found if table.rows), *group_tables(rows, own["align"], PRINTED)]


def _overview(family: str, rows: list[dict[str, Any]], align: str) -> Table:
    """The mean over groups and their deviation, a column for each version."""
    versions = [graph for graph in GRAIL if graph.startswith(family)]
    told = {
        (row["method"], row["graph"]): "{mean:.3f} ± {deviation:.3f}".format(**row[align]["realistic"]["mrr"])
        for row in rows
        if row["graph"] in versions
    }
    lines = [(name, *(told.get((name, graph), "") for graph in versions)) for name in METHODS_FOR_NEW]
    kept = tuple(line for line in lines if any(line[1:]))
    return Table(f"MRR on the versions of {family}", ("method", *versions), kept)


ON_NEW_ENTITIES = Experiment(
    name="inductive",
    store="inductive",
    about="methods that can answer about entities that they have never seen, in five groups by paths (table 5)",
    needs=f"up to {MINUTES:g} minutes a cell, {PARTED_MINUTES:g} on the partitions, a third of that for dear methods",
    graphs=(*GRAIL, *PARTED),
    more_graphs=(f"geography{ENDING}",),
    methods=METHODS_FOR_NEW,
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
