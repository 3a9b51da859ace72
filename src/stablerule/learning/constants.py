"""Rules with constants, r(X, c) <- s(X, d) and r(X, c) <- s(X, A): counted for all relations at once, not sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stablerule.paths.effort import count_relation_heads
from stablerule.paths.traits import count_traits, list_traits, name_traits
from stablerule.paths.withheld import ExampleFacts
from stablerule.rules import RuleSet
from stablerule.rules.scored import PESSIMISM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids

MANY_FACTS = 100_000


def find_constant_rules(
    graph: Graph,
    *,
    examples: ExampleFacts | None = None,
    min_support: int | None = None,
    min_confidence: float = 0.05,
    per_constant: int | None = None,
) -> RuleSet:
    """Find the rules with constants that hold often enough, the best `per_constant` for each conclusion r(X, c).

    None is 2 and 1000, but 3 and 100 on a graph of more than 100,000 facts, where they would be many millions.
    examples: the facts that count as conclusions; None is all. Of the others, X counts as neither right nor wrong.

    >>> from stablerule.graph import Dataset
    >>> french = [(f"p{i}", "born_in", "Paris") for i in range(4)] + [(f"p{i}", "speaks", "French") for i in range(4)]
    >>> for rule in find_constant_rules(Dataset.from_names("people", train=french).graph).sort("support"):
    ...     print(rule.rule, rule.support, rule.body_count)
    born_in(X, 'Paris') <- speaks(X, A) 4.0 4.0
    born_in(X, 'Paris') <- speaks(X, 'French') 4.0 4.0
    speaks(X, 'French') <- born_in(X, A) 4.0 4.0
    speaks(X, 'French') <- born_in(X, 'Paris') 4.0 4.0
    """
    small = graph.n_facts <= MANY_FACTS
    min_support = min_support or (2 if small else 3)
    per_constant = per_constant or (1000 if small else 100)
    examples = examples or ExampleFacts.all_of(graph)
    traits = list_traits(graph)
    found = count_traits(
        graph,
        traits,
        min_support=min_support,
        min_confidence=min_confidence,
        pessimism=PESSIMISM,
        examples=examples,
    )
    confidence = found.support / (found.body_count + PESSIMISM)
    best = _best_of_each(found.heads.astype(np.int64) * graph.n_entities + found.constants, confidence, per_constant)
    relations, tails = name_traits(traits, graph, found.traits[best])
    heads, support = found.heads[best], found.support[best].astype(np.float64)
    words, entities = graph.vocabulary.all_relations, graph.vocabulary.entities.table
    facts = np.diff(examples.facts.fact_offsets)[heads % graph.n_relations]
    common = _share_of_heads(examples.facts, heads, found.constants[best])
    frame = pl.DataFrame(
        {
            "head_relation": words.gather(pl.Series(heads.astype(np.int64))),
            "body": words.gather(pl.Series(relations.astype(np.int64))).reshape((-1, 1)).arr.to_list(),
            "constant": entities.gather(pl.Series(found.constants[best].astype(np.int64))),
            "body_constant": entities.gather(pl.Series(tails.astype(np.int64)).replace(-1, None).cast(pl.UInt32)),
            "support": support,
            "body_count": found.body_count[best].astype(np.float64),
            "confidence": confidence[best],
            "pca_confidence": support / (found.partial_count[best] + PESSIMISM),
            "head_coverage": support / np.maximum(facts, 1),
            "base_rate": common,
            "confidence_low": confidence[best],
            "confidence_high": confidence[best],
        }
    )
    return RuleSet.from_frame(frame)


def _share_of_heads(facts: Graph, relations: Ids, tails: Ids) -> NDArray[np.float64]:
    """Return the share of the heads of each relation that have the tail."""
    starts = np.repeat(np.arange(facts.n_entities, dtype=np.int64), facts.degrees)
    edges = starts * 2 * facts.n_relations + facts.edge_relations  # sorted
    wanted = tails.astype(np.int64) * 2 * facts.n_relations
    wanted += (relations + facts.n_relations) % (2 * facts.n_relations)
    having = np.searchsorted(edges, wanted, "right") - np.searchsorted(edges, wanted, "left")
    shares: NDArray[np.float64] = having / count_relation_heads(facts)[relations]
    return shares


def _best_of_each(group: NDArray[np.int64], value: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the places of the k highest values of each group; of equal ones those that stand first."""
    order = np.lexsort((-value, group))
    ranked = group[order]
    return order[np.arange(len(order)) - np.searchsorted(ranked, ranked) < k]
