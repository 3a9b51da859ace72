"""DistMult: a relation weights the dimensions that two entities share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stablerule.errors import OptionError
from stablerule_lab.methods.shared.embedding import EmbeddingReasoner, Objective, Products
from stablerule_lab.methods.shared.epochs import Epochs

if TYPE_CHECKING:
    from torch import Tensor

TRAINING = Epochs(200, batch_size=512, learning_rate=0.1, optimizer="adagrad", check_every=5)


class DistMultNetwork(Products):
    """score(h, r, t) = sum over the dimensions of h * r * t."""

    def place(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return h * r (b, d)."""
        return heads * relations


class DistMult(EmbeddingReasoner):
    """Yang et al. (2015): score(h, r, t) = sum of h * r * t over the dimensions, a diagonal bilinear form.

    In the publication a relation has one row for (h, r, ?) and (?, r, t), so every relation is symmetric, and the loss
    is a margin against two sampled facts. Here an inverse has its own row, and the loss is a softmax over all entities,
    which later work found to matter more than the choice of a model.

    size: numbers in a row. negatives: sampled for each batch; None uses all entities. n3: weight of the regulariser,
    the cubes of the numbers that a fact uses. dropout: on the product of head and relation. deviation: of the initial
    values; large ones do not converge. training: see `Epochs`.

    >>> from stablerule import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> learner = DistMult.with_options({"size": 8, "training.epochs": 30})
    >>> model = learner.fit(Dataset.from_names("trip", train=facts).graph)
    >>> [answer.entity for answer in next(model.answer([("Bonn", "in")], k=1))]
    ['Germany']
    """

    method: ClassVar[str] = "distmult"

    def __init__(
        self,
        *,
        size: int = 200,
        negatives: int | None = None,
        n3: float = 0.01,
        dropout: float = 0.0,
        deviation: float = 0.01,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.size = size
        self.negatives = negatives
        self.n3 = n3
        self.dropout = dropout
        self.deviation = deviation
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> DistMultNetwork:
        """Return the network."""
        told = Objective(negatives=self.negatives, n3=self.n3, dropout=self.dropout)
        return DistMultNetwork(self._table(entities, self.size), self._table(2 * relations, self.size), told)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "n3", "dropout")
        if self.dropout >= 1:
            raise OptionError(f"Argument 'dropout' of DistMult must be below 1, got {self.dropout}.")
