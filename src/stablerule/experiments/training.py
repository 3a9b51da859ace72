"""Curves while StableRule learns, and correlations before and after the weights: the paper's figures 5 and 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.baselines import MODELS
from stablerule.datasets import load
from stablerule.experiments.apart import run_apart

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.experiments.cells import Cell

# What the weights may do: ours, with a price and a floor; the same as far as it goes; and the form in print.
WEIGHTS: dict[str, dict[str, Any]] = {
    "ours": {"weight_steps": 50},
    "no floor": {"weight_steps": 200, "weight_penalty": 0.0, "share_floor": 0.0},
    "as printed": {"weight_steps": 100, "weight_rate": 0.01, "literal": True},
}
METHODS: dict[str, dict[str, Any]] = {"stablerule": {}, "lengths in turn": {"order": "lengths", "min_length": 2}}
# Nothing is asked of these models: how rules are weighed need not be chosen.
LEARNING_ONLY = {"constants": False, "aggregation": "max_plus", "patience": None}
SHOWN = 40  # dimensions of a correlation matrix that are kept


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn in a process of its own."""
    return run_apart(look, cell, cache)


def look(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn all steps without an early end, and look at what happened."""
    from stablerule.learning.correlations import feature_correlations  # noqa: PLC0415  # torch
    from stablerule.learning.decorrelation import Decorrelation  # noqa: PLC0415
    from stablerule.learning.stablerule import StableRule  # noqa: PLC0415

    dataset = load(str(cell["graph"]))
    options = LEARNING_ONLY | METHODS[str(cell["method"])] | {"seed": cell["seed"]}
    model = MODELS["stablerule"].with_options(options).fit(dataset.graph)
    if not isinstance(model, StableRule):
        raise TypeError("the learner has no network")
    told: dict[str, Any] = {"steps": model.learned_["steps"], "checks": model.learned_["checks"], "correlations": {}}
    for name, how in WEIGHTS.items():
        found = feature_correlations(model, dataset.graph, Decorrelation(**how))
        told["correlations"][name] = {
            "mean_before": off_diagonal(found.before),
            "mean_after": off_diagonal(found.after),
            "dependence": found.dependence,
            "share": found.share,
            "after": np.round(found.after[:SHOWN, :SHOWN], 2).tolist(),
        }
        told["before"] = np.round(found.before[:SHOWN, :SHOWN], 2).tolist()
    return told | {"data": dataset.sha256}


def off_diagonal(matrix: NDArray[np.float64]) -> float:
    """Mean size of what is not on the diagonal, which is 0."""
    size = len(matrix)
    return float(np.abs(matrix).sum() / max(1, size * (size - 1)))
