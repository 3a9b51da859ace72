"""TransE: a relation is a translation from head to tail."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from stablerule_lab.methods.shared.embedding import Distances, EmbeddingReasoner, Objective
from stablerule_lab.methods.shared.epochs import Epochs

if TYPE_CHECKING:
    from torch import Tensor

TRAINING = Epochs(200, batch_size=512, learning_rate=0.003, check_every=5)


class TransENetwork(Distances):
    """score(h, r, t) = -|h + r - t|."""

    def place(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return h + r (b, d)."""
        return heads + relations


class TransE(EmbeddingReasoner):
    """Bordes et al. (2013): score(h, r, t) = -|h + r - t|, so that a relation is a translation from head to tail.

    The publication normalises entities and uses a margin loss against one sampled fact. Here rows are not normalised,
    an inverse has its own row, and the loss compares with many entities at once, by a softmax or by the margin of Sun
    et al. (2019) with more weight on hard negatives.

    size: numbers in a row. norm: 1 or 2; one matrix product computes norm 2.
    negatives: sampled for each batch and shared by its queries; None uses all entities.
    margin, temperature: for loss="margin": correct scores are pushed above -margin, wrong ones below; the temperature
    sets the weight of hard negatives.
    deviation: of the initial values. training: see `Epochs`.

    >>> from stablerule import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> learner = TransE.with_options({"size": 8, "training.epochs": 30})
    >>> model = learner.fit(Dataset.from_names("trip", train=facts).graph)
    >>> [answer.entity for answer in next(model.answer([("Bonn", "in")], k=1))]
    ['Germany']
    """

    method: ClassVar[str] = "transe"

    def __init__(
        self,
        *,
        size: int = 200,
        norm: Literal[1, 2] = 1,
        negatives: int | None = 500,
        loss: Literal["softmax", "margin"] = "softmax",
        margin: float = 9.0,
        temperature: float = 1.0,
        deviation: float = 0.1,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.size = size
        self.norm = norm
        self.negatives = negatives
        self.loss = loss
        self.margin = margin
        self.temperature = temperature
        self.deviation = deviation
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> TransENetwork:
        """Return the network."""
        told = Objective(self.negatives, self.loss, self.margin, self.temperature)
        return TransENetwork(self._table(entities, self.size), self._table(2 * relations, self.size), told, self.norm)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "margin", "temperature")
