"""ComplEx: DistMult with complex numbers, so that relations have a direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stablerule.errors import OptionError
from stablerule_lab.inside.embedding import measure_moduli, multiply_rows
from stablerule_lab.methods.shared.embedding import EmbeddingReasoner, Objective, Products
from stablerule_lab.methods.shared.epochs import Epochs

if TYPE_CHECKING:
    from torch import Tensor

TRAINING = Epochs(200, batch_size=512, learning_rate=0.1, optimizer="adagrad", check_every=5)


class ComplExNetwork(Products):
    """score(h, r, t) = Re(sum of h * r * conjugate(t)); rows store the real parts before the imaginary ones."""

    def place(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return h * r (b, 2d), whose dot product with a tail is the score."""
        return multiply_rows(heads, relations)

    def moduli(self, rows: Tensor) -> Tensor:
        """Return the moduli (b, d)."""
        return measure_moduli(rows)


class ComplEx(EmbeddingReasoner):
    """Trouillon et al. (2016): score(h, r, t) = real part of the sum of h * r * conjugate(t), in complex numbers.

    Trained as by Lacroix et al. (2018): separate inverse relations, a softmax over all entities, the N3 regulariser
    (cubes of the moduli), Adagrad. The original publication has sampled negatives, a logistic loss and squares.

    size: complex numbers in a row, so twice as many parameters. negatives: sampled for each batch; None uses all
    entities. n3: weight of the regulariser. dropout: on the product of head and relation. deviation: of the initial
    values; large ones do not converge. training: see `Epochs`.

    >>> from stablerule import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> learner = ComplEx.with_options({"size": 8, "training.epochs": 30})
    >>> model = learner.fit(Dataset.from_names("trip", train=facts).graph)
    >>> [answer.entity for answer in next(model.answer([("Bonn", "in")], k=1))]
    ['Germany']
    """

    method: ClassVar[str] = "complex"

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

    def build(self, entities: int, relations: int) -> ComplExNetwork:
        """Return the network."""
        told = Objective(negatives=self.negatives, n3=self.n3, dropout=self.dropout)
        return ComplExNetwork(self._table(entities, 2 * self.size), self._table(2 * relations, 2 * self.size), told)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "n3", "dropout")
        if self.dropout >= 1:
            raise OptionError(f"Argument 'dropout' of ComplEx must be below 1, got {self.dropout}.")
