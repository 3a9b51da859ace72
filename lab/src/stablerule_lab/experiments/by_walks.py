"""Rules without object identity: walks along a body count, whether or not they pass an entity twice.

By products of scipy's sparse matrices: slower than the package's own way to answer, which counts paths with distinct
entities, and meant for the one comparison of the two.
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
    """Ranks by the sum over chains of score * walks.

    ordered: what walks leave equal stands by popularity, the facts of the relation that end there, as everywhere in
    the package; else it is tied.
    """

    def __init__(self, rules: RuleSet, graph: Graph, *, ordered: bool = False) -> None:
        if ordered:
            super().__init__(self._ordered_scores, floor=float(np.nextafter(1.0, 0.0)), name="walks, ordered")
        else:
            super().__init__(self._walk_scores, floor=0.0, name="walks")
        self._graph, self._theory = graph, encode_rules(rules, graph, "score").theory
        self._steps = [_matrix(graph, relation) for relation in range(2 * graph.n_relations)]

    def _walk_scores(self, heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
        """(b, E); the queries of one relation are walked together."""
        scores = np.zeros((len(heads), self._graph.n_entities))
        for relation in np.unique(relations).tolist():
            rows = np.flatnonzero(relations == relation)
            some = np.zeros((len(rows), scores.shape[1]))
            for weight, walks in self._walked(heads[rows], relation):
                some[:, :] += weight * walks
            scores[rows] = some
        return scores

    def _ordered_scores(self, heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
        """(b, E); places of the scores, 0 where no walk leads, and between them, below 1, popularity."""
        scores = self._walk_scores(heads, relations)
        for row, relation in enumerate(relations.tolist()):
            # 0 has the first place, whether or not there is one
            places = np.unique(np.append(scores[row], 0.0), return_inverse=True)[1][:-1]
            ends = np.bincount(self._graph.facts(relation)[1], minlength=self._graph.n_entities)
            scores[row] = places + ends / (ends.max() + 1)
        return scores

    def _walked(self, heads: NDArray[np.int64], relation: int) -> Iterator[tuple[float, sparse.csr_array]]:
        """Yield each chain of a relation: its weight, and the walks from heads (b,) to all entities, (b, E)."""
        t = self._theory
        start = sparse.csr_array(
            (np.ones(len(heads)), (np.arange(len(heads)), heads)), shape=(len(heads), self._graph.n_entities)
        )
        before: list[int] = []
        reached = [start]  # reached[i]: after i steps of the body before, whose beginning the next may share
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
    """(E, E): 1 where the relation leads from one entity to another."""
    heads, tails = graph.facts(relation)
    shape = (graph.n_entities, graph.n_entities)
    return sparse.csr_array((np.ones(len(heads)), (heads, tails)), shape=shape)
