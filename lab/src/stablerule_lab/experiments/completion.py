"""Completion under query shift, the paper's Table 3: the models of `methods`, evaluated by groups of paths."""

from typing import Any

from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.group_figure import group_figure
from stablerule_lab.experiments.group_tables import group_tables, mrr_by_graph, summarise_groups
from stablerule_lab.experiments.methods import (
    LARGE,
    LARGE_MINUTES,
    LEFT_OUT,
    METHODS,
    MINUTES,
    SMALL,
    STORE,
    is_cheap,
    made_with,
    run_cell,
)
from stablerule_lab.experiments.printed import COMPLETION
from stablerule_lab.pages.tables import Table


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the MRR of all methods on all graphs, then all figures of each graph."""
    align = own["align"]
    return [*mrr_by_graph(rows, align, COMPLETION, tuple(METHODS)), *group_tables(rows, align, COMPLETION)]


COMPLETION_UNDER_SHIFT = Experiment(
    name="completion",
    store=STORE,
    about="How accurate is each method in five groups of test facts: mean, deviation, worst (Table 3)?",
    needs=f"up to {MINUTES:g} minutes a cell, {LARGE_MINUTES:g} on large graphs; shares the cells of `methods`",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=tuple(METHODS),
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
