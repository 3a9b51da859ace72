"""The paper's hyper-parameters (its appendix E), by graph.

Its batches, sizes, rates, orders and numbers of steps; weights start afresh for each batch, lengths come one after the
other from 2 on, only full walks that never closed are negative, a window is chosen by its largest score,
the network alone scores the rules, and answers are weighed by paths times score.
"""

from __future__ import annotations

from typing import Any

from stablerule.errors import OptionError, closest

AS_PRINTED: dict[str, Any] = {
    "max_length": 3,
    "min_length": 2,
    "order": "lengths",
    "decay": False,
    "negatives": "paper",
    "selector": "argmax",
    "moment_order": 2,
    "weight_rate": 0.01,
    "restart": True,
    "warm_up": 0,
    "patience": None,
    "smoothing": None,
    "rules_per_relation": 200,
    "constants": False,
    "aggregation": "count",
    "by": "score",
}


def _paper(batch_size: int, size: int, steps: int, learning_rate: float, weight_steps: int) -> dict[str, Any]:
    sizes = {"batch_size": batch_size, "size": size, "steps": steps}
    return AS_PRINTED | sizes | {"learning_rate": learning_rate, "weight_steps": weight_steps}


PRESETS: dict[str, dict[str, Any]] = {
    "laptop": {},
    "family": _paper(500, 512, 1000, 1e-4, 200),
    "kinship": _paper(1000, 1024, 2000, 2.5e-4, 200),
    "umls": _paper(1000, 512, 2000, 2.5e-4, 100),
    "wn18rr": _paper(5000, 1024, 2000, 1e-4, 50),
    "fb15k-237": _paper(5000, 1024, 5000, 5e-4, 100),
    "yago3-10": _paper(8000, 1024, 5000, 2.5e-4, 100),
    # The table gives no T_d for DBLP; 100 is its most frequent value.
    "dblp": _paper(1000, 512, 2000, 2.5e-4, 100),
}


def preset(name: str) -> dict[str, Any]:
    """Return the options of a preset."""
    if name not in PRESETS:
        raise OptionError(f"There is no preset {name!r}.{closest(name, PRESETS)} They are: {', '.join(PRESETS)}.")
    return dict(PRESETS[name])
