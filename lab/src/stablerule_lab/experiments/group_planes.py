"""Groups by paths in the plane for one relation of each graph, the paper's Figure 3, and the bodies that link them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.extending import reduce_signatures
from stablerule.learning import Tabular
from stablerule.shifts import by_paths, make_path_signatures
from stablerule_lab.experiments.covered_bodies import coverage_figure, coverage_table, covered_bodies
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.methods import LARGE, SMALL
from stablerule_lab.experiments.process import run_apart
from stablerule_lab.pages.plots import COLOURS, MARKERS, legend_below, new_grid
from stablerule_lab.pages.results_page import Drawing
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule_lab.experiments.cells import Cell

MOST_POINTS = 600  # more would overlap


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the settings of the rule learner."""
    return {"settings": {"constants": False, "aggregation": "max_plus"}}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `look` in a separate process."""
    return run_apart(look, cell, cache)


def look(cell: Cell, cache: Path) -> dict[str, Any]:
    """Group the test facts of the most frequent relation, and project their path signatures to the plane.

    separation: the share of the variance in the plane that is between groups.
    linked: the share of each group's facts with a closed path of at most three steps.
    coverage_of_bodies: the share of each group's facts that the bodies of the best counted rules link.
    """
    dataset, seed = load(str(cell["graph"])), int(cell["seed"])
    facts = dataset.test.distinct()
    relation = int(np.bincount(facts.relations).argmax())
    own = facts.take(facts.relations == relation)
    grouping = by_paths(own, dataset.graph, seed=seed, measure=False)
    signatures = make_path_signatures(own, dataset.graph)
    points = in_plane(reduce_signatures(signatures.features, seed=seed))
    linked = np.asarray(signatures.linked.sum(axis=1)).ravel() > 0
    some = np.random.default_rng(seed).permutation(len(points))[:MOST_POINTS]
    name = dataset.vocabulary.relation_name(relation)
    rules = Tabular(seed=seed, **made_with(cell)["settings"]).fit(dataset.graph)
    return {
        "relation": name,
        "facts": len(own),
        "groups": list(grouping.names),
        "points": np.round(points[some], 3).tolist(),
        "labels": grouping.labels[some].tolist(),
        "separation": separation(points, grouping.labels),
        "linked": [float(linked[grouping.labels == i].mean()) for i in range(len(grouping.names))],
        "coverage_of_bodies": covered_bodies(rules, own, grouping, dataset.graph, relation=name),
        "data": dataset.sha256,
    }


def in_plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project points (n, s) to their first two principal components (n, 2)."""
    centred = points - points.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ directions[:2].T
    return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))


def separation(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the share of the variance that is between groups.

    >>> apart = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    >>> separation(apart, np.array([0, 0, 1, 1])), separation(apart, np.array([0, 1, 0, 1]))
    (1.0, 0.0)
    """
    total = float(((points - points.mean(0)) ** 2).sum())
    groups = [points[labels == label] for label in np.unique(labels)]
    between = sum(len(group) * float(((group.mean(0) - points.mean(0)) ** 2).sum()) for group in groups)
    return between / total if total else 0.0


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each cell."""
    return [one["cell"] | one["result"] for one in results]


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the relation and separation of each graph, then the coverage of bodies."""
    if not rows:
        return []
    lines = tuple(_line(row) for row in rows)
    about = ("graph", "relation with the most test facts", "facts", "variance between groups")
    headings = (*about, *(f"linked, {group}" for group in rows[0]["groups"]))
    coverage = [
        coverage_table(_titled(row), row["coverage_of_bodies"], row["groups"])
        for row in rows
        if row["coverage_of_bodies"]
    ]
    return [Table("Groups by paths", headings, lines), *coverage]


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    linked = (f"{share:.0%}" for share in row["linked"])
    return (row["graph"], row["relation"], f"{row['facts']:,}", f"{row['separation']:.1%}", *linked)


def _titled(row: dict[str, Any]) -> str:
    return f"{row['graph']}: facts of {row['relation']} that a body links, by groups of paths"


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw the facts of each graph in a panel, then a figure of the coverage of bodies for each graph."""
    if not rows:
        return []
    figure, panels = new_grid(len(rows), 3, width=3.2, height=2.8)
    for row, panel in zip(rows, panels, strict=True):
        for label, name in enumerate(row["groups"]):
            here = [point for point, at in zip(row["points"], row["labels"], strict=True) if at == label]
            x, y = zip(*here, strict=True) if here else ((), ())
            panel.scatter(x, y, c=COLOURS[label], marker=MARKERS[label], label=name, s=9, linewidths=0, alpha=0.75)
        panel.set(title=f"{row['graph']}: {row['relation'].strip('/').rpartition('/')[2]}", xticks=[], yticks=[])
    legend_below(figure, panels[0], 5)
    caption = (
        "Test facts of one relation by the paths between head and tail, on the two axes in which they differ most."
    )
    coverage = [
        coverage_figure(f"coverage-{row['graph']}", f"{_titled(row)}.", row["coverage_of_bodies"], row["groups"])
        for row in rows
        if row["coverage_of_bodies"]
    ]
    return [Drawing("planes", caption, figure), *coverage]


GROUPS_IN_THE_PLANE = Experiment(
    name="planes",
    store="planes",
    about="How different are the groups, and which bodies link their facts (Figure 3)?",
    needs="seconds a cell, a minute on large graphs",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=("by_paths",),
    seeds=(0,),
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=figures,
)
