"""TransE: a relation is a step from head to tail."""

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
        """Return (b, d)."""
        return heads + relations


class TransE(EmbeddingReasoner):
    """Bordes et al. (2013): score(h, r, t) = -|h + r - t|, so that a relation is a step from head to tail.

    The paper keeps entities on a sphere and holds a fact against one drawn fact by a margin. Here rows are free, an
    inverse has a row of its own, and a fact is held against many entities at once, by a softmax or by Sun et al.'s
    (2019) margin, where hard rivals weigh more.

    size: numbers in a row. norm: 1 is the sum of differences, 2 their length, which one matrix product gives.
    negatives: rivals that are drawn for a batch, the same for all of its queries; None is all entities.
    margin, temperature: of loss="margin": right scores above -margin, wrong ones below; how much hard rivals weigh.
    deviation: of the first values. training: see `Epochs`.

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
        """Make the network."""
        told = Objective(self.negatives, self.loss, self.margin, self.temperature)
        return TransENetwork(self._table(entities, self.size), self._table(2 * relations, self.size), told, self.norm)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "margin", "temperature")
