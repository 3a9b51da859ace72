"""Weights for the examples that fit the aggregation `learned`.

Decorrelating weights make the evidence columns of correct answers depend on each other as little as possible.
Worst-group weights grow for groups of similar entities with a large loss. Random weights with the same effective share
are the control.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from stablerule.extending import (
    EVIDENCE_COLUMNS,
    EVIDENCE_ROWS,
    FIXED_AGGREGATIONS,
    Aggregation,
    Queries,
    RuleSearcher,
    collect_weight_examples,
    encode_rules,
    fit_evidence_weights,
    softmax_loss,
)
from stablerule.graph import Graph, Triples
from stablerule.learning import Decorrelation
from stablerule_lab.experiments.stable_confidence import GROUPS, entity_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stablerule.extending import Examples, RuleReasoner

Kind: TypeAlias = Literal["equal", "decorrelating", "random", "worst group"]
COPIES = 8  # an example of weight w is repeated COPIES * w times, rounded
STEPS, RATE = 100, 0.05
ROUNDS, PRESSURE = 8, 1.0
SHARE_FLOOR = 0.5


def weigh_evidence(model: RuleReasoner, graph: Graph, valid: Triples, kind: Kind, seed: int) -> RuleReasoner:
    """Return the model with the aggregation `learned` fitted again on weighted examples."""
    known = Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
    queries = Queries.both_ways(valid, graph.n_relations)
    encoded = encode_rules(model.rules, graph, "confidence")
    evidence = collect_weight_examples(RuleSearcher(encoded, FIXED_AGGREGATIONS[0]), *queries, known, EVIDENCE_ROWS)
    useful = evidence.useful
    if not len(useful):
        return model
    evidence, heads = evidence.take(useful), queries.heads[useful]
    ridge = _ridge(model.learned_.choice.tried if model.learned_.choice else ())
    importance = _importance(evidence, graph, heads, kind, ridge, seed)
    aggregation = Aggregation("learned", weights=_fit(evidence, graph, importance, ridge, seed))
    return model.with_learned(model.learned_.with_aggregation(aggregation))


def _fit(examples: Examples, graph: Graph, importance: NDArray[np.float64], ridge: float, seed: int) -> Any:
    """Fit on examples repeated by importance; the ridge grows with their number."""
    copies = np.repeat(np.arange(len(examples)), np.rint(COPIES * importance).astype(np.int64))
    return fit_evidence_weights(examples.take(copies), graph, [ridge * COPIES], seed)[0]


def _ridge(tried: Sequence[Mapping[str, Any]]) -> float:
    """Return the ridge that was chosen with equal weights."""
    return next((float(way["ridge"]) for way in tried if "ridge" in way), 16.0)


def _importance(
    examples: Examples, graph: Graph, heads: NDArray[Any], kind: Kind, ridge: float, seed: int
) -> NDArray[np.float64]:
    """Return the importance of each example (n,), with mean 1."""
    n = len(examples)
    if kind == "equal":
        return np.ones(n)
    if kind == "worst group":
        return _worst_group(examples, graph, entity_groups(graph, seed=seed)[heads], ridge, seed)
    import torch  # noqa: PLC0415

    from stablerule_lab.inside.network import BodyWeights, draw_random_weights  # noqa: PLC0415

    answers = examples.rows[:, 0].astype(np.float64)  # (n, columns)
    moving = answers[:, answers.std(0) > 1e-6]
    options = Decorrelation(weight_steps=STEPS, weight_rate=RATE, share_floor=SHARE_FLOOR)
    found = BodyWeights(n, options).update(torch.arange(n), torch.from_numpy(moving), torch.ones(n))
    weights = found.weights
    if kind == "random":
        weights = draw_random_weights(torch.ones(n), found.steps[-1].share, torch.Generator().manual_seed(seed))
    importance: NDArray[np.float64] = weights.double().numpy()
    return importance


def _worst_group(
    examples: Examples, graph: Graph, groups: NDArray[np.int64], ridge: float, seed: int
) -> NDArray[np.float64]:
    """Return weights of groups from repeated fits: groups with a larger mean loss count more."""
    sizes = np.bincount(groups, minlength=GROUPS)
    share, importance = sizes / sizes.sum(), np.ones(len(groups))
    for _ in range(ROUNDS):
        weights = _fit(examples, graph, importance, ridge, seed)
        losses = np.bincount(groups, _losses(examples, graph, weights), minlength=GROUPS) / np.maximum(sizes, 1)
        share = np.where(sizes > 0, share * np.exp(PRESSURE * (losses - losses.max())), 0)
        share = np.maximum(share / share.sum(), 0.02 * (sizes > 0))
        importance = (share / share.sum() / np.maximum(sizes, 1))[groups] * len(groups)
    return importance


def _losses(examples: Examples, graph: Graph, weights: dict[str, tuple[float, ...]]) -> NDArray[np.float64]:
    """Return -log softmax of each answer among competing candidates (n,)."""
    found = np.empty(len(examples))
    size = len(EVIDENCE_COLUMNS)
    for i, relation in enumerate(examples.relations.tolist()):
        own = np.array(weights.get(graph.vocabulary.relation_name(relation), weights["*"]))
        nothing = np.zeros(size), np.zeros((size, size))
        found[i] = softmax_loss(examples.rows, examples.stand_for, np.array([i]), own, *nothing)
    return found
