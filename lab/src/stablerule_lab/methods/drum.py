"""DRUM: attention over relations in several chains, with "stay" as one of the relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn

from stablerule_lab.methods.shared.differentiable import (
    AttentionScorer,
    DifferentiableReasoner,
    last_only,
    repeated_queries,
)
from stablerule_lab.methods.shared.epochs import Epochs

if TYPE_CHECKING:
    from torch import Tensor

TRAINING = Epochs(10, batch_size=64, learning_rate=0.001, clip=5.0, patience=3)


class DRUM(DifferentiableReasoner):
    """Differentiable rules of Sadeghian, Armandpour, Ding and Wang (2019): Neural-LP with more than one chain.

    Each chain (`chains` is the publication's rank) has its own LSTM, which reads the query relation in both directions;
    all share the layer that attends to relations. One more operator stays in place and makes rules shorter than
    `max_length`; there is no memory. A single chain cannot express "mother's brother or father's sister" without
    "mother's sister".

    Differences from the publication: chains are averaged instead of summed, which gives the same order and scores
    below 1; a query hides its own fact only, and gradients are clipped by norm, as in `NeuralLP`.

    >>> from stablerule import Dataset
    >>> families = [(f"ann {i}", f"bob {i}", f"cid {i}") for i in range(8)]
    >>> facts = [(a, "parent_of", b) for a, b, _ in families] + [(b, "parent_of", c) for _, b, c in families]
    >>> facts += [(a, "grandparent_of", c) for a, _, c in families]
    >>> graph = Dataset.from_names("families", train=facts).graph
    >>> training = Epochs(10, batch_size=4, learning_rate=0.05, patience=None)
    >>> model = DRUM(max_length=2, size=16, training=training).fit(graph)
    >>> print(model.rules.filter(head_relation="grandparent_of")[0].rule)
    grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)
    """

    method: ClassVar[str] = "drum"

    def __init__(
        self,
        *,
        max_length: int = 3,
        chains: int = 3,
        size: int = 128,
        rules_per_relation: int = 100,
        min_weight: float = 0.01,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.chains = chains
        self.size = size
        self.rules_per_relation = rules_per_relation
        self.min_weight = min_weight
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> DRUMNetwork:
        """Return the network."""
        return DRUMNetwork(relations, self.max_length, self.chains, self.size)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "chains", "size")


class DRUMNetwork(AttentionScorer):
    """The attention of DRUM: chains without memory, which may stay in place."""

    def __init__(self, relations: int, length: int, chains: int, size: int) -> None:
        super().__init__()
        self.length, self.end = length, 2 * relations
        self.queries = nn.Embedding(2 * relations + 1, size)
        self.states = nn.ModuleList(nn.LSTM(size, size, batch_first=True, bidirectional=True) for _ in range(chains))
        self.operators = nn.Linear(2 * size, 2 * relations + 1)

    def attention(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        """Return a_t = softmax(W [h_t, h'_t] + b) for each chain."""
        asked = self.queries(repeated_queries(relations, self.end, self.length))  # (g, L+1, d)
        h = torch.stack([states(asked)[0][:, :-1] for states in self.states], dim=1)  # (g, C, L, 2d)
        a = self.operators(h).softmax(-1)  # (g, C, L, 2R+1)
        return a, last_only(self.length, a).expand(*a.shape[:2], -1, -1)
