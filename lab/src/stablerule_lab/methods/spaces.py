"""The search space of each method for `stablerule tune`."""

from __future__ import annotations

from typing import Any, TypeAlias

# A list is a choice; (low, high) is a number between the two, on a logarithmic scale.
Space: TypeAlias = "dict[str, list[Any] | tuple[float, float]]"
SPACES: dict[str, Space] = {
    # method: {option: where}
    "ncrl": {
        "training.size": [32, 64, 128],
        "training.learning_rate": (0.003, 0.05),
        "rules_per_relation": [100, 200, 400],
    },
    "rlogic": {
        "training.size": [32, 64, 128],
        "training.learning_rate": (0.003, 0.05),
        "rules_per_relation": [100, 200, 400],
    },
    "rnnlogic": {
        "predictor.learning_rate": (0.0005, 0.02),
        "generator.rate": (0.0005, 0.02),
        "rules_per_relation": [50, 100, 200],
        "predictor.entity_bias": [False, True],
    },
    "transe": {
        "size": [25, 50, 100, 200],
        "norm": [1, 2],
        "training.learning_rate": (0.001, 0.03),
        "training.batch_size": [256, 1024],
    },
    "distmult": {
        "size": [100, 200],
        "n3": (0.001, 0.1),
        "dropout": [0.0, 0.3, 0.5],
        "training.learning_rate": (0.01, 0.3),
    },
    "complex": {
        "size": [100, 200],
        "n3": (0.001, 0.1),
        "dropout": [0.0, 0.3, 0.5],
        "training.learning_rate": (0.01, 0.3),
    },
    "rotate": {"size": [100, 200], "training.learning_rate": (0.001, 0.05), "training.batch_size": [256, 512, 1024]},
    "compgcn": {"size": [100, 200], "layers": [1, 2], "composition": ["multiply", "subtract"], "dropout": [0.1, 0.3]},
    "nbfnet": {
        "size": [16, 32],
        "layers": [3, 4, 6],
        "aggregation": ["sum", "pna"],
        "training.learning_rate": (0.001, 0.02),
    },
    "astarnet": {"size": [16, 32], "layers": [3, 4, 6], "aggregation": ["sum", "pna"], "share": [0.1, 0.3]},
    "neural-lp": {
        "max_length": [2, 3],
        "training.learning_rate": (0.0005, 0.01),
        "training.batch_size": [64, 128, 256],
    },
    "drum": {
        "max_length": [2, 3],
        "training.learning_rate": (0.0005, 0.01),
        "training.batch_size": [64, 128, 256],
        "chains": [1, 3, 6],
    },
    "tabular": {"smoothing": (1.0, 50.0), "rules_per_relation": [100, 200, 400, 800], "max_length": [2, 3]},
    "stablerule": {
        "training.size": [32, 64, 128, 256],
        "training.learning_rate": (0.003, 0.05),
        "rules_per_relation": [100, 200, 400, 800],
        "training.smoothing": (5.0, 100.0),
    },
}
