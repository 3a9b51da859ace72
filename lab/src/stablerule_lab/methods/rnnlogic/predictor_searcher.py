"""Answer by rules and entity biases: weight * paths plus bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.extending import (
    N_FIRINGS,
    NOTHING,
    ScoreSearcher,
    close_relation,
    compiled,
    fire_rules,
    make_empty_firings,
    open_relation,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import Asked, Desk, Ids, RuleSearcher


class PredictorSearcher(ScoreSearcher):
    """Rules prepared for a graph, with their weights, plus biases (2R, E). All entities are answers."""

    def __init__(self, rules: RuleSearcher, bias: NDArray[np.float32], *, name: str) -> None:
        super().__init__(rules.graph, self._scores, name=name, rules=rules)
        self.rules, self.bias = rules, bias

    def _scores(self, heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of all entities for each query (b, E)."""
        scores = self.bias[relations].astype(np.float64)

        def part(asked: Asked, rows: NDArray[np.int64], desk: Desk) -> None:
            some = scores[rows]
            add_paths(asked, heads[rows].astype(np.int32), desk, some)
            scores[rows] = some

        self.rules.run_in_parts(relations.astype(np.int32), heads.astype(np.int32), part)
        return scores


@compiled
def add_paths(a: Asked, heads: Ids, desk: Desk, scores: NDArray[np.float64]) -> None:
    """Add weight * paths of all rules of the relation to scores (n, E)."""
    open_relation(a.theory, a.relation, desk.workplace.row_of)
    f = make_empty_firings(desk.workplace)
    for q in range(len(heads)):
        f = fire_rules(a.g, a.relations, a.theory, heads[q], a.relation, NOTHING, desk.workplace, f)
        for i in range(f.sizes[N_FIRINGS]):
            scores[q, f.entities[f.slots[i]]] += a.theory.weights[f.rules[i]] * f.paths[i]
    close_relation(a.theory, a.relation, desk.workplace.row_of, f)
