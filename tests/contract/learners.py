"""Small options for every method, so that each learns a small world in seconds."""

from __future__ import annotations

from typing import Any

SAMPLED = {"walks": 60_000, "max_length": 2}
SIXTY_STEPS = {"training.steps": 60, "training.size": 16, "training.batch_size": 500}
SMALL: dict[str, dict[str, Any]] = {
    "stablerule": SAMPLED | SIXTY_STEPS | {"constants": False},
    "tabular": SAMPLED | {"constants": False},
    "popularity": {},
    "transe": {"size": 32, "training.epochs": 15},
    "distmult": {"size": 32, "training.epochs": 10},
    "complex": {"size": 32, "training.epochs": 10},
    "rotate": {"size": 32, "training.epochs": 15},
    "compgcn": {"size": 32, "training.epochs": 8},
    "nbfnet": {"size": 8, "layers": 2, "training.epochs": 1, "training.batch_size": 256},
    "astarnet": {"size": 8, "layers": 2, "training.epochs": 1, "training.batch_size": 256},
    "neural-lp": {"training.epochs": 3, "max_length": 2},
    "drum": {"training.epochs": 2, "max_length": 2},
    "rnnlogic": SAMPLED
    | {"rounds": 1, "sampled_rules": 40, "rules_per_relation": 40}
    | {"generator.size": 16, "generator.first_steps": 100, "generator.rate": 0.02, "generator.steps": 20}
    | {"predictor.epochs": 5, "predictor.learning_rate": 0.01, "predictor.most_queries": 200},
    "rlogic": SAMPLED | {"training.steps": 100, "training.size": 16},
    "ncrl": SAMPLED | SIXTY_STEPS,
}
# Where it is enough that something was learned.
FEW: dict[str, dict[str, Any]] = {
    method: {name: 1 for name in options if name.endswith(".epochs")} for method, options in SMALL.items()
}
# Those that are nothing without a file or a package of their own have tests of their own.
APART = {"given", "pykeen"}
