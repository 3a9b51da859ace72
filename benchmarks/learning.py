"""Walking, a whole training step and what the weights add, on samples of FB15k-237, against plain ways in the same run.

    STABLERULE_DATA=... python benchmarks/learning.py      # writes benchmarks/results/learning.json

The plain step is the same network read plainly: torch.nn.LSTM on every window of every sample, attention over a table
that is repeated for each sample, the dependence penalty with one d x d matrix for each pair of orders, and autograd.
Ours works on unique bodies. Both take turns; the best of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from stablerule import load
from stablerule.learning.batches import Batch, SamplePool
from stablerule.learning.decorrelation import BodyWeights
from stablerule.learning.network import RuleNetwork
from stablerule.learning.options import Decorrelation, Training
from stablerule.learning.training import compute_training_loss, train_network
from stablerule.samples import RuleSamples, sample_rules

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parent / "results" / "learning.json"
GRAPH = "fb15k-237"
WALKS, BATCH, SIZE = 4_000_000, 5000, 256


def best(repeats: int, *runs: Callable[[], Any]) -> list[float]:
    """Seconds of each, the best of several turns."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, kept in zip(runs, seconds, strict=True):
            began = time.perf_counter()
            run()
            kept.append(time.perf_counter() - began)
    return [min(kept) for kept in seconds]


