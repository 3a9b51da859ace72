"""NBFNet: a state for each entity from all paths of the query's head, by a neural Bellman-Ford algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn

from stablerule_lab.methods.shared.epochs import Epochs
from stablerule_lab.methods.shared.path_network import (
    Aggregation,
    Degrees,
    PathLayer,
    PathNetwork,
    PathReasoner,
    rows_at,
)

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule_lab.methods.shared.neighbourhoods import Neighbourhoods, Passage

TRAINING = Epochs(20, batch_size=32, learning_rate=0.005)


class NBFNetNetwork(PathNetwork):
    """score(v) = MLP[h_v; q] after the layers; h starts as the query vector q at the head and 0 elsewhere."""

    def __init__(
        self,
        size: int,
        layers: int,
        relations: int,
        aggregation: Aggregation,
        dropout: float,
        negatives: int | None,
        temperature: float,
    ) -> None:
        super().__init__(size, relations, negatives, temperature)
        self.layers = nn.ModuleList(PathLayer(size, relations, aggregation, dropout) for _ in range(layers))
        self.answer = nn.Sequential(nn.Linear(2 * size, 2 * size), nn.ReLU(), nn.Linear(2 * size, 1))

    def all_scores(self, heads: Tensor, relations: Tensor, near: Neighbourhoods, wanted: Tensor | None) -> Tensor:
        """Return the scores (b, E)."""
        b, n = len(heads), near.n_entities
        q = self.queries(relations)  # (b, d)
        sets = near.reached(heads, len(self.layers))
        starts = sets[0]
        if wanted is not None:
            sets = near.needed(wanted, sets, b)
        h = q.index_select(0, sets[0] // n)  # (V, d)
        ways: dict[tuple[int, int], tuple[Passage, Degrees, Tensor]] = {}
        for layer, places, receivers in zip(self.layers, sets, sets[1:], strict=False):
            way = id(places), id(receivers)
            if way not in ways:  # the same once all entities are reached
                own = rows_at(receivers, starts, q)
                ways = {way: (near.passage(places, receivers, b), Degrees(near, receivers), own)}
            passage, degrees, own = ways[way]
            old = h if receivers is places else rows_at(receivers, places, h)
            h = layer(h, old, own, q, passage, degrees)
        places = sets[-1]
        found: Tensor = self.answer(torch.cat([h, q.index_select(0, places // n)], dim=1))[:, 0]
        elsewhere: Tensor = self.answer(torch.cat([torch.zeros_like(q), q], dim=1)).expand(b, n)
        return elsewhere.reshape(-1).index_copy(0, places, found).view(b, n)


class NBFNet(PathReasoner):
    """Neural Bellman-Ford networks (Zhu et al., 2021): each entity has a state that summarises all paths to it.

    h starts as q, the vector of the query relation, at the head. Each layer aggregates the messages h_x * w_q(relation)
    that arrive at an entity (and q at the head) into its next state; a small network scores the last state. Training
    removes the facts of a batch from the graph.

    Differences from the publication: unreached entities keep the state 0, without biases, so a layer costs only the
    part of the graph near the head (a twentieth on a graph of families). `negatives` may be None, for a softmax over
    all entities except known answers, which is little slower on small graphs.

    layers: the longest path. size: numbers of a state. aggregation: "pna", or "sum", which is twice as fast.
    temperature: below 1 it gives hard negatives more weight. training: see `Epochs`. Queries that do not fit into
    memory are processed in parts.

    >>> from stablerule import households
    >>> dataset = households(families=2, seed=0).dataset
    >>> learner = NBFNet.with_options({"size": 8, "layers": 2, "training.epochs": 1})
    >>> model = learner.fit(dataset.graph, dataset.valid, minutes=0.02)
    >>> len(next(model.answer([(dataset.graph.vocabulary.entity_name(0), "child_of")], k=3)))
    3
    """

    method: ClassVar[str] = "nbfnet"

    def __init__(
        self,
        *,
        size: int = 32,
        layers: int = 6,
        aggregation: Aggregation = "pna",
        negatives: int | None = 32,
        temperature: float = 0.5,
        dropout: float = 0.0,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.size = size
        self.layers = layers
        self.aggregation = aggregation
        self.negatives = negatives
        self.temperature = temperature
        self.dropout = dropout
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> NBFNetNetwork:
        """Return the network."""
        return NBFNetNetwork(
            self.size, self.layers, relations, self.aggregation, self.dropout, self.negatives, self.temperature
        )
