"""Some facts of a graph as examples, and the others as plain sets."""

from __future__ import annotations

import numpy as np

from stablerule import Graph, Triples

Link = tuple[int, int, int]


def some_facts(graph: Graph, seed: int, share: float = 0.6) -> Triples:
    """At least one fact of a graph, in any order, and some of them twice."""
    rng = np.random.default_rng([seed, 99])
    kept = np.flatnonzero(rng.random(graph.n_facts) < share)
    kept = kept if len(kept) else rng.integers(graph.n_facts, size=1)
    return graph.triples.take(rng.permutation(np.concatenate([kept, kept[: len(kept) // 3]])))


def both_ways(facts: Triples, graph: Graph) -> set[Link]:
    """Facts by id, each with its inverse."""
    rows = [(h, r, t) for h, r, t in facts.rows.tolist()]
    return {*rows, *((t, r + graph.n_relations, h) for h, r, t in rows)}


def withheld_of(graph: Graph, examples: Triples) -> set[Link]:
    """What the graph has and the examples have not, with inverses."""
    return both_ways(graph.triples, graph) - both_ways(examples, graph)
