"""The spec of the ablation, the paper's table 7: StableRule with one thing taken away, judged like all methods."""

from stablerule.experiments.experiment import Experiment
from stablerule.experiments.group_figure import group_figure
from stablerule.experiments.group_tables import group_tables, summarise_groups
from stablerule.experiments.methods import ABLATED, FOLDER, LARGE, SMALL, made_with, run_cell
from stablerule.experiments.printed import ABLATION

METHODS = ("stablerule", *ABLATED, "tabular")
# What is printed stands beside what is learned and answered as printed.
PAPER_NAMES = dict.fromkeys(METHODS, "") | {
    "as printed": "stablerule",
    "as printed nodecor": "nodecor",
    "as printed firstmoment": "firstmoment",
    "as printed noback": "noback",
}

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
    made_with=made_with,
    summarise=summarise_groups,
    tables=lambda rows, own: group_tables(rows, own["align"], ABLATION, names=PAPER_NAMES),
    figures=lambda rows, own: group_figure(rows, own["align"]),
)
