"""Plan a run: choose its sizes, and estimate its memory and time.

The constants are fitted to the measurements of benchmarks/planning.py, on graphs of 5,000 to 10 million facts. Stages
that depend on the bodies found, such as measuring, are estimated from a sample of bodies.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.learning.options import FEW_RELATIONS
from stablerule.paths.support import count_path_edges, count_relation_heads, estimate_body_costs
from stablerule.paths.threads import count_cores
from stablerule.progress import progress_bar
from stablerule.reasoning.choosing import MOST_QUERIES
from stablerule.samples import sample_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.learning.options import MinesRules, TrainsNetwork
    from stablerule.reasoning.budget import Budget
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.samples import RuleSamples

PILOT_WALKS = 40_000
WALKS_PER_RELATION = 20_000
FEWEST_WALKS, MOST_WALKS = 400_000, 8_000_000
WALKS_A_SECOND = 1_000_000  # for each core, a careful estimate
ALONE = 0.3  # share of the work that runs on one core only
HOURS = 3600
MANY_RULES, FEW_RULES = 400, 200
USUAL_LENGTH = 3
EDGES_A_SECOND = 70_000_000  # edges followed to measure rules, for each core
PATH_EDGES_A_SECOND = 150_000_000  # the same for bodies that are followed path by path
CHEAPER_END = 5  # speed-up by following bodies from the end that needs fewer edges
SOME_BODIES, SOME_HEADS = 300, 10
VALID_SHARE = 0.1  # share of the facts for model selection and calibration
STEP_SECONDS, SMALL_GRAPH, CACHE_MISSES = 1.5e-7, 10_000, 0.45  # of a walk on a small graph, its facts, growth beyond
LARGE_GRAPH = 1_000_000  # facts; beyond this, other memory accesses become slower as well
TRAIT_SECONDS = 1.5e-7  # for each trait of an entity and each of its relations
FITTING_SECONDS, QUERY_SECONDS, FEW_QUERIES = 4.0, 8e-5, 1300
FIRINGS_OF_A_QUERY = 2  # once for the fixed aggregations and the evidence, once for the strongest candidates
FIRING = 0.4  # share of the edges of all bodies, since bodies with the same start are followed together
CALIBRATING_SECONDS, FACT_SECONDS = 0.4, 7e-7
FEW_TIMED, FEWEST_IN_TIME = 200, 500  # queries that are timed under a budget, and asked at least
FIRED_QUERIES, FIRED_SHARE = 50_000, 1.5  # queries for model selection and calibration, at most and for each fact


def estimate_learning_costs(graph: Graph, o: MinesRules, walks: int, kept: int, pilot: RuleSamples) -> dict[str, float]:
    """Estimate the CPU seconds of each stage; kept: the largest number of chain rules to measure."""
    facts = max(graph.n_facts, 1)
    far = max(facts / LARGE_GRAPH, 1.0) ** CACHE_MISSES
    bodies, costs = _try_planned_bodies(graph, pilot)
    queries = float(min(2 * VALID_SHARE * facts, MOST_QUERIES))
    edges = kept * float(costs.mean()) if len(costs) else 0.0
    budget = o.mining.measure_budget
    asked = 0.0
    if len(costs):
        begun = np.maximum(count_relation_heads(graph)[bodies[:, 0]], 1)
        asked = float((costs / begun).mean()) * kept / (2 * graph.n_relations) * FIRING
    return {
        "walking": walks * STEP_SECONDS * max(facts / SMALL_GRAPH, 1.0) ** CACHE_MISSES,
        "measuring": (edges if budget is None else min(edges, budget)) / EDGES_A_SECOND / CHEAPER_END * far,
        "constants": TRAIT_SECONDS * _estimate_trait_pairs(graph) * far if o.constants else 0.0,
        "choosing": FITTING_SECONDS * min(1.0, queries / FEW_QUERIES)
        + QUERY_SECONDS * queries * far
        + FIRINGS_OF_A_QUERY * queries * asked / EDGES_A_SECOND * far,
        "calibrating": CALIBRATING_SECONDS + FACT_SECONDS * facts,
    }


def foretell_chain_seconds(graph: Graph, some: Ids, kept: float) -> float:
    """Foretell the CPU seconds that `kept` more chains add, some of which (n, L) stand for all: to measure, to fire.

    Longer ones than usual are followed path by path, and end at a cap: only following some says how far they go.
    """
    if not len(some) or not kept:
        return 0.0
    facts, begun = max(graph.n_facts, 1), np.maximum(count_relation_heads(graph)[some[:, 0]], 1)
    far = max(facts / LARGE_GRAPH, 1.0) ** CACHE_MISSES
    if some.shape[1] > USUAL_LENGTH:
        edges, speed = count_path_edges(graph, some, SOME_HEADS), PATH_EDGES_A_SECOND
    else:
        edges, speed = estimate_body_costs(graph, some) / begun, EDGES_A_SECOND
    queries = FIRING * min(FIRED_QUERIES, FIRED_SHARE * facts)
    together = float((edges * begun).mean()) / CHEAPER_END + float(edges.mean()) / (2 * graph.n_relations) * queries
    return float(kept * together / speed * far)


def count_kept_chains(graph: Graph, bodies: int, per_relation: int, pilot: RuleSamples) -> int:
    """Return how many chain rules are measured: the number to keep, or of bodies that a relation closes if lower."""
    closed = len(np.unique(pilot.cell_bodies[pilot.cell_heads != pilot.negative]))
    share = closed / max(pilot.n_bodies, 1)
    return int(min(per_relation * 2 * graph.n_relations, max(closed, bodies * share)))


def _try_planned_bodies(graph: Graph, pilot: RuleSamples) -> tuple[np.ndarray, np.ndarray]:
    """Return some bodies that a relation closes, sorted, and how many edges each follows from all its starts."""
    closed = np.unique(pilot.cell_bodies[pilot.cell_heads != pilot.negative])
    some = pilot.bodies[np.random.default_rng(0).permutation(closed)[:SOME_BODIES]]
    bodies = np.ascontiguousarray(some[np.lexsort(some.T[::-1])], np.int32)
    return bodies, estimate_body_costs(graph, bodies)


def _estimate_trait_pairs(graph: Graph) -> float:
    """Return the sum over entities of traits times relations: the work of counting rules with constants."""
    facts, relations = graph.triples, graph.n_relations
    roles = np.concatenate(
        [
            facts.heads * np.int64(2 * relations) + facts.relations,
            facts.tails * np.int64(2 * relations) + facts.relations + relations,
        ]
    )
    own = np.bincount(np.unique(roles) // (2 * relations), minlength=graph.n_entities)
    return float((own * graph.degrees).sum())


def choose_walk_count(graph: Graph) -> int:
    """Return a number of walks that closes every relation often, and is small enough for a laptop."""
    return int(np.clip(WALKS_PER_RELATION * graph.n_relations, FEWEST_WALKS, MOST_WALKS))


def choose_rule_count(graph: Graph) -> int:
    """Return how many chain rules to keep for each relation and each inverse."""
    return MANY_RULES if graph.n_relations < FEW_RELATIONS else FEW_RULES


def limit_walks_to_budget(budget: Budget, walks: int) -> int:
    """Return the number of walks that fit into a tenth of the time left, at least `PILOT_WALKS`."""
    if not budget.limited:
        return walks
    within = int(budget.left / 10 * WALKS_A_SECOND * count_cores())
    taken = max(min(walks, PILOT_WALKS), min(walks, within))
    if taken < walks:
        budget.cut(f"{taken:,} of {walks:,} walks")
    return taken


def limit_queries_to_budget(budget: Budget, search: RuleSearcher, wanted: int, what: str, share: float) -> int:
    """As many of the queries as a share of the time that is left allows, by the time that some of them take."""
    if not budget.limited or not wanted:
        return wanted
    facts, random = search.graph.triples, np.random.default_rng(0)
    for few in (FEW_TIMED // 10, FEW_TIMED):  # the first ones load or compile kernels
        some = facts.take(random.integers(len(facts), size=few))
        began = time.perf_counter()
        search.rank(some.heads, some.relations, some.tails, search.graph, hidden=True)
        seconds = (time.perf_counter() - began) / few
    allowed = max(FEWEST_IN_TIME, int(share * budget.left / seconds))
    if allowed < wanted:
        budget.cut(f"{allowed:,} of {wanted:,} {what}")
    return min(allowed, wanted)


def limit_measuring_to_budget(budget: Budget, edges: float | None) -> float | None:
    """Return the number of edges that fit into a third of the time left, for measuring rules; None is exact."""
    if not budget.limited:
        return edges
    # This does not cut anything short: rules may need fewer edges, and estimates from a sample have an interval.
    return max(1.0, min(math.inf if edges is None else edges, budget.left / 3 * EDGES_A_SECOND * count_cores()))


@dataclass(frozen=True)
class Plan:
    """The chosen sizes, and estimates of the number of bodies, memory and time.

    work: the CPU seconds of each stage. seconds: elapsed time with all cores of this machine.
    """

    walks: int
    bodies: int
    memory: float
    seconds: float
    work: Mapping[str, float]
    size: int = 0
    batch_size: int = 0
    steps: int = 0

    def lines(self, minutes: float | None = None) -> list[str]:
        """Spell the plan, one line for each part, with the time budget."""
        lines = [f"sample {self.walks:,} walks (about {self.bodies:,} distinct bodies)"]
        if self.steps:
            lines.append(
                f"train {self.steps:,} steps on batches of {self.batch_size:,} samples, embedding size {self.size}"
            )
        lines.append(f"estimated: {spell_duration(self.seconds)}, {self.memory / 1e9:.1f} GB of additional memory")
        if minutes is not None:
            lines.append(f"time budget: {minutes:g} minutes")
        elif self.seconds > HOURS:
            lines.append(f"This takes hours on {count_cores()} cores. The default options take minutes.")
        return lines


def plan_counting(graph: Graph, o: MinesRules) -> Plan:
    """Plan a learner that counts: walk, measure rules, choose the aggregation, calibrate."""
    walks, longest = o.walks or choose_walk_count(graph), o.max_length or USUAL_LENGTH
    with progress_bar("planning", None):
        pilot = sample_rules(graph, PILOT_WALKS, max_length=longest, seed=o.seed)
        bodies = expect_body_count(graph, walks, longest, o.seed, pilot)
        kept = count_kept_chains(graph, bodies, o.rules_per_relation or choose_rule_count(graph), pilot)
        work = estimate_learning_costs(graph, o, walks, kept, pilot)
    return Plan(walks, bodies, 200.0 * bodies, expect_clock_seconds(sum(work.values())), work)


def expect_clock_seconds(cpu_seconds: float) -> float:
    """Convert CPU seconds into elapsed seconds with all cores."""
    return cpu_seconds * (ALONE + (1 - ALONE) / count_cores())


def plan_stablerule(graph: Graph, o: TrainsNetwork) -> Plan:
    """Plan a learner with a network: its multiplications, divided by the measured speed of this machine."""
    plan, t, weights = plan_counting(graph, o), o.training, o.decorrelation
    batch_size, relations = t.batch_size_for(graph.n_relations), 2 * graph.n_relations
    longest = o.max_length or USUAL_LENGTH
    stages = longest - o.mining.min_length + 1 if t.order == "lengths" else 1
    unique = min(batch_size, plan.bodies)
    # Scores over all relations and LSTM gates, forward and twice that back; then the weights.
    work, square = 6 * unique * t.size * (relations + 8 * longest), 0
    if weights is not None:
        features, square = weights.moment_order * t.size, unique * unique
        gram, covariance = square * features, unique * features * features
        work += 2 * min(gram, covariance) + weights.weight_steps * 2 * min(40 * square, 2 * covariance)
    speed = measure_matrix_speed()
    scoring = 2 * plan.bodies * t.size * relations * 3 / speed
    learning = t.steps * stages * (3 * work / speed + 0.01)
    memory = plan.memory + 40 * plan.bodies * (weights is not None) + 60 * unique * t.size + 8 * square
    seconds = plan.seconds + scoring + learning
    stages_of_work = {**plan.work, "training": (scoring + learning) * count_cores()}
    return Plan(plan.walks, plan.bodies, memory, seconds, stages_of_work, t.size, batch_size, t.steps * stages)


def expect_body_count(graph: Graph, walks: int, max_length: int, seed: int, pilot: RuleSamples | None = None) -> int:
    """Extrapolate from a few walks: the number of distinct bodies grows as a power of the number of walks."""
    few = sample_rules(graph, PILOT_WALKS // 4, max_length=max_length, seed=seed).n_bodies
    more = (pilot or sample_rules(graph, PILOT_WALKS, max_length=max_length, seed=seed)).n_bodies
    growth = math.log(max(more, 2) / max(few, 1)) / math.log(4)
    # Growth slows down as the rare bodies run out, so this overestimates.
    return max(more, int(more * (walks / PILOT_WALKS) ** min(growth, 1.0) * 0.5)) if walks > PILOT_WALKS else more


def measure_matrix_speed() -> float:
    """Measure how many multiplications and additions a second this machine does in a matrix product."""
    import torch  # noqa: PLC0415  # a plan for a learner that needs torch

    a = torch.ones(512, 512)
    (a @ a).sum()
    began = time.perf_counter()
    for _ in range(4):
        a @ a
    return 4 * 2 * 512**3 / (time.perf_counter() - began)


def spell_duration(seconds: float) -> str:
    """Spell a duration.

    >>> spell_duration(40), spell_duration(600), spell_duration(9000)
    ('40 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * HOURS else f"{seconds / HOURS:.1f} hours"
