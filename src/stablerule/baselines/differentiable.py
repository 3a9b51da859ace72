"""What differentiable rule learners have in common: attention over relations that answers, and is read as rules."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import torch

from stablerule.baselines.attention_rules import make_rules
from stablerule.baselines.neural import NeuralReasoner, Scorer
from stablerule.baselines.score_search import ScoreSearch
from stablerule.baselines.spreading import Spreading
from stablerule.errors import OptionError
from stablerule.learning.plan import budget_within
from stablerule.reasoning.aggregation import Aggregation
from stablerule.reasoning.search import Search
from stablerule.reasoning.theory import encode_rules
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule.baselines.edges import Edges
    from stablerule.graph import Graph, Triples
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.deadline import Deadline
    from stablerule.reasoning.folder import SavedModel

MEASURE_BUDGET = 1e9  # edges that rules are measured along
LONGEST = 6


class AttentionScorer(Scorer):
    """A network that gives every asked relation its attention; the rest is mass that spreads along it."""

    _spreading: Spreading | None = None

    @abstractmethod
    def attention(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        """Return operators (g, C, L, 2R + 1) and memory (g, C, L + 1, L + 1) for relations (g,); see `Spreading`."""

    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """-log p of the answer, each query without its own fact."""
        relations, groups = torch.unique(queries[:, 1], return_inverse=True)
        return self._along(edges).loss(*self.attention(relations), groups, queries)

    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return p (b, E)."""
        distinct, groups = torch.unique(relations, return_inverse=True)
        return torch.from_numpy(self._along(edges).scores(*self.attention(distinct), groups, heads))

    def _along(self, edges: Edges) -> Spreading:
        if self._spreading is None or self._spreading.edges is not edges:
            self._spreading = Spreading(edges)
        return self._spreading


class DifferentiableReasoner(NeuralReasoner):
    """Answers by its attention, and shows it as rules: `rules`, `explain` and `why_not` are about these.

    The score of a rule is its weight, the product of the attentions along its body. Rules add up to the score but for
    three things: only those that matter are kept, mass is divided by its sum at every step, and a rule does not pass an
    entity twice (what walks that turn back say is said, in the mean, by the body without the turn).
    """

    network_: AttentionScorer
    rules_: RuleSet
    inductive = True

    max_length: int
    rules_per_relation: int
    min_weight: float

    def _fit(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> None:
        super()._fit(graph, valid, examples, deadline)
        with torch.no_grad():
            attention = self.network_.attention(torch.arange(2 * graph.n_relations, device=self.device))
        operators, memory = (part.double().cpu().numpy() for part in attention)
        self.rules_ = make_rules(
            graph,
            operators,
            memory,
            examples=examples,
            least=self.min_weight,
            most=self.rules_per_relation,
            budget=budget_within(deadline, MEASURE_BUDGET),
            seed=self.seed,
        )

    def _searcher(self, graph: Graph) -> ScoreSearch:
        # What no mass reaches is no answer, and mass is a share already.
        return ScoreSearch(
            graph,
            self._score_on(graph),
            name=self.method,
            most=1.0,
            floor=0.0,
            at_most=self.scores_at_once,
            rules=self._rules_on(graph),
        )

    @property
    def rules(self) -> RuleSet:
        """The attention as rules."""
        self._check_fitted()
        return self.rules_

    def search(self, graph: Graph | None = None) -> Search:
        """Give the rules, made ready for a graph: what explains answers."""
        return self._rules_on(self.searcher(graph).graph)

    def _rules_on(self, graph: Graph) -> Search:
        return Search(encode_rules(self.rules_, graph, "score"), Aggregation("count", by="score"))

    def _kept_rules(self) -> RuleSet:
        return self.rules_

    def _take_up(self, saved: SavedModel) -> None:
        super()._take_up(saved)
        self.rules_ = RuleSet() if saved.rules is None else saved.rules

    def _check_options(self) -> None:
        super()._check_options()
        self._at_least(1, "max_length", "rules_per_relation")
        name = type(self).__name__
        if self.max_length > LONGEST:
            raise OptionError(f"Argument 'max_length' of {name} must be at most {LONGEST}, got {self.max_length}.")
        if not 0 <= self.min_weight <= 1:
            raise OptionError(f"Argument 'min_weight' of {name} must be between 0 and 1, got {self.min_weight}.")


def repeated_queries(relations: Tensor, end: int, length: int) -> Tensor:
    """(g,) -> (g, L + 1): the asked relation at every step, then the end.

    >>> repeated_queries(torch.tensor([3, 5]), 8, 2).tolist()
    [[3, 3, 8], [5, 5, 8]]
    """
    return torch.cat([relations[:, None].expand(-1, length), torch.full((len(relations), 1), end).to(relations)], dim=1)


def last_only(length: int, like: Tensor) -> Tensor:
    """(L + 1, L + 1): a memory in which each step takes up the value of the step before it, and nothing else."""
    return torch.eye(length + 1, dtype=like.dtype, device=like.device)


def without_staying(operators: Tensor) -> Tensor:
    """(..., 2R) -> (..., 2R + 1): no step stays where it is."""
    return torch.cat([operators, torch.zeros_like(operators[..., :1])], dim=-1)
