"""From scores to the bands of ranks: how many rivals are better than an answer, how many are level with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import InputError
from stablerule.paths.compiling import compiled
from stablerule.reasoning.ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.graph.triples import Ids, Offsets

# At once: 32 MB of float64, and a model that keeps ten numbers for each still fits into memory.
SCORES_AT_ONCE = 1 << 22


def rank_by_scores(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
    queries: Triples,
    known: Graph,
    *,
    floor: float | None,
    at_once: int | None,
    name: str,
) -> Ranks:
    """Score each distinct (head, relation) once, and rank the answers; the arguments are those of `ByScores`."""
    _check_query_ids(queries, known)
    entities, n = known.n_entities, len(queries)
    pairs, pair_of = _find_distinct_queries(queries, known)
    order = np.argsort(pair_of, kind="stable")
    asked, pair_of = queries.rows[order], pair_of[order]
    best, worst, candidates = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    covered = np.empty(n, bool)
    at_once = at_once or max(1, SCORES_AT_ONCE // entities)
    for first in range(0, len(pairs), at_once):
        chunk = pairs[first : first + at_once]
        scores = _score_entities(score, chunk[:, 0].copy(), chunk[:, 1].copy(), entities, name)
        part = slice(*np.searchsorted(pair_of, (first, first + len(chunk))))
        rows = pair_of[part] - first
        broken = rank_score_rows(
            scores,
            rows,
            asked[part],
            known.offsets,
            known.edge_relations,
            known.edge_tails,
            0.0 if floor is None else float(floor),
            floor is not None,
            best[part],
            worst[part],
            covered[part],
            candidates[part],
        )
        if broken >= 0:
            raise _make_nan_error(asked[part][broken], scores[rows[broken]], known, name)
    back = np.argsort(order)
    return Ranks(best[back], worst[back], covered[back], candidates[back])


def _score_entities(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
    heads: Offsets,
    relations: Offsets,
    entities: int,
    name: str,
) -> NDArray[Any]:
    scores = convert_model_scores(score(heads, relations), f"The scores of {name!r}")
    if scores.shape != (len(heads), entities):
        raise InputError(
            f"The scores of {name!r} must be of shape {(len(heads), entities)}: a row for each of "
            f"{len(heads):,} queries, a column for each of {entities:,} entities; got {scores.shape}."
        )
    return scores


def _make_nan_error(query: Ids, scores: NDArray[Any], known: Graph, name: str) -> InputError:
    words, (head, relation, _) = known.vocabulary, query.tolist()
    entity = words.entity_name(int(np.isnan(scores).argmax()))
    return InputError(
        f"{name!r} gave NaN to entity {entity!r} for the query ({words.entity_name(head)!r}, "
        f"{words.relation_name(relation)!r}, ?). Give every entity a number; -inf puts it behind all others."
    )


def _check_query_ids(queries: Triples, graph: Graph) -> None:
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


def _find_distinct_queries(queries: Triples, graph: Graph) -> tuple[Offsets, Offsets]:
    """Distinct (head, relation), (p, 2), and for each query which one is its own."""
    width = 2 * graph.n_relations
    keys, pair_of = np.unique(queries.heads.astype(np.int64) * width + queries.relations, return_inverse=True)
    return np.stack(np.divmod(keys, width), axis=1), pair_of.reshape(-1).astype(np.int64)


def convert_model_scores(given: Any, what: str) -> NDArray[Any]:
    """Return scores in a type that kernels are compiled for, with no tie made or broken on the way."""
    try:
        scores = np.asarray(given)
    except Exception as error:  # a tensor that is still being learned, or whatever else a foreign model returns
        cure = " Return tensor.detach().cpu(), of bfloat16 its .float() too." if hasattr(given, "detach") else ""
        said = str(error).rstrip(".")
        raise InputError(f"{what} must be an array of numbers, got {type(given).__name__} ({said}).{cure}") from error
    if scores.dtype.kind not in "fiub":
        raise InputError(f"{what} must be an array of numbers, got {scores.dtype}.")
    if scores.dtype == np.float16:
        scores = scores.astype(np.float32)
    elif scores.dtype.kind in "ib":
        scores = scores.astype(np.int64, copy=False)
    elif scores.dtype != np.float32:
        scores = scores.astype(np.float64, copy=False)
    return np.ascontiguousarray(scores)


class Rivals(NamedTuple):
    """How many entities, known ones left out, are better than the answer, level with it, above the floor, or NaN."""

    better: int
    level: int
    above: int
    broken: int


@compiled
def count_rivals(scores: NDArray[Any], answer: int, known: Ids, floor: float, floored: bool) -> Rivals:
    """Count over all entities at first, then take the known ones off: the long loop stays without a branch."""
    own = scores[answer]
    better, level, above, broken = 0, -1, 0, 0  # the answer is level with itself
    for score in scores:
        better += score > own
        level += score == own
        above += not floored or score > floor
        broken += np.isnan(score)
    for entity in known:
        if entity != answer:
            better -= scores[entity] > own
            level -= scores[entity] == own
            above -= not floored or scores[entity] > floor
    return Rivals(better, level, above, broken)


@compiled
def rank_score_rows(
    scores: NDArray[Any],
    rows: Offsets,
    queries: Ids,
    offsets: Offsets,
    edge_relations: Ids,
    edge_tails: Ids,
    floor: float,
    floored: bool,
    best: Offsets,
    worst: Offsets,
    covered: NDArray[np.bool_],
    candidates: Offsets,
) -> int:
    """Rank queries (q, 3) by scores (p, E), where the scores of query i stand in row rows[i].

    offsets, edge_relations and edge_tails are those of the graph of known facts; the last four are filled. Returns the
    first query whose scores hold NaN, or -1.
    """
    for i in range(len(queries)):
        head, relation, answer = queries[i, 0], queries[i, 1], queries[i, 2]
        low, high = offsets[head], offsets[head + 1]
        begin = low + np.searchsorted(edge_relations[low:high], relation)
        end = low + np.searchsorted(edge_relations[low:high], relation, side="right")
        row = scores[rows[i]]
        better, level, above, broken = count_rivals(row, answer, edge_tails[begin:end], floor, floored)
        if broken:
            return i
        best[i] = 1 + better
        worst[i] = 1 + better + level
        covered[i] = not floored or row[answer] > floor
        candidates[i] = above
    return -1
