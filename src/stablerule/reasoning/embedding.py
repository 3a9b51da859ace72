"""Learned embeddings of entities and relations, which answer by numpy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ENTITIES, RELATIONS = "embedding.entities", "embedding.relations"  # tensors by name


@dataclass(frozen=True, eq=False)
class EntityEmbedding:
    """ComplEx: score(h, r, t) = Re(sum of h * r * conj(t)), over complex rows.

    A row has the real parts before the imaginary ones: entities (E, 2d), relations (2R, 2d). Relation r + R is the
    inverse of r.

    >>> one, turn = [1.0, 0.0], [0.0, 1.0]  # 1 and i
    >>> model = EntityEmbedding(np.array([one, turn], np.float32), np.array([turn, one], np.float32))
    >>> model.score(np.array([0, 0]), np.array([0, 1])).tolist()  # 1 * i is near i, 1 * 1 is near 1
    [[0.0, 1.0], [1.0, 0.0]]
    """

    entities: NDArray[np.float32]
    relations: NDArray[np.float32]

    def score(self, heads: NDArray[Any], relations: NDArray[Any]) -> NDArray[np.float32]:
        """Return the scores of all entities (b, E) for queries (b,), the higher the better."""
        return self.place_answers(heads, relations) @ self.entities.T

    def place_answers(self, heads: NDArray[Any], relations: NDArray[Any]) -> NDArray[np.float32]:
        """Return h * r (b, 2d): its plain product with the row of a tail is the score."""
        (a, b), (c, d) = np.split(self.entities[heads], 2, axis=1), np.split(self.relations[relations], 2, axis=1)
        return np.concatenate([a * c - b * d, a * d + b * c], axis=1)

    def to_tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return what is saved."""
        return {ENTITIES: self.entities, RELATIONS: self.relations}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> EntityEmbedding:
        """Use the saved tensors without a copy, also where they are mapped into memory."""
        return cls(tensors[ENTITIES], tensors[RELATIONS])
