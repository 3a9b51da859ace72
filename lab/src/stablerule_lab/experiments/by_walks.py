"""Answer by walks, which may repeat an entity, instead of paths with distinct entities.

This uses products of sparse matrices and is slower than the library. It serves one comparison in the ablation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from stablerule.evaluation import ByScores
from stablerule.extending import encode_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.rules import RuleSet


class ByWalks(ByScores):
    """Rank answers by the sum over rules of score * walks.

    ordered: break ties by popularity, as everywhere in the package; otherwise leave them tied.
    """

    def __init__(self, rules: RuleSet, graph: Graph, *, ordered: bool = False) -> None:
        if ordered:
            super().__init__(self._ordered_scores, floor=float(np.nextafter(1.0, 0.0)), name="walks, ordered")
        else:
            super().__init__(self._walk_scores, floor=0.0, name="walks")
        self._graph, self._theory = graph, encode_rules(rules, graph, "score").theory
        self._steps = [_matrix(graph, relation) for relation in range(2 * graph.n_relations)]

    def _walk_scores(self, heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores (b, E); queries of one relation are walked together."""
        scores = np.zeros((len(heads), self._graph.n_entities))
        for relation in np.unique(relations).tolist():
            rows = np.flatnonzero(relations == relation)
            some = np.zeros((len(rows), scores.shape[1]))
            for weight, walks in self._walked(heads[rows], relation):
                some[:, :] += weight * walks
            scores[rows] = some
        return scores

    def _ordered_scores(self, heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return scores (b, E) with ties broken by popularity: the rank of the walk score, plus popularity below 1."""
        scores = self._walk_scores(heads, relations)
        for row, relation in enumerate(relations.tolist()):
            # score 0 always has rank 0
            places = np.unique(np.append(scores[row], 0.0), return_inverse=True)[1][:-1]
            ends = np.bincount(self._graph.facts(relation)[1], minlength=self._graph.n_entities)
            scores[row] = places + ends / (ends.max() + 1)
        return scores

    def _walked(self, heads: NDArray[np.int64], relation: int) -> Iterator[tuple[float, sparse.csr_array]]:
        """Yield the weight of each rule of a relation, and its walks (b, E) from the heads (b,) to all entities."""
        t = self._theory
        start = sparse.csr_array(
            (np.ones(len(heads)), (np.arange(len(heads)), heads)), shape=(len(heads), self._graph.n_entities)
        )
        before: list[int] = []
        reached = [start]  # reached[i]: after i steps of the last body; the next body may share its first steps
        for rule in range(int(t.starts[relation]), int(t.starts[relation + 1])):
            body = t.bodies[rule, : t.lengths[rule]].tolist()
            shared = 0
            while shared < min(len(body), len(before)) and body[shared] == before[shared]:
                shared += 1
            del reached[shared + 1 :]
            for step in body[shared:]:
                reached.append(reached[-1] @ self._steps[step])
            before = body
            yield float(t.weights[rule]), reached[len(body)]


def _matrix(graph: Graph, relation: int) -> sparse.csr_array:
    """Return the adjacency matrix (E, E) of a relation."""
    heads, tails = graph.facts(relation)
    shape = (graph.n_entities, graph.n_entities)
    return sparse.csr_array((np.ones(len(heads)), (heads, tails)), shape=shape)
