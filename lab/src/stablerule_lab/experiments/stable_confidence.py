"""Confidence that holds in every group of entities: a rule that is right in one group only counts less.

Entities are grouped by their edges. A rule is measured in each group, and its confidence becomes the lowest of these,
or their mean minus their standard deviation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from scipy import sparse

from stablerule.extending import (
    PESSIMISM,
    make_balanced_clusters,
    measure_rules,
    number_learned_rules,
    reduce_signatures,
)
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import ExampleFacts
    from stablerule.graph import Graph

GROUPS = 5


def entity_groups(
    graph: Graph, *, among: NDArray[np.int32] | None = None, groups: int = GROUPS, seed: int = 0
) -> NDArray[np.int64]:
    """Return the group of each entity (n,): groups of equal size, by the relations of their edges."""
    heads = np.repeat(np.arange(graph.n_entities), graph.degrees)
    shape = (graph.n_entities, 2 * graph.n_relations)
    counts = sparse.csr_matrix((np.ones(len(heads)), (heads, graph.edge_relations)), shape=shape)
    counts.data = np.log1p(counts.data)
    asked = counts if among is None else counts[among]
    return make_balanced_clusters(reduce_signatures(asked, seed=seed), groups, seed)


def stable_rules(
    rules: RuleSet,
    graph: Graph,
    examples: ExampleFacts,
    how: Literal["envelope", "mean - deviation"],
    *,
    budget: float | None = 1e9,
    seed: int = 0,
) -> RuleSet:
    """Replace the confidence of rules without constants; rules with constants keep theirs.

    In a group where a body links few pairs, the confidence is shrunk towards that over all groups.
    """
    frame = rules.to_frame()
    chains, others = (frame.filter(pl.col("constant").is_null() == one) for one in (True, False))
    bodies, heads = number_learned_rules(chains, graph)
    labels = entity_groups(graph, seed=seed)
    share = None if budget is None else budget / GROUPS
    overall = chains["confidence"].to_numpy()
    by_group = []
    for group in range(GROUPS):
        among = np.flatnonzero(labels == group).astype(np.int32)
        found = measure_rules(graph, bodies, heads, examples=examples, among=among, budget=share, seed=seed)
        by_group.append((found.support + PESSIMISM * overall) / (found.body_count + PESSIMISM))
    stable = np.min(by_group, 0) if how == "envelope" else np.mean(by_group, 0) - np.std(by_group, 0)
    changed = chains.with_columns(confidence=pl.Series(np.clip(stable, 0.0, 1.0)))
    return RuleSet.from_frame(pl.concat([changed, others]))
