"""The spec of the ablation, the paper's table 7: StableRule with one thing taken away, judged like all methods."""

from stablerule.experiments.experiment import Experiment
from stablerule.experiments.group_figure import group_figure
from stablerule.experiments.group_tables import group_tables, summarise_groups
from stablerule.experiments.methods import ABLATED, FOLDER, LARGE, SMALL, run_cell
from stablerule.experiments.printed import ABLATION

METHODS = ("stablerule", "stablerule count", *ABLATED, "tabular")

TAKEN_APART = Experiment(
    name="ablation",
    folder=FOLDER,
    about="StableRule with one thing taken away, and with the paper's way to add rules up (table 7)",
    needs="10 to 30 s a cell, minutes on large graphs",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=METHODS,
    seeds=(0, 1, 2, 3, 4),
    options={"align": "density"},
    run=run_cell,
    summarise=summarise_groups,
    tables=lambda rows, own: group_tables(rows, own["align"], ABLATION),
    figures=lambda rows, own: group_figure(rows, own["align"]),
)
