"""Neural-LP: one chain of attention over relations, with a memory of earlier values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn

from stablerule_lab.methods.shared.differentiable import (
    AttentionScorer,
    DifferentiableReasoner,
    repeated_queries,
    without_staying,
)
from stablerule_lab.methods.shared.epochs import Epochs

if TYPE_CHECKING:
    from torch import Tensor

TRAINING = Epochs(10, batch_size=64, learning_rate=0.001, clip=5.0, patience=3)


class NeuralLP(DifferentiableReasoner):
    """Differentiable rules of Yang, Yang and Cohen (2017): at each step a recurrent network attends to relations.

    The mass starts at the head. An LSTM reads the query relation `max_length` times and then an end token. Each state
    says along which relations the mass moves next, and from which earlier values it starts. The last state says how the
    values add up to the answer, so rules of all lengths up to `max_length` compete.

    Differences from the publication: a query hides its own fact, not those of the whole batch, as in evaluation; and
    gradients are clipped by norm, not by value. Rules are read from the attention: those with at least `min_weight` of
    the weight of their relation's heaviest rule.

    >>> from stablerule import Dataset
    >>> families = [(f"ann {i}", f"bob {i}", f"cid {i}") for i in range(8)]
    >>> facts = [(a, "parent_of", b) for a, b, _ in families] + [(b, "parent_of", c) for _, b, c in families]
    >>> facts += [(a, "grandparent_of", c) for a, _, c in families]
    >>> graph = Dataset.from_names("families", train=facts).graph
    >>> training = Epochs(10, batch_size=4, learning_rate=0.05, patience=None)
    >>> model = NeuralLP(max_length=2, size=16, training=training).fit(graph)
    >>> print(model.rules.filter(head_relation="grandparent_of")[0].rule)
    grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)
    """

    method: ClassVar[str] = "neural-lp"

    def __init__(
        self,
        *,
        max_length: int = 3,
        size: int = 128,
        rules_per_relation: int = 100,
        min_weight: float = 0.01,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.size = size
        self.rules_per_relation = rules_per_relation
        self.min_weight = min_weight
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> NeuralLPNetwork:
        """Return the network."""
        return NeuralLPNetwork(relations, self.max_length, self.size)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "size")


class NeuralLPNetwork(AttentionScorer):
    """The attention of Neural-LP: one chain, with memory."""

    def __init__(self, relations: int, length: int, size: int) -> None:
        super().__init__()
        self.length, self.end = length, 2 * relations
        self.queries = nn.Embedding(2 * relations + 1, size)
        self.states = nn.LSTM(size, size, batch_first=True)
        self.operators = nn.Linear(size, 2 * relations)

    def attention(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        """Return a_t = softmax(W h_t + b) and b_t = softmax(h_t . [h_0 .. h_t])."""
        h, _ = self.states(self.queries(repeated_queries(relations, self.end, self.length)))  # (g, L+1, d)
        a = self.operators(h[:, :-1]).softmax(-1)  # (g, L, 2R)
        later = torch.ones(self.length + 1, self.length + 1, dtype=torch.bool, device=h.device).triu(1)
        b = (h @ h.transpose(1, 2)).masked_fill(later, -torch.inf).softmax(-1)  # (g, L+1, L+1)
        return without_staying(a)[:, None], b[:, None]
