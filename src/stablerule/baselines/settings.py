"""Sound settings for each method and graph, chosen on valid facts, and where `stablerule tune` looks for better ones.

A graph that is not named has the defaults of the method. Every figure in the documents was reached with these.
"""

from __future__ import annotations

from typing import Any, TypeAlias

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    # method: {graph: {option: value}}
    "neural-lp": {
        "umls": {"epochs": 15},
        "kinship": {"epochs": 20, "learning_rate": 0.003, "patience": 5},
        "family": {"epochs": 10, "learning_rate": 0.002},
    },
    "drum": {
        "umls": {"max_length": 2, "epochs": 12, "batch_size": 128, "learning_rate": 0.003},
        "kinship": {"epochs": 8, "batch_size": 128, "learning_rate": 0.003},
        "family": {"epochs": 4, "learning_rate": 0.002},
    },
}

# Where to look: a list is a choice; (low, high) is a number between them, by its logarithm.
Space: TypeAlias = "dict[str, list[Any] | tuple[float, float]]"
SPACES: dict[str, Space] = {
    # method: {option: where}
    "neural-lp": {"max_length": [2, 3], "learning_rate": (0.0005, 0.01), "batch_size": [64, 128, 256]},
    "drum": {"max_length": [2, 3], "learning_rate": (0.0005, 0.01), "batch_size": [64, 128, 256], "chains": [1, 3, 6]},
    "tabular": {"smoothing": (1.0, 50.0), "rules_per_relation": [100, 200, 400, 800], "max_length": [2, 3]},
    "stablerule": {
        "size": [32, 64, 128, 256],
        "learning_rate": (0.003, 0.05),
        "rules_per_relation": [100, 200, 400, 800],
        "smoothing": (5.0, 100.0),
    },
}


def settings_for(method: str, graph: str) -> dict[str, Any]:
    """Return the settings of a method for a graph by its name; none is the method's defaults.

    >>> settings_for("tabular", "my own graph")
    {}
    """
    return dict(SETTINGS.get(method, {}).get(graph.lower(), {}))
