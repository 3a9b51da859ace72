"""The measurements behind two choices: lengths mixed and a falling rate; and the true rules that are found by default.

    STABLERULE_DATA=... python -m benchmarks.choices      # from the root; writes benchmarks/results/choices.json

Losses are on held-out samples, by length of the body, after 450 steps in all, without weights.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any, Literal

import torch

from stablerule import StableRule, Tabular, households, load, newsroom
from stablerule.learning.batches import SamplePool
from stablerule.learning.network import RuleNetwork
from stablerule.learning.options import Training
from stablerule.learning.training import compute_training_loss, train_network
from stablerule.samples import sample_rules
from tests.worlds import share_found

RESULTS = Path(__file__).parent / "results" / "choices.json"
STEPS = 450
SEEDS = (0, 1, 2)
GRAPHS = {"family": (400_000, 3000), "fb15k-237": (4_740_000, 5000)}


def losses(graph_name: str, order: Literal["lengths", "mixed"], *, decay: bool) -> dict[str, float]:
    graph = load(graph_name).graph
    walks, batch_size = GRAPHS[graph_name]
    samples = sample_rules(graph, walks)
    network = RuleNetwork(graph.n_relations, 128, generator=torch.Generator().manual_seed(0))
    options = Training(
        steps=STEPS // 3 if order == "lengths" else STEPS,
        batch_size=batch_size,
        learning_rate=0.02,
        order=order,
        decay=decay,
        patience=None,
    )
    train_network(network, samples, options, None)
    held_out = samples.split(options.held_out, 0)[1]  # of the seed that `train_network` has by default
    found = {}
    for length in (1, 2, 3):
        batch = SamplePool(held_out, (length,)).all()
        with torch.no_grad():
            logits = network.forward_mixed(batch.bodies)[1]
            found[str(length)] = float(compute_training_loss(logits, batch, torch.ones(len(batch.ids))))
    return found


def true_rules() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for make in (newsroom, households):
        for learner in (StableRule, Tabular):
            shares = []
            for seed in SEEDS:
                world = make(seed=seed)
                shares.append(share_found(learner().fit(world.dataset.graph), world) * len(world.rules))
            found[f"{make.__name__}, {learner.method}"] = {"found": round(sum(shares)), "of": 3 * len(world.rules)}
    return found


def main() -> None:
    result: dict[str, Any] = {"steps": STEPS, "python": platform.python_version(), "torch": torch.__version__}
    for name in GRAPHS:
        result[name] = {
            "mixed, falling rate": losses(name, "mixed", decay=True),
            "mixed, constant rate": losses(name, "mixed", decay=False),
            "length after length, falling rate": losses(name, "lengths", decay=True),
        }
    result["true rules"] = true_rules()
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
