"""What a graph says about rules: support, confidence and the rest, exact or from a stated sample of heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import OptionError
from stablerule.paths.support import SupportSums, sum_body_support
from stablerule.paths.threads import run_in_threads
from stablerule.paths.withheld import ExampleFacts
from stablerule.progress import progress_bar
from stablerule.rules.scored import PESSIMISM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids


PILOT_HEADS = 8
FEWEST_HEADS = 64


@dataclass(frozen=True)
class Statistics:
    """One number per rule (n,).

    support: pairs that the body links and the head relation holds for; body_count: pairs that the body links;
    confidence: support / (body_count + 5); pca_confidence: the same, counting only pairs whose head has some fact of
    the head relation; head_coverage: support / facts of the head relation; confidence_error: standard error, 0
    where exact; heads_tried: share of the possible heads that were tried, 1 where exact. Where some facts are withheld
    from the examples, the facts of the head relation are its examples, and pairs that a withheld one holds for are left
    out of every number.
    """

    support: NDArray[np.float64]
    body_count: NDArray[np.float64]
    confidence: NDArray[np.float64]
    pca_confidence: NDArray[np.float64]
    head_coverage: NDArray[np.float64]
    confidence_error: NDArray[np.float64]
    heads_tried: NDArray[np.float64]


def measure_rules(
    graph: Graph,
    bodies: Ids,
    heads: Ids,
    *,
    examples: ExampleFacts | None = None,
    among: Ids | None = None,
    budget: float | None = 1e9,
    seed: int = 0,
    threads: int | None = None,
) -> Statistics:
    """Measure chain rules on a graph, under object identity.

    bodies: (n, L) relation ids, filled with -1 at the end; heads: (n,) head relations. Each pair must be different.
    examples: the facts that count as conclusions; None is all. A body links pairs along any fact.
    among: entities; only pairs whose head is one of them count, and so do facts. None is all entities.
    budget: how many edges may be looked at in all; beyond it the heads are sampled, for each first relation the
        same for all its bodies. None is exact. Bodies of length 4 and 5 end at 200,000 edges for one head.

    >>> from stablerule.graph import Dataset
    >>> facts = [("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid")]
    >>> graph = Dataset.from_names("family", train=facts).graph
    >>> found = measure_rules(graph, np.array([[1, 1]]), np.array([0]))  # grandparent_of <- parent_of, parent_of
    >>> found.support.tolist(), found.body_count.tolist(), found.confidence.round(3).tolist()
    ([1.0], [1.0], [0.167])
    """
    bodies, heads = np.asarray(bodies, np.int32), np.asarray(heads, np.int32)
    if bodies.ndim != 2 or len(bodies) != len(heads):
        raise OptionError(f"Argument 'bodies' must be (rules, length) with one head each, got {bodies.shape}.")
    if not len(heads):
        return Statistics(*(np.zeros(0) for _ in range(7)))
    order = np.lexsort((heads, *bodies.T[::-1]))
    examples = examples or ExampleFacts.all_of(graph)
    counts = np.array(
        [_count_relation_facts(examples.facts, relation, among) for relation in range(2 * graph.n_relations)]
    )
    parts_of = _group_rules_by_first_relation(bodies[order], heads[order])
    groups = [_RuleGroup(graph, examples, part, among, counts[part[1]]) for part in parts_of]
    limit = np.inf if budget is None else budget / sum(len(group.bodies) for group in groups)

    with progress_bar("measuring rules", len(heads)) as advance:

        def run(group: _RuleGroup) -> Statistics:
            measured = group.measure(limit * len(group.bodies), seed)
            advance(len(group.heads))
            return measured

        parts = run_in_threads(run, groups, threads=threads)
    back = np.argsort(order)
    return Statistics(
        *(np.concatenate([getattr(part, name) for part in parts])[back] for name in Statistics.__dataclass_fields__)
    )


def _group_rules_by_first_relation(bodies: Ids, heads: Ids) -> list[tuple[Ids, Ids]]:
    cuts = np.flatnonzero(np.diff(bodies[:, 0])) + 1
    return list(zip(np.split(bodies, cuts), np.split(heads, cuts), strict=True))


def _count_relation_facts(facts: Graph, relation: int, among: Ids | None) -> int:
    """How many facts a relation or inverse has whose head counts."""
    heads, _ = facts.facts(relation)
    return len(heads) if among is None else int(np.isin(heads, among).sum())


class _RuleGroup:
    """All rules whose bodies begin with one relation."""

    def __init__(
        self,
        graph: Graph,
        examples: ExampleFacts,
        rules: tuple[Ids, Ids],
        among: Ids | None,
        facts: NDArray[np.int64],
    ) -> None:
        rule_bodies, self.heads = rules
        self.facts = facts  # of the head relation of each rule
        self.graph, self.examples = graph, examples
        new = np.concatenate([[True], (rule_bodies[1:] != rule_bodies[:-1]).any(1)])
        self.bodies = np.ascontiguousarray(rule_bodies[new])
        self.starts = np.append(np.flatnonzero(new), len(rule_bodies)).astype(np.int64)
        self.body_of = np.cumsum(new) - 1
        self.possible = np.unique(graph.facts(int(self.bodies[0, 0]))[0])
        if among is not None:
            self.possible = self.possible[np.isin(self.possible, among)]

    def measure(self, budget: float, seed: int) -> Statistics:
        """Try a few heads, see what they cost, then as many as the budget allows."""
        order = np.random.default_rng([seed, int(self.bodies[0, 0])]).permutation(self.possible)
        sums = SupportSums.begin(len(self.bodies), len(self.heads))
        cost = self._sum_support(order[:PILOT_HEADS], sums)
        wanted = budget * PILOT_HEADS / max(cost, 1)
        tried = len(order) if wanted >= len(order) else max(FEWEST_HEADS, int(wanted))
        tried = min(tried, len(order))
        self._sum_support(order[PILOT_HEADS:tried], sums)
        return self._make_statistics(sums, tried)

    def _sum_support(self, heads: Ids, sums: SupportSums) -> int:
        return sum_body_support(self.graph, heads, self.bodies, self.starts, self.heads, self.examples, sums)

    def _make_statistics(self, sums: SupportSums, tried: int) -> Statistics:
        possible = max(len(self.possible), 1)
        scale = possible / max(tried, 1)
        support, partial = sums.support * scale, sums.partial_pairs * scale
        body_count = (sums.pairs[self.body_of] - sums.withheld_pairs) * scale
        pairs_squared = sums.pairs_squared[self.body_of] - sums.withheld_squared
        confidence = support / (body_count + PESSIMISM)
        # Ratio estimate from a sample without replacement: the deviation of support - confidence * pairs over heads.
        squares = sums.support_squared - 2 * confidence * sums.support_pairs + confidence**2 * pairs_squared
        spread = squares / max(tried - 1, 1)
        unseen = 1 - tried / possible
        error = possible * np.sqrt(np.maximum(spread, 0) * unseen / max(tried, 1)) / (body_count + PESSIMISM)
        return Statistics(
            support=support,
            body_count=body_count,
            confidence=confidence,
            pca_confidence=support / (partial + PESSIMISM),
            head_coverage=support / np.maximum(self.facts, 1),
            confidence_error=error,
            heads_tried=np.full(len(self.heads), tried / possible),
        )
