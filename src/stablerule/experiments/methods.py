"""Every method on every graph, each in a process of its own, so that its time and its memory are its own.

python -m stablerule.experiments.methods GRAPH METHOD SEED prints what came of one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from stablerule.baselines import METHODS, MODELS
from stablerule.baselines.settings import settings_for
from stablerule.datasets import load
from stablerule.errors import InputError
from stablerule.evaluation import evaluate
from stablerule.experiments.experiment import Experiment
from stablerule.experiments.tables import Table
from stablerule.paths.threads import available_cores

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.experiments.cells import Cell
    from stablerule.experiments.experiment import Options

MINUTES = 15.0
# Those that pass messages along all edges for every query take longer than that on graphs of this size.
LONGER = {("nbfnet", "family"): 60.0, ("astarnet", "family"): 60.0}
LARGE = ("wn18rr", "fb15k-237", "yago3-10-quarter")
LARGE_MINUTES = 60.0
COMPARED = tuple(name for name in METHODS if name not in ("given", "pykeen"))


def minutes_for(method: str, graph: str) -> float:
    """The budget of a method on a graph."""
    return LONGER.get((method, graph), LARGE_MINUTES if graph in LARGE else MINUTES)


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn and judge in a process of its own."""
    words = [str(cell[name]) for name in ("graph", "method", "seed")]
    ran = subprocess.run([sys.executable, "-m", __name__, *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise InputError(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"ended with {ran.returncode}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def judge(graph: str, method: str, seed: int) -> dict[str, Any]:
    """Learn with the settings for this graph, within the budget, and judge on test."""
    dataset, minutes = load(graph), minutes_for(method, graph)
    options = settings_for(method, graph) | {"seed": seed}
    if "minutes" in MODELS[method].option_names():
        options["minutes"] = minutes
    model = MODELS[method].with_options(options)
    began = time.perf_counter()
    model.fit(dataset.graph, dataset.valid)
    learned = time.perf_counter()
    found = evaluate(model, dataset).to_json()
    figures = {name: found[name] for name in ("mrr", "hits@1", "hits@3", "hits@10", "coverage")}
    return figures | {
        "optimistic_mrr": found["forms"]["optimistic"]["mrr"],
        "interval": found["intervals"]["mrr"],
        "seconds": {"learn": round(learned - began, 1), "rank": round(time.perf_counter() - learned, 1)},
        "peak_gb": round(peak_memory() / 1e9, 2),
        "cores": available_cores(),
        "settings": settings_for(method, graph),
        "minutes": minutes,
        "ended_by": model.learned_.get("ended_by", "itself"),
        "epochs": len(model.learned_.get("epochs", [])) or None,
        "data": dataset.sha256,
    }


def peak_memory() -> float:
    """The most memory that this process had, in bytes."""
    import resource  # noqa: PLC0415  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


def cells(graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options) -> list[Cell]:
    """List all cells, seed by seed and graph by graph."""
    return [{"graph": g, "method": m, "seed": s} for s in seeds for g in graphs for m in methods]


def summarise(results: list[dict[str, Any]], cache: Path, own: Options) -> list[dict[str, Any]]:
    """Return a row for each cell."""
    return [one["cell"] | one["result"] for one in results]


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a table for each graph, the best method first."""
    headings = (
        "method",
        "MRR",
        "Hits@1",
        "Hits@10",
        "MRR, kind ties",
        "learn, s",
        "rank, s",
        "peak, GB",
        "seed",
        "ended by",
    )
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = sorted((row for row in rows if row["graph"] == graph), key=lambda row: (-row["mrr"], row["method"]))
        made.append(Table(graph, headings, tuple(_line(row) for row in some)))
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    figures = (f"{row[name]:.3f}" for name in ("mrr", "hits@1", "hits@10", "optimistic_mrr"))
    seconds = (f"{row['seconds'][name]:.0f}" for name in ("learn", "rank"))
    return (row["method"], *figures, *seconds, f"{row['peak_gb']:.1f}", str(row["seed"]), _ended(row))


def _ended(row: dict[str, Any]) -> str:
    if row["ended_by"] == "minutes":
        return f"{row['minutes']:g} minutes, epoch {row['epochs']}"
    return str(row["ended_by"])


METHODS_COMPARED = Experiment(
    name="methods",
    about="every method with its settings, on graphs as they are, without a shift",
    needs=f"up to {MINUTES:g} minutes a cell, {LARGE_MINUTES:g} on {' and '.join(LARGE[:2])}",
    graphs=("kinship", "umls", "family"),
    more_graphs=(*LARGE, "geography"),
    methods=COMPARED,
    more_methods=(),
    seeds=(0,),
    cells=cells,
    run=run_cell,
    summarise=summarise,
    tables=tables,
)


if __name__ == "__main__":
    graph, method, seed = sys.argv[1:]
    print(json.dumps(judge(graph, method, int(seed))))  # noqa: T201  # the parent process reads it
