"""RotatE: a relation rotates complex numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from stablerule_lab.inside.embedding import measure_moduli, multiply_rows
from stablerule_lab.methods.shared.embedding import (
    Distances,
    EmbeddingReasoner,
    Objective,
    sums_of_moduli,
)
from stablerule_lab.methods.shared.epochs import Epochs

if TYPE_CHECKING:
    from torch import Tensor

TRAINING = Epochs(200, batch_size=512, learning_rate=0.003, check_every=5)


class RotatENetwork(Distances):
    """score(h, r, t) = -|h * r - t|; rows store real before imaginary parts, relations are angles."""

    def place(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return h * r (b, 2d)."""
        return multiply_rows(heads, torch.cat([relations.cos(), relations.sin()], dim=1))

    def compare(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores (b, n)."""
        return super().compare(places, tails) if self.norm == 2 else -sums_of_moduli(places, tails)

    def moduli(self, rows: Tensor) -> Tensor:
        """Return the moduli (b, d)."""
        return measure_moduli(rows)


class RotatE(EmbeddingReasoner):
    """Sun et al. (2019): score(h, r, t) = -|h * r - t| in complex numbers, where r is a rotation (moduli of 1).

    The publication uses a margin loss against sampled negatives, with more weight on hard ones, and the sum of the
    moduli of the differences: loss="margin", norm=1. Here an inverse has its own row, and the default is a softmax over
    all entities with norm=2, as in PyKEEN. It needs one matrix product, trains about thirty times as fast, and is no
    less accurate.

    size: complex numbers in an entity's row, angles in a relation's.
    negatives: sampled for each batch and shared by its queries; None uses all entities.
    margin, temperature: for loss="margin": correct scores are pushed above -margin, wrong ones below; the temperature
    sets the weight of hard negatives.
    deviation: of the initial values of entities; relations start with random angles. training: see `Epochs`.

    >>> from stablerule import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> learner = RotatE.with_options({"size": 8, "training.epochs": 30})
    >>> model = learner.fit(Dataset.from_names("trip", train=facts).graph)
    >>> [answer.entity for answer in next(model.answer([("Bonn", "in")], k=1))]
    ['Germany']
    """

    method: ClassVar[str] = "rotate"

    def __init__(
        self,
        *,
        size: int = 200,
        norm: Literal[1, 2] = 2,
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

    def build(self, entities: int, relations: int) -> RotatENetwork:
        """Return the network."""
        told = Objective(self.negatives, self.loss, self.margin, self.temperature)
        angles = (2 * torch.rand(2 * relations, self.size) - 1) * math.pi
        return RotatENetwork(self._table(entities, 2 * self.size), angles, told, self.norm)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "margin", "temperature")
