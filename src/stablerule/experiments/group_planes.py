"""Groups by paths in the plane, for one relation of each graph, the paper's figure 3; and what bodies link them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.experiments.apart import run_apart
from stablerule.experiments.covered_bodies import covered_bodies
from stablerule.learning import Tabular
from stablerule.shifts import by_paths
from stablerule.shifts.signatures import path_signatures, reduce_signatures

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.experiments.cells import Cell

MOST_POINTS = 600  # a figure with more is a blot


def made_with(cell: Cell) -> dict[str, Any]:
    """Say what a result depends on beside its cell: the settings of the learner of bodies."""
    return {"settings": {"constants": False, "aggregation": "max_plus"}}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Work in a process of its own."""
    return run_apart(look, cell, cache)


def look(cell: Cell, cache: Path) -> dict[str, Any]:
    """Take the relation with the most test facts, group them, and lay their path signatures in the plane.

    separation: of the variance in the plane, the share that lies between the groups.
    linked: in each group, the share of facts whose ends any closed path links, of length 3 at most.
    coverage_of_bodies: how often the bodies of the best rules by counts link the facts of each group.
    """
    dataset, seed = load(str(cell["graph"])), int(cell["seed"])
    facts = dataset.test.distinct()
    relation = int(np.bincount(facts.relations).argmax())
    own = facts.take(facts.relations == relation)
    grouping = by_paths(own, dataset.graph, seed=seed, measure=False)
    signatures = path_signatures(own, dataset.graph)
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
    """(n, s) -> (n, 2): the two directions in which the points differ most."""
    centred = points - points.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ directions[:2].T
    return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))


def separation(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Share of the variance between groups.

    >>> apart = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    >>> separation(apart, np.array([0, 0, 1, 1])), separation(apart, np.array([0, 1, 0, 1]))
    (1.0, 0.0)
    """
    total = float(((points - points.mean(0)) ** 2).sum())
    groups = [points[labels == label] for label in np.unique(labels)]
    between = sum(len(group) * float(((group.mean(0) - points.mean(0)) ** 2).sum()) for group in groups)
    return between / total if total else 0.0
