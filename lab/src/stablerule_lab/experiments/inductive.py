"""Methods on graphs with unseen entities, the paper's Table 5: GraIL's splits, and our own partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stablerule.datasets import load
from stablerule.registry import METHODS as LEARNERS
from stablerule.shifts.splits import split_inductive
from stablerule_lab.experiments.by_graph import table_by_graph
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.group_figure import group_figure
from stablerule_lab.experiments.group_tables import group_tables, mrr_by_graph, summarise_groups
from stablerule_lab.experiments.methods import DEAR, FAITHFUL, METHODS, SAME_LEARNER
from stablerule_lab.experiments.methods import is_cheap as is_cheap_on
from stablerule_lab.experiments.printed import INDUCTIVE
from stablerule_lab.experiments.process import run_apart
from stablerule_lab.experiments.variants import train_and_evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.graph import Dataset
    from stablerule_lab.experiments.cells import Cell
    from stablerule_lab.pages.tables import Table

GRAIL = tuple(f"{family}_v{version}" for family in ("wn18rr", "fb237") for version in (1, 2, 3, 4))
PARTED = ("wn18rr-inductive", "fb15k-237-inductive", "yago3-10-quarter-inductive")
ENDING = "-inductive"
MINUTES, PARTED_MINUTES = 15.0, 30.0
DEAR_MINUTES, DEAR_PARTED_MINUTES = 5.0, 10.0  # there are many splits; this is enough for the first ones
METHODS_FOR_NEW = tuple(name for name, variant in METHODS.items() if LEARNERS[variant.learner].inductive)
NO_EPOCH = "10 minutes are less than an epoch on fb15k-237-inductive, and this graph has seven times its entities"
LEFT_OUT = {(graph, FAITHFUL): SAME_LEARNER for graph in (*GRAIL, *PARTED)}
LEFT_OUT |= {("yago3-10-quarter-inductive", name): NO_EPOCH for name in ("nbfnet", "astarnet")}


def pair(name: str) -> tuple[Dataset, Dataset]:
    """Return the dataset to train on, and the one to test on, which has other entities.

    >>> learned_from, asked = pair("geography-inductive")
    >>> set(learned_from.vocabulary.entities) & set(asked.vocabulary.entities)
    set()
    """
    if name.endswith(ENDING):
        parts = split_inductive(load(name.removesuffix(ENDING)), seed=0).parts
        return parts["train"], parts["test"]
    return load(name), load(f"{name}_ind")


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the learner and its settings."""
    variant = METHODS[str(cell["method"])]
    return {"learner": variant.learner, "settings": variant.settings(whole(str(cell["graph"])))}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `evaluate_cell` in a separate process."""
    return run_apart(evaluate_cell, cell, cache)


def evaluate_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Train on one graph with the settings of the whole graph, and evaluate on the other."""
    name, variant = str(cell["graph"]), METHODS[str(cell["method"])]
    return train_and_evaluate(cell, variant, whole(name), minutes_for(variant.learner, name), *pair(name), cache)


def is_cheap(graph: str, method: str) -> bool:
    """Tell whether a method takes a minute or two on the whole graph.

    >>> is_cheap("wn18rr_v1", "ncrl"), is_cheap("fb237_v1", "ncrl")
    (True, False)
    """
    return is_cheap_on(whole(graph), method)


def minutes_for(learner: str, graph: str) -> float:
    """Return the time budget of a learner on a graph.

    >>> minutes_for("ncrl", "fb237_v1"), minutes_for("nbfnet", "fb237_v1"), minutes_for("nbfnet", "wn18rr-inductive")
    (15.0, 5.0, 10.0)
    """
    if learner in DEAR:
        return DEAR_PARTED_MINUTES if graph in PARTED else DEAR_MINUTES
    return PARTED_MINUTES if graph in PARTED else MINUTES


def whole(name: str) -> str:
    """Return the whole graph of a split or partition.

    >>> [whole(name) for name in ("fb237_v1", "wn18rr_v4", "fb15k-237-inductive")]
    ['fb15k-237', 'wn18rr', 'fb15k-237']
    """
    return name.removesuffix(ENDING).partition("_v")[0].replace("fb237", "fb15k-237")


# The paper's partitions are not public: its figures are shown beside ours.
PRINTED = {f"{graph}{ENDING}": rows for graph, rows in INDUCTIVE.items()}


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the MRR on our partitions, on GraIL's splits of each graph, then a table for each graph."""
    align = own["align"]
    made = mrr_by_graph([row for row in rows if row["graph"] not in GRAIL], align, PRINTED, METHODS_FOR_NEW)
    for family in dict.fromkeys(graph.partition("_")[0] for graph in GRAIL):
        cells = {
            (row["method"], row["graph"]): "{mean:.3f} ± {deviation:.3f}".format(**row[align]["realistic"]["mrr"])
            for row in rows
            if row["graph"] in GRAIL and row["graph"].startswith(family)
        }
        made += table_by_graph(f"MRR on GraIL's splits of {family}", cells, METHODS_FOR_NEW)
    return [*made, *group_tables(rows, align, PRINTED)]


ON_NEW_ENTITIES = Experiment(
    name="inductive",
    store="inductive",
    about="How accurate are methods on unseen entities, in five groups (Table 5)?",
    needs=f"up to {MINUTES:g} minutes a cell, {PARTED_MINUTES:g} on partitions, a third of that for slow methods",
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
