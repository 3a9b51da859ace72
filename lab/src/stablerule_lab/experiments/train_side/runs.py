"""Do the weights help? Learners on examples that favour one group of each relation, evaluated on all groups.

A cell is (graph, bias, method, seed). The graph stays whole; the bias limits which training and validation facts serve
as examples. Test facts are evaluated in five groups: the favoured one of each relation, and the four others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stablerule.datasets import load, newsroom
from stablerule.errors import OptionError
from stablerule.evaluation import GroupFigures, evaluate
from stablerule.extending import Lesson, RuleReasoner, count_cores, finish_learning, join_options
from stablerule.registry import MODELS
from stablerule.shifts.splits import bias_examples
from stablerule_lab.experiments.cells import cell_name
from stablerule_lab.experiments.path_groups import shared_groups
from stablerule_lab.experiments.process import peak_memory, run_apart
from stablerule_lab.experiments.stable_confidence import stable_rules
from stablerule_lab.experiments.train_side.body_level import group_likelihood
from stablerule_lab.experiments.train_side.weighted_evidence import weigh_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.graph import Dataset, Graph, Triples
    from stablerule.shifts.splits import BiasedExamples
    from stablerule_lab.experiments.cells import Cell
    from stablerule_lab.experiments.train_side.weighted_evidence import Kind

GRAPHS = ("newsroom", "family", "umls", "wn18rr", "fb15k-237")
CONFIRMING = ("kinship", "geography")
BIASES = (0.0, 0.5, 0.9)
SEEDS = (0, 1, 2, 3, 4)
GROUPS = 5
WHOLE = "whole"  # relations with too few facts for a bias
FITTED = "fitted"  # validation facts used in training; with split "valid" the others are evaluated


@dataclass(frozen=True)
class Variant:
    """A learner with its options, and changes after training."""

    learner: str
    options: dict[str, Any] = field(default_factory=dict)
    evidence: Kind | None = None  # weights of the examples that fit the aggregation
    stable: Literal["envelope", "mean - deviation"] | None = None  # another confidence


SMALL = {"training.size": 16, "training.smoothing": None}  # a small network that scores without counts

METHODS: dict[str, Variant] = {
    "stablerule": Variant("stablerule"),
    "nodecor": Variant("stablerule", {"decorrelation": None}),
    "firstmoment": Variant("stablerule", {"decorrelation.moment_order": 1}),
    "rff": Variant("stablerule", {"decorrelation.features": "rff"}),
    "random weights": Variant("stablerule", {"decorrelation.random": True}),
    "printed weights": Variant(
        "stablerule",
        {"decorrelation.literal": True, "decorrelation.weight_steps": 100, "decorrelation.weight_rate": 0.01},
    ),
    "tabular": Variant("tabular"),
    # Here weights can move the optimum.
    "small": Variant("stablerule", SMALL),
    "small nodecor": Variant("stablerule", join_options(SMALL, {"decorrelation": None})),
    # Without a network: changes that might make answers more stable.
    "more rules": Variant("tabular", {"rules_per_relation": 800}),
    "envelope": Variant("tabular", stable="envelope"),
    "mean - deviation": Variant("tabular", stable="mean - deviation"),
    "equal evidence": Variant("tabular", evidence="equal"),
    "decorrelated evidence": Variant("tabular", evidence="decorrelating"),
    "random evidence": Variant("tabular", evidence="random"),
    "worst-group evidence": Variant("tabular", evidence="worst group"),
}
MAIN = ("stablerule", "nodecor", "firstmoment", "rff", "random weights", "tabular", "small", "small nodecor")


def cells(
    graphs: tuple[str, ...] = GRAPHS,
    methods: tuple[str, ...] = MAIN,
    biases: tuple[float, ...] = BIASES,
    seeds: tuple[int, ...] = SEEDS,
    split: str = "test",
) -> list[Cell]:
    """List all cells, seed by seed, so that an interrupted run has all methods for its seeds."""
    return [
        {"graph": graph, "split": split, "bias": bias, "method": method, "seed": seed}
        for seed in seeds
        for graph in graphs
        for bias in biases
        for method in methods
    ]


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the learner, its settings, and later changes."""
    variant = METHODS[str(cell["method"])]
    changed = {"evidence": variant.evidence, "stable": variant.stable}
    return {"learner": variant.learner, "settings": variant.options} | {key: v for key, v in changed.items() if v}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `evaluate_cell` in a separate process."""
    return run_apart(evaluate_cell, cell, cache)


def evaluate_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Train on biased examples, and evaluate by group; the cache keeps the reciprocal rank of each query."""
    graph, split, method, seed = str(cell["graph"]), str(cell["split"]), str(cell["method"]), int(cell["seed"])
    bias = float(cell["bias"])
    dataset = _dataset(graph)
    groups = shared_groups(dataset, cache)
    train = bias_examples(dataset.train, groups["train"], bias, seed=seed)
    valid = bias_examples(dataset.valid, groups["valid"], bias, seed=seed, among=np.arange(GROUPS))
    examples = dataset.train.take(train.mask)
    model = _learn(METHODS[method], dataset.graph, dataset.valid.take(valid.mask), examples, seed)
    names = group_names(dataset, split, groups[split], train)
    if split == "valid":
        names = [FITTED if served else name for served, name in zip(valid.mask.tolist(), names, strict=True)]
    found = evaluate(model, dataset, split=split, groups=names, resamples=2)
    peak = peak_memory()
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
        "aggregation": None if model.learned_.aggregation is None else model.learned_.aggregation.name,
        "peak_gb": round(peak / 1e9, 2),
        "cores": count_cores(),
        "data": dataset.sha256,
    }


def _learn(variant: Variant, graph: Graph, valid: Triples, examples: Triples, seed: int) -> RuleReasoner:
    model = MODELS[variant.learner].with_options(variant.options | {"seed": seed})
    model.fit(graph, valid, examples=examples)
    if not isinstance(model, RuleReasoner):
        raise OptionError(f"The train-side experiment needs a rule learner, which {variant.learner} is not.")
    if variant.stable is not None:
        lesson = Lesson.prepare(graph, valid, examples, None)
        rules = stable_rules(model.rules, graph, lesson.examples, variant.stable, seed=seed)
        found = finish_learning(lesson, model, rules)
        model = model.with_learned(
            replace(model.learned_, rules=rules, choice=found.choice, calibration=found.calibration)
        )
    if variant.evidence is not None:
        model = weigh_evidence(model, graph, valid, variant.evidence, seed)
    return model


def group_names(dataset: Dataset, split: str, labels: NDArray[np.int64], drawn: BiasedExamples) -> list[str]:
    """Return the group name of each fact, counted from the favoured group of its relation."""
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


def _dataset(name: str) -> Dataset:
    dataset = newsroom(people=2000, missing=0.2, noise=0.2, seed=0).dataset if name == "newsroom" else load(name)
    return _distinct(dataset)


def _distinct(dataset: Dataset) -> Dataset:
    """Drop repeated facts, which would be asked twice."""
    train, valid, test = (part.distinct() for part in dataset.splits.values())
    return replace(dataset, train=train, valid=valid, test=test)
