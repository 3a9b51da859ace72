"""The spec of inductive completion, the paper's table 5."""

from stablerule.experiments.experiment import Experiment
from stablerule.experiments.group_figure import group_figure
from stablerule.experiments.group_tables import group_tables, summarise_groups
from stablerule.experiments.inductive import (
    EMBEDDINGS,
    ENDING,
    GRAIL,
    METHODS_FOR_NEW,
    MINUTES,
    PARTED,
    PARTED_MINUTES,
    made_with,
    run_cell,
)
from stablerule.experiments.printed import INDUCTIVE

# The paper's own partition is not public: its figures stand beside those of ours.
PRINTED = {f"{graph}{ENDING}": rows for graph, rows in INDUCTIVE.items()}

ON_NEW_ENTITIES = Experiment(
    name="inductive",
    folder="inductive",
    about="methods that can answer about entities that they have never seen, in five groups by paths (table 5)",
    needs=f"up to {MINUTES:g} minutes a cell, {PARTED_MINUTES:g} on the partitions",
    graphs=(*GRAIL, *PARTED),
    more_graphs=(f"geography{ENDING}",),
    methods=METHODS_FOR_NEW,
    seeds=(0, 1, 2, 3, 4),
    options={"align": "density"},
    run=run_cell,
    made_with=made_with,
    summarise=summarise_groups,
    tables=lambda rows, own: group_tables(rows, own["align"], PRINTED, absent=EMBEDDINGS),
    figures=lambda rows, own: group_figure(rows, own["align"]),
)
