"""What a run will do, said before it does it: sizes, memory and time.

The constants are fitted to what benchmarks/planning.py measures, on graphs of 5,000 to 10 million facts. Where a stage
depends on what it will find, such as measuring, a few bodies of the first walks stand for all.
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
    from stablerule.samples import RuleSamples

PILOT_WALKS = 40_000
WALKS_PER_RELATION = 20_000
FEWEST_WALKS, MOST_WALKS = 400_000, 8_000_000
WALKS_A_SECOND = 1_000_000  # for each core, with room to spare
ALONE = 0.3  # of the work that one core does while the others wait
HOURS = 3600
MANY_RULES, FEW_RULES = 400, 200
USUAL_LENGTH = 3
EDGES_A_SECOND = 70_000_000  # that rules are measured along, for each core
PATH_EDGES_A_SECOND = 150_000_000  # the same for bodies that are followed path by path
CHEAPER_END = 5  # bodies are followed from the end where that is cheaper
SOME_BODIES, SOME_HEADS = 300, 10
VALID_SHARE = 0.1  # of the facts, that choose and calibrate
STEP_SECONDS, SMALL_GRAPH, CACHE_MISSES = 1.5e-7, 10_000, 0.45  # a walk, on a graph of so many facts; growth beyond
LARGE_GRAPH = 1_000_000  # facts: beyond, all that looks up what is far apart in memory takes longer, too
TRAIT_SECONDS = 1.5e-7  # for each trait of an entity, and each relation that it has
FITTING_SECONDS, QUERY_SECONDS, FEW_QUERIES = 4.0, 8e-5, 1300
FIRINGS_OF_A_QUERY = 2  # for the fixed aggregations and evidence, then for the strongest candidates
FIRING = 0.4  # of the edges of all bodies: bodies that begin alike are followed together
CALIBRATING_SECONDS, FACT_SECONDS = 0.4, 7e-7
FIRED_QUERIES, FIRED_SHARE = 50_000, 1.5  # all that choosing and calibrating ask, at most and for each fact


def foretell_learning_costs(graph: Graph, o: MinesRules, walks: int, kept: int, pilot: RuleSamples) -> dict[str, float]:
    """Foretell the CPU seconds of each stage; kept: at most so many chains are measured."""
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
        "constants": TRAIT_SECONDS * _foretell_trait_pairs(graph) * far if o.constants else 0.0,
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
    """Say how many chains are measured: as many as may be kept, or as there are bodies that a relation closes."""
    closed = len(np.unique(pilot.cell_bodies[pilot.cell_heads != pilot.negative]))
    share = closed / max(pilot.n_bodies, 1)
    return int(min(per_relation * 2 * graph.n_relations, max(closed, bodies * share)))


def _try_planned_bodies(graph: Graph, pilot: RuleSamples) -> tuple[np.ndarray, np.ndarray]:
    """Return some bodies that a relation closes, sorted, and how many edges each costs from all its beginnings."""
    closed = np.unique(pilot.cell_bodies[pilot.cell_heads != pilot.negative])
    some = pilot.bodies[np.random.default_rng(0).permutation(closed)[:SOME_BODIES]]
    bodies = np.ascontiguousarray(some[np.lexsort(some.T[::-1])], np.int32)
    return bodies, estimate_body_costs(graph, bodies)


def _foretell_trait_pairs(graph: Graph) -> float:
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


def choose_walk_count(graph: Graph) -> int:
    """Enough walks for every relation to be closed often, few enough for a laptop."""
    return int(np.clip(WALKS_PER_RELATION * graph.n_relations, FEWEST_WALKS, MOST_WALKS))


def choose_rule_count(graph: Graph) -> int:
    """How many chains to keep for each relation and each inverse."""
    return MANY_RULES if graph.n_relations < FEW_RELATIONS else FEW_RULES


def limit_walks_to_budget(budget: Budget, walks: int) -> int:
    """As many walks as a tenth of the time that is left allows, and at least some."""
    if not budget.limited:
        return walks
    within = int(budget.left / 10 * WALKS_A_SECOND * count_cores())
    if within < walks:
        budget.cut()
    return max(min(walks, PILOT_WALKS), min(walks, within))


def limit_measuring_to_budget(budget: Budget, edges: float | None) -> float | None:
    """As many edges as a third of the time that is left allows, for measuring rules; None is exact."""
    if not budget.limited:
        return edges
    # Nothing is cut short by it: rules may need fewer edges, and what was measured on some is told with its error.
    return max(1.0, min(math.inf if edges is None else edges, budget.left / 3 * EDGES_A_SECOND * count_cores()))


@dataclass(frozen=True)
class Plan:
    """Sizes that are decided, and what they will cost; bodies, memory and seconds are estimates.

    work: the CPU seconds of each stage; seconds: of the clock, with all cores of this machine.
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
        """Say it in words, and what a time budget allows."""
        counted = "" if self.steps else ", counted"
        said = [f"{self.walks:,} walks, about {self.bodies:,} different bodies{counted}"]
        if self.steps:
            said.append(f"{self.steps:,} steps of {self.batch_size:,} samples, embeddings of size {self.size}")
        said.append(
            f"about {self.memory / 1e9:.1f} GB of memory beside the program, about {spell_duration(self.seconds)}"
        )
        if minutes is not None:
            said.append(f"{minutes:g} minutes at most")
        elif self.seconds > HOURS:
            said.append(f"This takes hours on {count_cores()} cores. The defaults take minutes at most.")
        return said


