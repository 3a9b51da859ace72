"""What all learners from sampled paths have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from stablerule.learning.constants import find_constant_rules
from stablerule.learning.extraction import Candidates, best_of, to_rules
from stablerule.learning.plan import budget_within, rules_for, walks_for, walks_within
from stablerule.reasoning import RuleReasoner
from stablerule.samples import check_lengths, sample_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.graph import Graph
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.deadline import Deadline
    from stablerule.rules import RuleSet
    from stablerule.samples import RuleSamples


class SampledLearner(RuleReasoner):
    """A learner that walks the graph, scores the bodies it met, and keeps the best for each relation."""

    max_length: int
    min_length: int
    walks: int | None
    backtracking: bool
    negatives: Literal["open", "paper", "none"]
    rules_per_relation: int | None
    min_support: float
    measure_budget: float | None
    constants: bool
    constant_support: int | None
    per_constant: int | None
    seed: int

    def _check_options(self) -> None:
        """Look at the values, before any work; their types have been looked at."""
        super()._check_options()
        check_lengths(self.min_length, self.max_length)
        self._at_least(1, "walks", "rules_per_relation", "measure_budget", "constant_support", "per_constant")
        self._at_least(0, "min_support")

    def _sample(self, graph: Graph, examples: ExampleFacts, deadline: Deadline) -> RuleSamples:
        walks = walks_for(graph) if self.walks is None else self.walks
        return sample_rules(
            graph,
            walks_within(deadline, walks),
            max_length=self.max_length,
            min_length=self.min_length,
            backtracking=self.backtracking,
            negatives=self.negatives,
            examples=examples,
            seed=self.seed,
        )

    def _best_rules(
        self,
        graph: Graph,
        samples: RuleSamples,
        scored: Iterable[Candidates],
        examples: ExampleFacts,
        deadline: Deadline,
    ) -> RuleSet:
        best = best_of(scored, graph.n_relations, self.rules_per_relation or rules_for(graph))
        chains = to_rules(
            graph,
            samples,
            best,
            examples=examples,
            min_support=self.min_support,
            budget=budget_within(deadline, self.measure_budget),
            seed=self.seed,
        )
        if not self.constants:
            return chains
        return chains.union(
            find_constant_rules(
                graph, examples=examples, min_support=self.constant_support, per_constant=self.per_constant
            )
        )
