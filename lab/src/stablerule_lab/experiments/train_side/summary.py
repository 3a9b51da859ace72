"""Summarise the cells of the train-side experiment by graph, bias and method, against a reference."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule_lab.experiments.cells import cell_name
from stablerule_lab.experiments.differences import over_seeds
from stablerule_lab.experiments.train_side.runs import FITTED, WHOLE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule_lab.experiments.cells import Cell

RESAMPLES = 1000
NOT_EVALUATED = (WHOLE, FITTED)


def summarise(results: list[dict[str, Any]], cache: Path, *, reference: str = "nodecor") -> list[dict[str, Any]]:
    """Return a row for each graph, bias and method, with its difference to a reference.

    mean, worst, deviation: of the MRR over the five groups, averaged over seeds. seeds_std: of the mean over groups,
        from seed to seed.
    likelihood: mean log P(head relation | body) of held-out samples of the favoured group, and of the others.
    difference: to the reference with the same seed and bias; of the mean over groups, and of the group that is worst
        for the reference. It has two 95% intervals: `seeds`, by Student's t, and `queries`, by paired bootstrap of the
        queries in each group, if the cache still has their ranks.
    """
    kept = {cell_name(one["cell"]): one for one in results}
    rows, by_method = [], defaultdict(list)
    for one in results:
        cell = one["cell"]
        by_method[cell["graph"], cell["split"], cell["bias"], cell["method"]].append(one)
    for (graph, split, bias, method), runs in by_method.items():
        groups = np.array([list(_groups(run).values()) for run in runs])  # (seeds, groups)
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
        paired = [(run, other) for run, other in pairs if other is not None]
        if method != reference and paired:
            row["difference"] = _difference(paired, cache)
        rows.append(row)
    return rows


def _groups(run: dict[str, Any]) -> dict[str, float]:
    found = sorted(run["result"]["groups"].items())
    return {name: figures["mrr"] for name, figures in found if name not in NOT_EVALUATED}


def _likelihood(runs: list[dict[str, Any]]) -> dict[str, float]:
    found = [run["result"]["log_likelihood"] for run in runs]
    others = [value for one in found for name, value in one.items() if name.startswith("other")]
    favoured = [one["favoured"] for one in found if "favoured" in one]
    return {name: float(np.mean(values)) for name, values in (("favoured", favoured), ("others", others)) if values}


def _difference(paired: list[tuple[dict[str, Any], dict[str, Any]]], cache: Path) -> dict[str, Any]:
    """Compare two methods run by run: the mean over groups, and the other's worst group."""
    gains: dict[str, list[float]] = {"mean": [], "worst": [], "likelihood": []}
    for ours, theirs in paired:
        own, other = _groups(ours), _groups(theirs)
        worst = min(other, key=other.__getitem__)
        gains["mean"].append(float(np.mean([own[name] - other[name] for name in other])))
        gains["worst"].append(own[worst] - other[worst])
        likely = [_likelihood([run]).get("others") for run in (ours, theirs)]
        if None not in likely:
            gains["likelihood"].append(likely[0] - likely[1])  # type: ignore[operator]
    found = {name: over_seeds(np.array(values)) for name, values in gains.items() if values}
    cells = [(ours["cell"], theirs["cell"]) for ours, theirs in paired]
    for name, interval in _over_queries(cells, cache).items():
        found[name]["queries"] = interval
    return found


def _over_queries(cells: list[tuple[Cell, Cell]], cache: Path) -> dict[str, list[float]]:
    """Return intervals over resampled queries; none if the cache lacks the ranks of a run."""
    random = np.random.default_rng(0)
    means, worsts = np.zeros((len(cells), RESAMPLES)), np.zeros((len(cells), RESAMPLES))
    for place, (cell, other) in enumerate(cells):
        files = [cache / f"{cell_name(one)}.npy" for one in (cell, other)]
        if not all(file.exists() for file in files):
            return {}
        ours, theirs = (np.load(file).astype(np.float64) for file in files)
        groups = np.load(cache / f"groups,{cell['graph']},{cell['split']},{cell['seed']}.npy")
        names = [name for name in np.unique(groups) if name not in NOT_EVALUATED]
        gains = [_resampled_gains((ours - theirs)[groups == name], random) for name in names]
        worst = int(np.argmin([theirs[groups == name].mean() for name in names]))
        means[place], worsts[place] = np.mean(gains, 0), gains[worst]
    both = (("mean", means), ("worst", worsts))
    return {name: np.quantile(values.mean(0), [0.025, 0.975]).tolist() for name, values in both}


def _resampled_gains(gains: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return the mean gain of resampled queries (RESAMPLES,)."""
    n = len(gains)
    return np.array([gains[random.integers(n, size=n)].mean() for _ in range(RESAMPLES)])
