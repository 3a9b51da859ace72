"""A graph as tensors, for networks that pass messages along its edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule.graph import Graph


@dataclass(frozen=True, eq=False)
class Edges:
    """All facts and their inverses, (2T,) each: from `heads` along `relations` to `tails`; `r + R` is the inverse of r.

    >>> from stablerule import Dataset
    >>> edges = Edges.of(Dataset.from_names("pair", train=[("a", "likes", "b")]).graph)
    >>> edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist()
    ([0, 1], [0, 1], [1, 0])
    """

    heads: Tensor
    relations: Tensor
    tails: Tensor
    n_entities: int
    n_relations: int

    @classmethod
    def of(cls, graph: Graph, device: str = "cpu") -> Edges:
        """Return the edges of a graph, by head, relation and tail."""
        heads = np.repeat(np.arange(graph.n_entities), graph.degrees)
        columns = (heads, graph.edge_relations, graph.edge_tails)
        h, r, t = (torch.from_numpy(column.astype(np.int64)).to(device) for column in columns)
        return cls(h, r, t, graph.n_entities, graph.n_relations)

    def __len__(self) -> int:
        return len(self.heads)

    def take(self, which: Tensor) -> Edges:
        """Return some edges, by positions or a mask."""
        columns = (self.heads[which], self.relations[which], self.tails[which])
        return Edges(*columns, self.n_entities, self.n_relations)

    def without(self, facts: Tensor) -> Edges:
        """Remove facts (b, 3) and their inverses, so that a query does not contain its answer."""
        n = self.n_relations
        inverse = torch.stack([facts[:, 2], (facts[:, 1] + n) % (2 * n), facts[:, 0]], dim=1)
        asked = torch.cat([facts, inverse])
        return self.take(~torch.isin(self._keys(self.heads, self.relations, self.tails), self._keys(*asked.T)))

    def _keys(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        return (heads * (2 * self.n_relations) + relations) * self.n_entities + tails
