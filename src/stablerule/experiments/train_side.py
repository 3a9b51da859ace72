"""Does the weighting help? Learners on examples that favour one group of each relation, asked about all groups.

A cell is (graph, bias, method, seed). The graph stays whole; the bias limits which facts may serve as examples, in
train and in valid. Test is judged in five groups: the favoured one of each relation, and the four others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.baselines import MODELS
from stablerule.datasets import load, newsroom
from stablerule.evaluation import GroupFigures, evaluate
from stablerule.experiments.body_level import group_likelihood
from stablerule.experiments.cells import cell_name
from stablerule.experiments.path_groups import shared_groups
from stablerule.shifts.splits import bias_examples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.experiments.cells import Cell
    from stablerule.graph import Dataset
    from stablerule.shifts.splits import BiasedExamples

GRAPHS = ("newsroom", "family", "umls", "wn18rr", "fb15k-237")
BIASES = (0.0, 0.5, 0.9)
SEEDS = (0, 1, 2, 3, 4)
GROUPS = 5
WHOLE = "whole"  # relations with too few facts to be biased
# The methods by name: a learner, and its options.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "stablerule": ("stablerule", {}),
    "nodecor": ("stablerule", {"decorrelate": False}),
    "firstmoment": ("stablerule", {"moment_order": 1}),
    "rff": ("stablerule", {"features": "rff"}),
    "random weights": ("stablerule", {"random_weights": True}),
    "tabular": ("tabular", {}),
    # Where weights can move the optimum: a small network, which alone scores.
    "small": ("stablerule", {"size": 16, "smoothing": None}),
    "small nodecor": ("stablerule", {"size": 16, "smoothing": None, "decorrelate": False}),
}


def cells(
    graphs: tuple[str, ...] = GRAPHS,
    methods: tuple[str, ...] = tuple(METHODS),
    biases: tuple[float, ...] = BIASES,
    seeds: tuple[int, ...] = SEEDS,
    split: str = "test",
) -> list[Cell]:
    """List all cells, seed by seed: a run that is cut off has all methods for its seeds."""
    return [
        {"graph": graph, "split": split, "bias": bias, "method": method, "seed": seed}
        for seed in seeds
        for graph in graphs
        for bias in biases
        for method in methods
    ]


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn from biased examples, and judge by group; the single reciprocal ranks are kept in the cache."""
    graph, split, method, seed = str(cell["graph"]), str(cell["split"]), str(cell["method"]), int(cell["seed"])
    bias = float(cell["bias"])
    dataset = _dataset(graph)
    groups = shared_groups(dataset, cache)
    train = bias_examples(dataset.train, groups["train"], bias, seed=seed)
    valid = bias_examples(dataset.valid, groups["valid"], bias, seed=seed, among=np.arange(GROUPS))
    examples = dataset.train.take(train.mask)
    name, options = METHODS[method]
    model = MODELS[name].with_options(options | {"seed": seed})
    model.fit(dataset.graph, dataset.valid.take(valid.mask), examples=examples)
    names = group_names(dataset, split, groups[split], train)
    found = evaluate(model, dataset, split=split, groups=names, resamples=2)
    by_group = found.by_group() or GroupFigures({})
    ranks = 1 / found.ranks.form("realistic")
    np.save(cache / f"{cell_name(cell)}.npy", ranks.astype(np.float32))
    np.save(cache / f"groups,{graph},{split},{seed}.npy", np.asarray(found.groups))
    held_out = dataset.train.take(~train.mask)
    relative = np.asarray(group_names(dataset, "train", groups["train"], train), object)[~train.mask]
    return {
        "mrr": found.mrr,
        "groups": {group: {"n": figures.n, "mrr": figures.mrr} for group, figures in by_group.groups.items()},
        "log_likelihood": group_likelihood(model, dataset.graph, examples, held_out, relative, seed=seed),
        "examples": len(examples),
        "valid": int(valid.mask.sum()),
        "relations_left_whole": len(train.left_whole),
        "aggregation": model.learned_["aggregation"]["name"],
        "data": dataset.sha256,
    }


def group_names(dataset: Dataset, split: str, labels: NDArray[np.int64], drawn: BiasedExamples) -> list[str]:
    """Name the group of each fact by its place after the favoured one of its relation."""
    facts = dataset.split(split)
    names = []
    for relation, label in zip(facts.relations.tolist(), labels.tolist(), strict=True):
        favoured = drawn.favoured.get(relation)
        if favoured is None:
            names.append(WHOLE)
        else:
            place = (label - favoured) % GROUPS
            names.append("favoured" if place == 0 else f"other {place}")
    return names


@lru_cache(maxsize=1)
def _dataset(name: str) -> Dataset:
    dataset = newsroom(people=2000, missing=0.2, noise=0.2, seed=0).dataset if name == "newsroom" else load(name)
    return _distinct(dataset)


def _distinct(dataset: Dataset) -> Dataset:
    """Each fact once: a repeated fact would be asked about twice."""
    train, valid, test = (part.distinct() for part in dataset.splits.values())
    return replace(dataset, train=train, valid=valid, test=test)
