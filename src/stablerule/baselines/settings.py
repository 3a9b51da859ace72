"""Sound settings for each method and graph, chosen on valid facts, and where `stablerule tune` looks for better ones.

A graph that is not named has the defaults of the method. Every figure in the documents was reached with these.
"""

from __future__ import annotations

from typing import Any, TypeAlias

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    # method: {graph: {option: value}}
}

# Where to look: a list is a choice; (low, high) is a number between them, by its logarithm.
Space: TypeAlias = "dict[str, list[Any] | tuple[float, float]]"
SPACES: dict[str, Space] = {
    # method: {option: where}
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
