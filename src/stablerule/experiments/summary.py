"""What the cells of the train-side experiment say together: by graph, bias and method, and against a reference."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.experiments.cells import cell_name
from stablerule.experiments.train_side import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.experiments.cells import Cell

RESAMPLES = 1000


def summarise(results: list[dict[str, Any]], cache: Path, *, reference: str = "nodecor") -> list[dict[str, Any]]:
    """Return a row for each graph, bias and method: figures over groups, spread over seeds, difference to a reference.

    mean, worst, deviation: of MRR over the five groups, then the mean over seeds; seeds_std: of the mean over groups
    from seed to seed; difference: of the mean over groups to the reference with the same seed and bias, and of the
    group that is worst for the reference, with 95% intervals by paired bootstrap of the queries in each group;
    likelihood: mean log P(head relation | body) of held-out samples of the favoured group, and of the others.
    """
    kept = {cell_name(one["cell"]): one for one in results}
    rows, by_method = [], defaultdict(list)
    for one in results:
        cell = one["cell"]
        by_method[cell["graph"], cell["split"], cell["bias"], cell["method"]].append(one)
    for (graph, split, bias, method), runs in by_method.items():
        groups = np.array([_groups(run) for run in runs])  # (seeds, groups)
        row: dict[str, Any] = {
            "graph": graph,
            "split": split,
            "bias": bias,
            "method": method,
            "seeds": len(runs),
            "mean": float(groups.mean()),
            "worst": float(groups.min(1).mean()),
            "deviation": float(groups.std(1).mean()),
            "seeds_std": float(groups.mean(1).std(ddof=1)) if len(runs) > 1 else None,
            "likelihood": _likelihood(runs),
        }
        pairs = [(run, kept.get(cell_name({**run["cell"], "method": reference}))) for run in runs]
        paired = [(run["cell"], other["cell"]) for run, other in pairs if other is not None]
        if method != reference and paired:
            row["difference"] = _difference(paired, cache)
        rows.append(row)
    return rows


def _groups(run: dict[str, Any]) -> list[float]:
    return [figures["mrr"] for name, figures in sorted(run["result"]["groups"].items()) if name != WHOLE]


def _likelihood(runs: list[dict[str, Any]]) -> dict[str, float]:
    found = [run["result"]["log_likelihood"] for run in runs]
    others = [value for one in found for name, value in one.items() if name.startswith("other")]
    favoured = [one["favoured"] for one in found if "favoured" in one]
    return {name: float(np.mean(values)) for name, values in (("favoured", favoured), ("others", others)) if values}


def _difference(paired: list[tuple[Cell, Cell]], cache: Path) -> dict[str, Any]:
    random = np.random.default_rng(0)
    means, worsts = np.zeros((len(paired), RESAMPLES + 1)), np.zeros((len(paired), RESAMPLES + 1))
    for place, (cell, other) in enumerate(paired):
        ours, theirs = (np.load(cache / f"{cell_name(one)}.npy").astype(np.float64) for one in (cell, other))
        groups = np.load(cache / f"groups,{cell['graph']},{cell['split']},{cell['seed']}.npy")
        names = [name for name in np.unique(groups) if name != WHOLE]
        gains = [_resampled_gains((ours - theirs)[groups == name], random) for name in names]
        worst = int(np.argmin([theirs[groups == name].mean() for name in names]))
        means[place], worsts[place] = np.mean(gains, 0), gains[worst]
    return {name: _interval(values.mean(0)) for name, values in (("mean", means), ("worst", worsts))}


def _resampled_gains(gains: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """The mean gain as it is, then of resampled queries."""
    n = len(gains)
    drawn = [gains[random.integers(n, size=n)].mean() for _ in range(RESAMPLES)]
    return np.array([gains.mean(), *drawn])


def _interval(values: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return {"difference": float(values[0]), "low": float(low), "high": float(high)}
