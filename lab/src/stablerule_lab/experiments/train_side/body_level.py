"""The likelihood that a learner gives to unseen samples of each group, before any rule is chosen."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.extending import ExampleFacts, choose_walk_count, sample_rules
from stablerule.learning import StableRule, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import RuleSamples
    from stablerule.graph import Graph, Triples

WALKS = 200_000
BLOCK = 4096


def group_likelihood(
    model: Any, graph: Graph, examples: Triples, held_out: Triples, groups: NDArray[Any], *, seed: int
) -> dict[str, float]:
    """Return the mean log P(head relation | body) over samples that close on held-out facts of each group.

    P is that of the network alone for StableRule, and of the smoothed counts for Tabular.
    """
    found = {}
    for group in sorted(set(groups.tolist())):
        facts = held_out.take(np.flatnonzero(groups == group))
        samples = sample_rules(
            graph, WALKS, negatives="none", seed=10_000 + seed, examples=ExampleFacts.of(graph, facts)
        )
        if not samples.n_samples:
            continue
        logs = _log_likelihood(model, graph, examples, samples)
        found[str(group)] = float(logs @ samples.cell_counts / samples.n_samples)
    return found


def _log_likelihood(model: Any, graph: Graph, examples: Triples, samples: RuleSamples) -> NDArray[np.float64]:
    """Return log P of each cell (cells,)."""
    if isinstance(model, StableRule):
        return _by_network(model, samples)
    if isinstance(model, Tabular):
        own = sample_rules(graph, choose_walk_count(graph), seed=model.seed, examples=ExampleFacts.of(graph, examples))
        return np.log(smooth_counts_at(own, samples, model.smoothing))
    raise TypeError(f"{type(model).__name__} has no P(head relation | body).")


def _by_network(model: StableRule, samples: RuleSamples) -> NDArray[np.float64]:
    import torch  # noqa: PLC0415

    network = model.network()
    logs = np.empty(len(samples.cell_bodies))
    starts = np.searchsorted(samples.cell_bodies, np.arange(0, samples.n_bodies + BLOCK, BLOCK))
    with torch.no_grad():
        for block, (low, high) in enumerate(pairwise(starts.tolist())):
            first = block * BLOCK
            bodies = torch.from_numpy(samples.bodies[first : first + BLOCK].astype(np.int64))
            if not len(bodies):
                break
            scores = network.forward_mixed(bodies)[1].double().log_softmax(1).numpy()
            logs[low:high] = scores[samples.cell_bodies[low:high] - first, samples.cell_heads[low:high]]
    return logs


def smooth_counts_at(samples: RuleSamples, others: RuleSamples, smoothing: float) -> NDArray[np.float64]:
    """Return P(head relation | body) by the counts of one set of samples, for each cell of another."""
    width = np.int64(samples.negative + 1)
    rows = np.full(others.n_bodies, -1, np.int64)
    places = {body: row for row, body in enumerate(map(tuple, samples.bodies.tolist()))}
    for row, body in enumerate(map(tuple, others.bodies.tolist())):
        rows[row] = places.get(body, -1)
    prior = np.bincount(samples.cell_heads, samples.cell_counts, samples.negative + 1) / max(samples.n_samples, 1)
    cells = samples.cell_bodies * width + samples.cell_heads
    wanted = rows[others.cell_bodies] * width + others.cell_heads
    at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    known = rows[others.cell_bodies] >= 0
    counts = np.where(known & (cells[at] == wanted), samples.cell_counts[at], 0)
    totals = np.where(known, samples.totals[rows[others.cell_bodies]], 0)
    # A relation without samples has a small share, so that no probability is 0.
    least = 1 / (samples.n_samples + width)
    smooth: NDArray[np.float64] = (counts + smoothing * np.maximum(prior[others.cell_heads], least)) / (
        totals + smoothing
    )
    return smooth