def plan_counting(graph: Graph, o: MinesRules) -> Plan:
    """Plan a learner that counts: walk, measure rules, choose how to answer, calibrate."""
    walks, longest = o.walks or choose_walk_count(graph), o.max_length or USUAL_LENGTH
    with progress_bar("planning", None):
        pilot = sample_rules(graph, PILOT_WALKS, max_length=longest, seed=o.seed)
        bodies = expect_body_count(graph, walks, longest, o.seed, pilot)
        kept = count_kept_chains(graph, bodies, o.rules_per_relation or choose_rule_count(graph), pilot)
        work = foretell_learning_costs(graph, o, walks, kept, pilot)
    return Plan(walks, bodies, 200.0 * bodies, expect_clock_seconds(sum(work.values())), work)


def expect_clock_seconds(cpu_seconds: float) -> float:
    """Turn CPU seconds into seconds of the clock, with all cores."""
    return cpu_seconds * (ALONE + (1 - ALONE) / count_cores())


def plan_stablerule(graph: Graph, o: TrainsNetwork) -> Plan:
    """Plan the network as well: multiplications, divided by those that this machine does in a second."""
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
    """Extrapolate from a few walks: the number of different bodies grows as a power of the number of walks."""
    few = sample_rules(graph, PILOT_WALKS // 4, max_length=max_length, seed=seed).n_bodies
    more = (pilot or sample_rules(graph, PILOT_WALKS, max_length=max_length, seed=seed)).n_bodies
    growth = math.log(max(more, 2) / max(few, 1)) / math.log(4)
    # Growth slows down as the rare bodies run out, so this errs on the large side.
    return max(more, int(more * (walks / PILOT_WALKS) ** min(growth, 1.0) * 0.5)) if walks > PILOT_WALKS else more


def measure_matrix_speed() -> float:
    """Multiplications and additions a second that this machine does in a matrix product, by doing one."""
    import torch  # noqa: PLC0415  # a plan for a learner that needs torch

    a = torch.ones(512, 512)
    (a @ a).sum()
    began = time.perf_counter()
    for _ in range(4):
        a @ a
    return 4 * 2 * 512**3 / (time.perf_counter() - began)


def spell_duration(seconds: float) -> str:
    """Say how long something takes.

    >>> spell_duration(40), spell_duration(600), spell_duration(9000)
    ('40 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * HOURS else f"{seconds / HOURS:.1f} hours"