class PlainNetwork(nn.Module):
    """The network with nothing shared between samples."""

    def __init__(self, relations: int, size: int) -> None:
        super().__init__()
        self.relations = nn.Parameter(torch.randn(2 * relations, size))
        self.negative = nn.Parameter(torch.randn(1, size))
        self.lstm = nn.LSTM(size, size, batch_first=True)
        self.window = nn.Linear(size, 1, bias=False)
        self.query, self.key = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)

    def attention(self, vectors: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        """Scores over the table and its projected rows, repeated for each sample: (N, T), (N, T, d)."""
        keys = self.key(table).unsqueeze(0).repeat(len(vectors), 1, 1)
        return torch.bmm(keys, self.query(vectors).unsqueeze(2)).squeeze(2) / vectors.shape[1] ** 0.5, keys

    def forward(self, bodies: Tensor) -> tuple[Tensor, Tensor]:
        items = self.relations[bodies]  # (N, L, d)
        while items.shape[1] > 2:
            windows = [self.lstm(items[:, k : k + 2])[0][:, -1] for k in range(items.shape[1] - 1)]
            q = torch.cat([self.window(w) for w in windows], 1).softmax(1)
            hard = torch.zeros_like(q).scatter_(1, q.argmax(1, keepdim=True), 1.0) + q - q.detach()
            merged = []
            for w in windows:
                scores, keys = self.attention(w, self.relations)
                merged.append(torch.bmm(scores.softmax(1).unsqueeze(1), keys).squeeze(1))
            shorter = []
            for j in range(items.shape[1] - 1):
                ways = [items[:, j] if j < k else merged[k] if j == k else items[:, j + 1] for k in range(len(windows))]
                shorter.append(sum(hard[:, k, None] * way for k, way in enumerate(ways)))
            items = torch.stack(shorter, 1)  # type: ignore[arg-type]
        Z = self.lstm(items)[0][:, -1]
        return Z, self.attention(Z, torch.cat([self.relations, self.negative]))[0]


def plain_weights(Z: Tensor, options: Decorrelation) -> Tensor:
    """The weights of N single samples, textbook penalty and autograd, as many steps as ours takes."""
    Z = Z.detach()
    z = ((Z - Z.mean(0)) / Z.std(0)).clamp(-4, 4)
    powers = [z**a for a in range(1, options.moment_order + 1)]

    def dependence(p: Tensor) -> Tensor:
        total = torch.zeros(())
        for A in powers:
            for B in powers:
                C = A.T @ (p[:, None] * B) - torch.outer(p @ A, p @ B)
                total = total + (C - torch.diag(C.diagonal())).square().sum()
        return total

    t = torch.zeros(len(Z), requires_grad=True)
    adam = torch.optim.Adam([t], lr=options.weight_rate)
    base = dependence(t.detach().softmax(0))
    for _ in range(options.weight_steps):
        p = t.softmax(0)
        loss = dependence(p) / base + options.weight_penalty * (len(p) * p - 1).square().mean()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return len(Z) * t.detach().softmax(0)


def measure_step(samples: RuleSamples, relations: int, repeats: int) -> dict[str, Any]:
    """One step on N samples of length 3."""
    options = Decorrelation()
    batch: Batch = SamplePool(samples, (3,)).draw(BATCH, (0,))
    generator = torch.Generator().manual_seed(0)
    ours = RuleNetwork(relations, SIZE, generator=generator)
    weights = BodyWeights(samples.n_bodies, options)
    our_adam = torch.optim.Adam(ours.parameters(), lr=0.01)

    def our_step() -> None:
        Z, logits = ours.forward_mixed(batch.bodies)
        loss = compute_training_loss(logits, batch, weights.update(batch.ids, Z, batch.counts).weights)
        our_adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        our_adam.step()

    single = torch.repeat_interleave(torch.arange(len(batch.cell_rows)), batch.cell_counts.long())
    bodies, heads = batch.bodies[batch.cell_rows[single]], batch.cell_heads[single]
    plain = PlainNetwork(relations, SIZE)
    plain_adam = torch.optim.Adam(plain.parameters(), lr=0.01)

    def plain_step() -> None:
        Z, logits = plain(bodies)
        w = plain_weights(Z, options)
        loss = (w * nn.functional.cross_entropy(logits, heads, reduction="none")).mean()
        plain_adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        plain_adam.step()

    our_step()
    plain_step()
    our_seconds, plain_seconds = best(repeats, our_step, plain_step)
    return {
        "samples": BATCH,
        "unique_bodies": len(batch.ids),
        "size": SIZE,
        "seconds": our_seconds,
        "plain_seconds": plain_seconds,
        "times_faster": plain_seconds / our_seconds,
    }


def measure_weights(samples: RuleSamples, relations: int, steps: int, repeats: int) -> dict[str, Any]:
    """What the weights add to training with the default sizes, and how far they bring the dependence."""

    def run(weights: Decorrelation | None) -> tuple[RuleNetwork, Any]:
        network = RuleNetwork(relations, 128, generator=torch.Generator().manual_seed(0))
        options = Training(steps=steps, batch_size=BATCH, learning_rate=0.02, patience=None)
        return network, train_network(network, samples, options, weights)

    without, with_weights = best(repeats, lambda: run(None), lambda: run(Decorrelation()))
    network, progress = run(Decorrelation())
    carried = float(np.mean([step["dependence"] for step in progress.steps[-20:]]))
    share = float(np.mean([step["share"] for step in progress.steps[-20:]]))
    pool = SamplePool(samples, (1, 2, 3))

    def fresh(rate: float) -> dict[str, float]:
        """100 steps from equal weights on batches that the run has not seen, the mean of five."""
        ends = []
        for seed in range(5):
            batch = pool.draw(BATCH, (seed, 9))
            with torch.no_grad():
                Z = network.forward_mixed(batch.bodies)[0]
            table = BodyWeights(samples.n_bodies, Decorrelation(restart=True, weight_steps=100, weight_rate=rate))
            ends.append(table.update(batch.ids, Z, batch.counts).steps[-1])
        return {
            "rate": rate,
            "dependence": float(np.mean([end.dependence for end in ends])),
            "share": float(np.mean([end.share for end in ends])),
        }

    return {
        "steps": steps,
        "seconds_without": without,
        "seconds_with": with_weights,
        "added_share": with_weights / without - 1,
        "dependence_carried": carried,
        "share_carried": share,
        "fresh_steps_of_the_paper": fresh(0.01),
        "fresh_steps_to_the_floor": fresh(0.2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    graph = load(GRAPH).graph
    sample_rules(graph, 10_000)  # compiles
    (walking,) = best(repeats, lambda: sample_rules(graph, WALKS))
    samples = sample_rules(graph, WALKS)
    result = {
        "graph": GRAPH,
        "walking": {"walks": WALKS, "seconds": walking, "walks_a_second": WALKS / walking},
        "step": measure_step(samples, graph.n_relations, repeats),
        "weights": measure_weights(samples, graph.n_relations, 150, repeats),
        "repeats": repeats,
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "load_average_before": os.getloadavg()[0],
    }
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
