"""How the time and memory of StableRule grow: with facts, relations and rule length, and with d, T_d, O_d and N.

The paper's section 6.5 gives O((T_d / d * O_d^2 + 2) * N * d^2) for learning. Each sweep changes one thing, and learns
a fixed number of steps.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.baselines import MODELS
from stablerule.datasets import load
from stablerule.experiments.apart import peak_memory, run_apart
from stablerule.graph import Graph
from stablerule.paths.threads import available_cores

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.experiments.cells import Cell
    from stablerule.experiments.experiment import Options
    from stablerule.graph import Dataset

STEPS, FEW = 60, 10
SHARES = ("facts", "relations")  # of the graph; the other sweeps are of options of the learner
SWEEPS: dict[str, tuple[float, ...]] = {
    "facts": (0.125, 0.25, 0.5, 1.0),
    "relations": (0.125, 0.25, 0.5, 1.0),
    "max_length": (2, 3, 4, 5),
    "size": (64, 128, 256, 512, 1024),
    "weight_steps": (1, 10, 50, 100),
    "moment_order": (1, 2, 3, 4),
    "batch_size": (1000, 2000, 4000, 8000),
    "walks": (125_000, 250_000, 500_000, 1_000_000),
}
OPTIONS: dict[str, Any] = {
    "steps": STEPS,
    "patience": None,
    "held_out": 0.0,  # no look at held-out samples between steps
    "warm_up": 0,
    "size": 256,
    "weight_steps": 10,
    "moment_order": 2,
    "batch_size": 4000,
    "constants": False,
    "aggregation": "max_plus",
    "rules_per_relation": 10,
}
WAYS: dict[str, dict[str, Any]] = {"stablerule": {}, "nodecor": {"decorrelate": False}}
UNTOUCHED = {"nodecor": ("weight_steps", "moment_order")}  # without weights they change nothing


def claimed(method: str, sweep: str, value: float) -> float | None:
    """Return the operations of a step by the formula of the paper; None for what it does not know.

    Without weights its first term is gone.

    >>> claimed("nodecor", "batch_size", 8000) / claimed("nodecor", "batch_size", 1000)
    8.0
    >>> round(claimed("stablerule", "weight_steps", 100) / claimed("stablerule", "weight_steps", 1), 2)
    1.77
    """
    at = OPTIONS | {sweep: value}
    if sweep not in ("size", "weight_steps", "moment_order", "batch_size"):
        return None
    weighting = 0.0 if method == "nodecor" else at["weight_steps"] / at["size"] * at["moment_order"] ** 2
    return float((weighting + 2) * at["batch_size"] * at["size"] ** 2)


def cells(graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options) -> list[Cell]:
    """List all cells: a graph, a way to learn, what is swept, and its value."""
    return [
        {"graph": graph, "method": method, "sweep": sweep, "value": value, "seed": seed}
        for seed in seeds
        for graph in graphs
        for sweep, values in SWEEPS.items()
        for method in methods
        if sweep not in UNTOUCHED.get(method, ())
        for value in values
    ]


def made_with(cell: Cell) -> dict[str, Any]:
    """Say what a result depends on beside its cell: the settings of the learner."""
    sweep = str(cell["sweep"])
    swept = {} if sweep in SHARES else {sweep: int(cell["value"])}
    return {"settings": OPTIONS | WAYS[str(cell["method"])] | swept}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn in a process of its own."""
    return run_apart(measure, cell, cache)


def measure(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn, and tell the seconds of the learning steps and of all, and the peak of memory."""
    sweep, value = str(cell["sweep"]), float(cell["value"])
    graph = part_of(load(str(cell["graph"])), sweep, value, int(cell["seed"]))
    options = made_with(cell)["settings"] | {"seed": cell["seed"]}
    warm = MODELS["stablerule"].with_options(options | {"steps": 2, "walks": 1000})
    warm.fit(graph)  # kernels are compiled, and are no part of the time
    few = MODELS["stablerule"].with_options(options | {"steps": FEW}).fit(graph)
    began = time.perf_counter()
    model = MODELS["stablerule"].with_options(options).fit(graph)
    return {
        "facts": graph.n_facts,
        "relations": int(np.unique(graph.triples.relations).size),
        "bodies": model.learned_["bodies"],
        # What comes before the first step is the same in both.
        "milliseconds_a_step": 1000 * (model.learned_["seconds"] - few.learned_["seconds"]) / (STEPS - FEW),
        "seconds": time.perf_counter() - began,
        "peak_gb": peak_memory() / 1e9,
        "cores": available_cores(),
        "data": graph.sha256,
    }


def part_of(dataset: Dataset, sweep: str, share: float, seed: int) -> Graph:
    """Take a share of the facts, or the facts of a share of the relations; the others are the whole graph."""
    random, train = np.random.default_rng(seed), dataset.train
    if sweep == "facts":
        kept = random.permutation(len(train))[: round(share * len(train))]
        return Graph.build(train.take(np.sort(kept)), dataset.vocabulary, dataset.name)
    if sweep == "relations":
        some = random.permutation(dataset.graph.n_relations)[: max(1, round(share * dataset.graph.n_relations))]
        return Graph.build(train.take(np.isin(train.relations, some)), dataset.vocabulary, dataset.name)
    return dataset.graph
