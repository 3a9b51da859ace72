"""Small options for every method, so that each learns a small world in seconds."""

from __future__ import annotations

from typing import Any

SAMPLED = {"walks": 60_000, "max_length": 2}
SMALL: dict[str, dict[str, Any]] = {
    "stablerule": SAMPLED | {"steps": 60, "size": 16, "batch_size": 500, "constants": False},
    "tabular": SAMPLED | {"constants": False},
    "popularity": {},
    "transe": {"size": 32, "epochs": 15},
    "distmult": {"size": 32, "epochs": 10},
    "complex": {"size": 32, "epochs": 10},
    "rotate": {"size": 32, "epochs": 15},
    "compgcn": {"size": 32, "epochs": 8},
    "nbfnet": {"size": 8, "layers": 2, "epochs": 1, "batch_size": 256},
    "astarnet": {"size": 8, "layers": 2, "epochs": 1, "batch_size": 256},
    "neural-lp": {"epochs": 3, "max_length": 2},
    "drum": {"epochs": 2, "max_length": 2},
    "rnnlogic": SAMPLED
    | {"size": 16, "first_steps": 100, "generator_rate": 0.02, "generator_steps": 20, "rounds": 1}
    | {"sampled_rules": 40, "rules_per_relation": 40, "epochs": 5, "learning_rate": 0.01, "most_queries": 200},
    "rlogic": SAMPLED | {"steps": 100, "size": 16},
    "ncrl": SAMPLED | {"steps": 60, "size": 16, "batch_size": 500},
}
# Where it is enough that something was learned.
FEW: dict[str, dict[str, Any]] = {name: {"epochs": 1} for name, options in SMALL.items() if "epochs" in options}
# Those that are nothing without a file or a package of their own have tests of their own.
APART = {"given", "pykeen"}
