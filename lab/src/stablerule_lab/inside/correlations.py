"""Correlations of body embeddings before and after weighting: the paper's Figure 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from stablerule.extending import Lesson, choose_walks_in_time, sample_paths
from stablerule_lab.inside.network import BodyWeights, SamplePool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.learning import Decorrelation, StableRule


class Correlated(NamedTuple):
    """Correlations (d, d), with a diagonal of 0, under equal and under learned weights.

    dependence: L_d under the weights as a share of L_d under equal ones; share: the effective share of the samples.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    dependence: float
    share: float


def feature_correlations(model: StableRule, graph: Graph, weights: Decorrelation, *, samples: int = 5000) -> Correlated:
    """Embed samples of a graph with a trained network, and learn weights for them, starting from equal ones."""
    lesson = Lesson.prepare(graph, None, None, None)
    drawn = sample_paths(lesson, model, choose_walks_in_time(lesson, model))
    lengths = tuple(int(n) for n in np.unique(drawn.lengths))
    batch = SamplePool(drawn, lengths).draw(samples, (model.seed, 2))
    with torch.inference_mode():
        Z = model.network().forward_mixed(batch.bodies)[0]  # (U, d)
    found = BodyWeights(drawn.n_bodies, weights).update(batch.ids, Z, batch.counts)
    counts, last = batch.counts.double().numpy(), found.steps[-1]
    embedded, weighed = Z.double().numpy(), found.weights.double().numpy()
    return Correlated(
        _correlations(embedded, counts), _correlations(embedded, counts * weighed), last.dependence, last.share
    )


def _correlations(Z: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted correlations: (U, d), (U,) -> (d, d); 0 for a constant dimension."""
    p = mass / mass.sum()
    centred = Z - p @ Z
    covariance = (centred * p[:, None]).T @ centred
    deviation = np.sqrt(np.diag(covariance))
    scale = np.where(deviation > 0, deviation, np.inf)
    found: NDArray[np.float64] = covariance / np.outer(scale, scale)
    np.fill_diagonal(found, 0)
    return found
