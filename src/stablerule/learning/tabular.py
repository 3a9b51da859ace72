"""P(head relation | body) straight from the smoothed counts: no network, seconds, and hard to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from stablerule.learning.extraction import Candidates
from stablerule.learning.plan import EDGES_A_SECOND, WALKS_A_SECOND, duration, expected_bodies, walks_for
from stablerule.learning.sampled import SampledLearner
from stablerule.paths.threads import available_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.deadline import Deadline
    from stablerule.rules import RuleSet
    from stablerule.samples import RuleSamples


class Tabular(SampledLearner):
    """Counts how often each relation closes each body.

    P(head relation | body) = (count + s * prior) / (samples of the body + s), with s = `smoothing` and the prior the
    share of the head relation among all samples.

    >>> from stablerule import households
    >>> dataset = households(families=5, seed=0).dataset
    >>> model = Tabular(walks=20_000, seed=0).fit(dataset.graph, dataset.valid)
    >>> print(model.rules.filter(head_relation="grandparent_of", max_length=2)[0].rule)
    grandparent_of(X, Y) <- grandchild_of(Y, X)
    """

    method: ClassVar[str] = "tabular"

    def __init__(
        self,
        *,
        max_length: int = 3,
        min_length: int = 1,
        walks: int | None = None,
        backtracking: bool = True,
        negatives: Literal["open", "paper", "none"] = "open",
        smoothing: float = 5.0,
        rules_per_relation: int | None = None,
        min_support: float = 1,
        measure_budget: float | None = 1e9,
        constants: bool = True,
        constant_support: int | None = None,
        per_constant: int | None = None,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        minutes: float | None = None,
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.min_length = min_length
        self.walks = walks
        self.backtracking = backtracking
        self.negatives = negatives
        self.smoothing = smoothing
        self.rules_per_relation = rules_per_relation
        self.min_support = min_support
        self.measure_budget = measure_budget
        self.constants = constants
        self.constant_support = constant_support
        self.per_constant = per_constant
        self.aggregation = aggregation
        self.by = by
        self.top = top
        self.minutes = minutes
        self.seed = seed

    def plan_lines(self, graph: Graph) -> list[str]:
        """Say in words what `fit` would do on a graph, and what it would cost."""
        walks = self.walks or walks_for(graph)
        bodies = expected_bodies(graph, walks, self.max_length, self.seed)
        walking = walks / WALKS_A_SECOND / available_cores()
        measuring = 30.0 if self.measure_budget is None else self.measure_budget / EDGES_A_SECOND / available_cores()
        return [
            f"{walks:,} walks, about {bodies:,} different bodies, counted",
            f"about {bodies * 200 / 1e9:.1f} GB of memory beside the program, about {duration(walking + measuring)}",
        ]

    def _learn(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> RuleSet:
        samples = self._sample(graph, examples, deadline)
        self.learned_ = {"samples": samples.n_samples, "bodies": samples.n_bodies}
        closed = samples.cell_heads != samples.negative
        scores = smoothed(samples, self.smoothing)
        cells = Candidates(
            samples.cell_bodies[closed].astype(np.int64), samples.cell_heads[closed].astype(np.int64), scores[closed]
        )
        return self._best_rules(graph, samples, [cells], examples, deadline)

    def _check_options(self) -> None:
        super()._check_options()
        self._at_least(0, "smoothing")


def smoothed_at(samples: RuleSamples, others: RuleSamples, smoothing: float) -> NDArray[np.float64]:
    """P(head relation | body) from one set of samples, for every cell of another."""
    width = np.int64(samples.negative + 1)
    rows = np.full(others.n_bodies, -1, np.int64)
    places = {body: row for row, body in enumerate(map(tuple, samples.bodies.tolist()))}
    for row, body in enumerate(map(tuple, others.bodies.tolist())):
        rows[row] = places.get(body, -1)
    prior = np.bincount(samples.cell_heads, samples.cell_counts, samples.negative + 1) / max(samples.n_samples, 1)
    cells = samples.cell_bodies * width + samples.cell_heads
    wanted = rows[others.cell_bodies] * width + others.cell_heads
    at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    known = rows[others.cell_bodies] >= 0
    counts = np.where(known & (cells[at] == wanted), samples.cell_counts[at], 0)
    totals = np.where(known, samples.totals[rows[others.cell_bodies]], 0)
    # A relation that closed nothing has a share of its own, so that nothing is impossible.
    least = 1 / (samples.n_samples + width)
    smooth: NDArray[np.float64] = (counts + smoothing * np.maximum(prior[others.cell_heads], least)) / (
        totals + smoothing
    )
    return smooth


def smoothed(samples: RuleSamples, smoothing: float) -> NDArray[np.float64]:
    """P(head relation | body) for every cell that was counted."""
    prior = np.bincount(samples.cell_heads, samples.cell_counts, samples.negative + 1) / max(samples.n_samples, 1)
    total = samples.totals[samples.cell_bodies] + smoothing
    return (samples.cell_counts + smoothing * prior[samples.cell_heads]) / total
