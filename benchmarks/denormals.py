"""Learning with the paper's size on samples of FB15k-237, numbers below 1e-38 taken as zero or as they are, in one run.

    STABLERULE_DATA=... python benchmarks/denormals.py      # writes benchmarks/results/denormals.json

Both learn the same steps and take turns; the best of each counts, and what they have learned is compared.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import time
from pathlib import Path

import torch

from stablerule import load
from stablerule.learning.network import RuleNetwork
from stablerule.learning.options import Decorrelation, Training
from stablerule.learning.training import train_network
from stablerule.samples import sample_rules

RESULTS = Path(__file__).parent / "results" / "denormals.json"
GRAPH, WALKS, SIZE, BATCH, STEPS = "fb15k-237", 200_000, 1024, 5000, 15
WAYS = {"as_zero": train_network, "as_they_are": inspect.unwrap(train_network)}
OPTIONS = Training(steps=STEPS, batch_size=BATCH, learning_rate=0.02, patience=None, held_out=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2)
    repeats = parser.parse_args().repeats
    graph = load(GRAPH).graph
    samples = sample_rules(graph, WALKS)
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    loss: dict[str, float] = {}
    for _ in range(repeats):
        for name, learn in WAYS.items():
            network = RuleNetwork(graph.n_relations, SIZE, generator=torch.Generator().manual_seed(0))
            began = time.perf_counter()
            loss[name] = learn(network, samples, OPTIONS, Decorrelation()).steps[-1]["loss"]
            seconds[name].append(time.perf_counter() - began)
    best = {name: min(taken) for name, taken in seconds.items()}
    result = {
        "graph": GRAPH,
        "size": SIZE,
        "steps": STEPS,
        "seconds": best,
        "times_faster": best["as_they_are"] / best["as_zero"],
        "last_loss": loss,
        "repeats": repeats,
        "threads": torch.get_num_threads(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "load_average_before": os.getloadavg()[0],
    }
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
