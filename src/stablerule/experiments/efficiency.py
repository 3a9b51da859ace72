"""How the time and memory of StableRule grow: with facts, relations and rule length, and with d, T_d, O_d and N.

The paper's section 6.5 gives O((T_d / d * O_d^2 + 2) * N * d^2) for learning. Each sweep changes one thing, and learns
a fixed number of steps.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.experiments.apart import peak_memory, run_apart
from stablerule.graph import Graph
from stablerule.learning import StableRule
from stablerule.paths.threads import available_cores
from stablerule.reasoning.option_types import join_options

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
GROUPED = {  # what is swept, and is no option at the top
    "size": "training.size",
    "weight_steps": "decorrelation.weight_steps",
    "moment_order": "decorrelation.moment_order",
    "batch_size": "training.batch_size",
}
OPTIONS: dict[str, Any] = {
    "training.steps": STEPS,
    "training.patience": None,
    "training.held_out": 0.0,  # no look at held-out samples between steps
    "training.warm_up": 0,
    "training.size": 256,
    "decorrelation.weight_steps": 10,
    "decorrelation.moment_order": 2,
    "training.batch_size": 4000,
    "constants": False,
    "aggregation": "max_plus",
    "rules_per_relation": 10,
}
WAYS: dict[str, dict[str, Any]] = {"stablerule": {}, "nodecor": {"decorrelation": None}}
UNTOUCHED = {"nodecor": ("weight_steps", "moment_order")}  # without weights they change nothing


def claimed(method: str, sweep: str, value: float) -> float | None:
    """Return the operations of a step by the formula of the paper; None for what it does not know.

    Without weights its first term is gone.

    >>> claimed("nodecor", "batch_size", 8000) / claimed("nodecor", "batch_size", 1000)
    8.0
    >>> round(claimed("stablerule", "weight_steps", 100) / claimed("stablerule", "weight_steps", 1), 2)
    1.77
    """
    if sweep not in GROUPED:
        return None
    at = {name: value if name == sweep else OPTIONS[option] for name, option in GROUPED.items()}
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
    swept = {} if sweep in SHARES else {GROUPED.get(sweep, sweep): int(cell["value"])}
    return {"settings": join_options(OPTIONS, WAYS[str(cell["method"])], swept)}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn in a process of its own."""
    return run_apart(measure, cell, cache)


def measure(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn, and tell the seconds of the learning steps and of all, and the peak of memory."""
    sweep, value = str(cell["sweep"]), float(cell["value"])
    graph = part_of(load(str(cell["graph"])), sweep, value, int(cell["seed"]))
    options = made_with(cell)["settings"] | {"seed": cell["seed"]}
    warm = StableRule.with_options(options | {"training.steps": 2, "walks": 1000})
    warm.fit(graph)  # kernels are compiled, and are no part of the time
    few = StableRule.with_options(options | {"training.steps": FEW}).fit(graph)
    began = time.perf_counter()
    model = StableRule.with_options(options).fit(graph)
    seconds = time.perf_counter() - began
    return {
        "facts": graph.n_facts,
        "relations": int(np.unique(graph.triples.relations).size),
        "bodies": model.learned_.bodies,
        # What comes before the first step is the same in both.
        "milliseconds_a_step": 1000 * (seconds_of_training(model) - seconds_of_training(few)) / (STEPS - FEW),
        "seconds": seconds,
        "peak_gb": peak_memory() / 1e9,
        "cores": available_cores(),
        "data": graph.sha256,
    }


def seconds_of_training(model: StableRule) -> float:
    """Say how long the network of a model was trained."""
    return 0.0 if model.learned_.course is None else model.learned_.course.seconds


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
