"""Any other model, by the scores that it gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.evaluation.band import as_scores, rank_rows
from stablerule.reasoning.ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.graph.triples import Ids, Offsets

# At once: 32 MB of float64, and a model that keeps ten numbers for each still fits into memory.
SCORES_AT_ONCE = 1 << 22


class ByScores:
    """Makes a `Ranker` of a function that scores.

    score: called with heads (b,) and relations (b,), both int64, it returns the scores of all entities, (b, E), the
    higher the better. Relations of R or more are inverses: (t, r + R, ?) asks for the heads of r. It is called once for
    each distinct (head, relation), in any order.
    floor: a score above it means that the model has something to say about an entity, as rules have where one fires;
    None for a model that always has.
    batch_size: how many queries at once; None takes as many as make four million scores.

    Infinite scores are ranked as they are, and tie with each other. NaN is an error. What the model may look at is its
    own affair: the graph that `evaluate` hands over is not passed on.

    >>> from stablerule.graph import Dataset
    >>> world = Dataset.from_names("tiny", train=[("a", "r", "b")], test=[("b", "r", "c")])
    >>> popular = np.array([0.0, 2.0, 1.0])
    >>> model = ByScores(lambda heads, relations: np.tile(popular, (len(heads), 1)), name="popularity")
    >>> model.rank(world.test, graph=world.graph, known=world.graph).best
    array([2])
    """

    def __init__(
        self,
        score: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
        floor: float | None = None,
        *,
        batch_size: int | None = None,
        name: str | None = None,
    ) -> None:
        self.score = score
        self.floor = floor
        self.batch_size = batch_size
        self.method = name or getattr(score, "__name__", type(score).__name__)

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Score each distinct (head, relation) once, and rank the answers; see `Ranker.rank`."""
        self._check_options()
        _check_ids(queries, known)
        entities, n = known.n_entities, len(queries)
        pairs, pair_of = _pairs(queries, known)
        order = np.argsort(pair_of, kind="stable")
        asked, pair_of = queries.rows[order], pair_of[order]
        best, worst, candidates = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        covered = np.empty(n, bool)
        at_once = self.batch_size or max(1, SCORES_AT_ONCE // entities)
        for first in range(0, len(pairs), at_once):
            chunk = pairs[first : first + at_once]
            scores = self._scores(chunk[:, 0].copy(), chunk[:, 1].copy(), entities)
            part = slice(*np.searchsorted(pair_of, (first, first + len(chunk))))
            rows = pair_of[part] - first
            broken = rank_rows(
                scores,
                rows,
                asked[part],
                known.offsets,
                known.edge_relations,
                known.edge_tails,
                0.0 if self.floor is None else float(self.floor),
                self.floor is not None,
                best[part],
                worst[part],
                covered[part],
                candidates[part],
            )
            if broken >= 0:
                raise self._nan(asked[part][broken], scores[rows[broken]], known)
        back = np.argsort(order)
        return Ranks(best[back], worst[back], covered[back], candidates[back])

    def _scores(self, heads: Offsets, relations: Offsets, entities: int) -> NDArray[Any]:
        scores = as_scores(self.score(heads, relations), f"The scores of {self.method!r}")
        if scores.shape != (len(heads), entities):
            raise InputError(
                f"The scores of {self.method!r} must be of shape {(len(heads), entities)}: a row for each of "
                f"{len(heads):,} queries, a column for each of {entities:,} entities; got {scores.shape}."
            )
        return scores

    def _nan(self, query: Ids, scores: NDArray[Any], known: Graph) -> InputError:
        words, (head, relation, _) = known.vocabulary, query.tolist()
        entity = words.entity_name(int(np.isnan(scores).argmax()))
        return InputError(
            f"{self.method!r} gave NaN to entity {entity!r} for the query ({words.entity_name(head)!r}, "
            f"{words.relation_name(relation)!r}, ?). Give every entity a number; -inf puts it behind all others."
        )

    def _check_options(self) -> None:
        if not callable(self.score):
            raise OptionError(f"Argument 'score' of ByScores must be a function, got {self.score!r}.")
        if self.floor is not None and (not isinstance(self.floor, int | float) or math.isnan(self.floor)):
            raise OptionError(f"Argument 'floor' of ByScores must be a number or None, got {self.floor!r}.")
        if self.batch_size is not None and (not isinstance(self.batch_size, int) or self.batch_size < 1):
            raise OptionError(f"Argument 'batch_size' of ByScores must be at least 1 or None, got {self.batch_size!r}.")

    def __repr__(self) -> str:
        return f"ByScores({self.method!r})"


def _check_ids(queries: Triples, graph: Graph) -> None:
    """Refuse ids that the graph does not have, which a kernel would take for places in memory."""
    words = graph.vocabulary
    for ids, check in (
        (queries.heads, words.known_entity),
        (queries.relations, words.known_relation),
        (queries.tails, words.known_entity),
    ):
        if len(ids):
            check(int(ids.min()))
            check(int(ids.max()))


def _pairs(queries: Triples, graph: Graph) -> tuple[Offsets, Offsets]:
    """Distinct (head, relation), (p, 2), and for each query which one is its own."""
    width = 2 * graph.n_relations
    keys, pair_of = np.unique(queries.heads.astype(np.int64) * width + queries.relations, return_inverse=True)
    return np.stack(np.divmod(keys, width), axis=1), pair_of.reshape(-1).astype(np.int64)
