"""CPU seconds that the stages of learning rules take, foretold from a graph and a few walks.

The constants are fitted to what benchmarks/planning.py measures, on graphs of 5,000 to 10 million facts. Where a stage
depends on what it will find, such as measuring, a few bodies of the first walks stand for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.paths.effort import count_relation_heads, estimate_body_costs
from stablerule.reasoning.choosing import FIXED, MOST_JUDGED, MOST_OF_A_RELATION

if TYPE_CHECKING:
    from stablerule.graph import Graph
    from stablerule.learning.options import MinesRules
    from stablerule.samples import RuleSamples

EDGES_A_SECOND = 70_000_000  # that rules are measured along, for each core
CHEAPER_END = 5  # bodies are followed from the end where that is cheaper
SOME_BODIES = 300
VALID_SHARE = 0.1  # of the facts, that choose and calibrate
STEP_SECONDS, SMALL_GRAPH, CACHE_MISSES = 1.5e-7, 10_000, 0.45  # a walk, on a graph of so many facts; growth beyond
TRAIT_SECONDS = 1.5e-7  # for each trait of an entity, and each relation that it has
FITTING_SECONDS, QUERY_SECONDS, FEW_QUERIES = 4.0, 8e-5, 1300
FIRING = 0.4  # of the edges of all bodies: bodies that begin alike are followed together
CALIBRATING_SECONDS, FACT_SECONDS = 0.4, 7e-7


def estimate_costs(graph: Graph, o: MinesRules, walks: int, kept: int, pilot: RuleSamples) -> dict[str, float]:
    """Foretell the CPU seconds of each stage; kept: at most so many chains are measured."""
    facts = max(graph.n_facts, 1)
    bodies, costs = _try_bodies(graph, pilot)
    counts = np.diff(graph.fact_offsets)
    queries = 2.0 * np.minimum(MOST_OF_A_RELATION, VALID_SHARE * counts).sum()
    judged = min(queries / 2, MOST_JUDGED)
    edges = kept * float(costs.mean()) if len(costs) else 0.0
    budget = o.mining.measure_budget
    asked = 0.0
    if len(costs):
        begun = np.maximum(count_relation_heads(graph)[bodies[:, 0]], 1)
        asked = float((costs / begun).mean()) * kept / (2 * graph.n_relations) * FIRING
    return {
        "walking": walks * STEP_SECONDS * max(facts / SMALL_GRAPH, 1.0) ** CACHE_MISSES,
        "measuring": (edges if budget is None else min(edges, budget)) / EDGES_A_SECOND / CHEAPER_END,
        "constants": TRAIT_SECONDS * _count_trait_pairs(graph) if o.constants else 0.0,
        "choosing": FITTING_SECONDS * min(1.0, queries / FEW_QUERIES)
        + QUERY_SECONDS * queries
        + (judged * (len(FIXED) + 1) + queries) * asked / EDGES_A_SECOND,
        "calibrating": CALIBRATING_SECONDS + FACT_SECONDS * facts,
    }


def count_kept_chains(graph: Graph, bodies: int, per_relation: int, pilot: RuleSamples) -> int:
    """Say how many chains are measured: as many as may be kept, or as there are bodies that a relation closes."""
    closed = len(np.unique(pilot.cell_bodies[pilot.cell_heads != pilot.negative]))
    share = closed / max(pilot.n_bodies, 1)
    return int(min(per_relation * 2 * graph.n_relations, max(closed, bodies * share)))


def _try_bodies(graph: Graph, pilot: RuleSamples) -> tuple[np.ndarray, np.ndarray]:
    """Return some bodies that a relation closes, sorted, and how many edges each costs from all its beginnings."""
    closed = np.unique(pilot.cell_bodies[pilot.cell_heads != pilot.negative])
    some = pilot.bodies[np.random.default_rng(0).permutation(closed)[:SOME_BODIES]]
    bodies = np.ascontiguousarray(some[np.lexsort(some.T[::-1])], np.int32)
    return bodies, estimate_body_costs(graph, bodies)


def _count_trait_pairs(graph: Graph) -> float:
    """Count, for each entity, its traits times its relations: what counting rules with constants looks at."""
    facts, relations = graph.triples, graph.n_relations
    roles = np.concatenate(
        [
            facts.heads * np.int64(2 * relations) + facts.relations,
            facts.tails * np.int64(2 * relations) + facts.relations + relations,
        ]
    )
    own = np.bincount(np.unique(roles) // (2 * relations), minlength=graph.n_entities)
    return float((own * graph.degrees).sum())
