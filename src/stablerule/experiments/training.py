"""Curves while StableRule learns, and correlations before and after the weights: the paper's figures 5 and 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.errors import InputError
from stablerule.experiments.apart import run_apart
from stablerule.experiments.printed import cited_graph
from stablerule.learning import StableRule
from stablerule.learning.options import PAPER_SIZES, Decorrelation
from stablerule.reasoning.option_types import join_options

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.experiments.cells import Cell

# What the weights may do, fields of `Decorrelation`: ours, with a price and a floor; ours as far as they go; and the
# form in print.
WEIGHTS: dict[str, dict[str, Any]] = {
    "ours": {"weight_steps": 50},
    "no floor": {"weight_steps": 200, "weight_penalty": 0.0, "share_floor": 0.0},
    "as printed": {"literal": True},
}
METHODS: dict[str, dict[str, Any]] = {
    "stablerule": {},
    "lengths in turn": {"training.order": "lengths", "mining.min_length": 2},
}
# The smallest and the largest batches of the paper, of which their curves alone are kept.
BATCHES: dict[str, dict[str, Any]] = {f"batches of {size}": {"training.batch_size": size} for size in (500, 8000)}
# Nothing is asked of these models: how rules are weighed need not be chosen.
LEARNING_ONLY = {"constants": False, "aggregation": "max_plus", "training.patience": None}
SHOWN = 40  # dimensions of a correlation matrix that are kept


def weights_on(graph: str) -> dict[str, dict[str, Any]]:
    """Return the options of all weights; the form in print has the paper's steps and rate for this graph.

    >>> weights_on("kinship")["as printed"]
    {'weight_steps': 200, 'weight_rate': 0.01, 'literal': True}
    """
    cited = cited_graph(graph)
    printed = StableRule.paper(cited if cited in PAPER_SIZES else "dblp").options
    rates = {name: printed[f"decorrelation.{name}"] for name in ("weight_steps", "weight_rate")}
    return WEIGHTS | {"as printed": rates | WEIGHTS["as printed"]}


def made_with(cell: Cell) -> dict[str, Any]:
    """Say what a result depends on beside its cell."""
    method = str(cell["method"])
    weights = {"weights": weights_on(str(cell["graph"]))} if method in METHODS else {}
    return {"settings": join_options(LEARNING_ONLY, (METHODS | BATCHES)[method]), **weights}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn in a process of its own."""
    return run_apart(look, cell, cache)


def look(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn all steps without an early end, and look at what happened."""
    from stablerule.learning.correlations import feature_correlations  # noqa: PLC0415  # torch

    dataset, method = load(str(cell["graph"])), str(cell["method"])
    options = made_with(cell)["settings"] | {"seed": cell["seed"]}
    model = StableRule.with_options(options).fit(dataset.graph)
    course = model.learned_.course
    if course is None:
        raise InputError(f"No walk of {dataset.name!r} closed: there is nothing to look at.")
    told: dict[str, Any] = {"steps": course.steps, "checks": course.checks, "data": dataset.sha256}
    if method in BATCHES:
        return told
    told["correlations"] = {}
    for name, how in weights_on(str(cell["graph"])).items():
        found = feature_correlations(model, dataset.graph, Decorrelation(**how))
        told["correlations"][name] = {
            "mean_before": off_diagonal(found.before),
            "mean_after": off_diagonal(found.after),
            "dependence": found.dependence,
            "share": found.share,
            "after": np.round(found.after[:SHOWN, :SHOWN], 2).tolist(),
        }
        told["before"] = np.round(found.before[:SHOWN, :SHOWN], 2).tolist()
    return told


def off_diagonal(matrix: NDArray[np.float64]) -> float:
    """Mean size of what is not on the diagonal, which is 0."""
    size = len(matrix)
    return float(np.abs(matrix).sum() / max(1, size * (size - 1)))
