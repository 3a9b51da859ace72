"""Differentiable rule learners: attention over relations that answers queries and is read as rules."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self, cast

import torch

from stablerule.errors import OptionError
from stablerule.extending import (
    Aggregation,
    Learned,
    RuleSearcher,
    ScoreSearcher,
    encode_rules,
    limit_measuring_to_budget,
)
from stablerule.rules import RuleSet
from stablerule_lab.methods.shared.attention_rules import make_rules
from stablerule_lab.methods.shared.epochs import OLD_EPOCHS
from stablerule_lab.methods.shared.network_reasoner import Scorer
from stablerule_lab.methods.shared.neural import NeuralReasoner, fit_network
from stablerule_lab.methods.shared.spreading import Spreading

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule.extending import Lesson
    from stablerule.graph import Dataset, Graph, Triples
    from stablerule_lab.methods.shared.edges import Edges

MEASURE_BUDGET = 1e9  # edges for measuring rules
LONGEST = 6


class AttentionScorer(Scorer):
    """A network that returns the attention for each query relation; mass then spreads along it."""

    _spreading: Spreading | None = None

    @abstractmethod
    def attention(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        """Return operators (g, C, L, 2R + 1) and memory (g, C, L + 1, L + 1) for relations (g,); see `Spreading`."""

    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return -log p of the answers; each query hides its own fact."""
        relations, groups = torch.unique(queries[:, 1], return_inverse=True)
        return self._along(edges).loss(*self.attention(relations), groups, queries)

    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return the probabilities p (b, E)."""
        distinct, groups = torch.unique(relations, return_inverse=True)
        return torch.from_numpy(self._along(edges).scores(*self.attention(distinct), groups, heads))

    def _along(self, edges: Edges) -> Spreading:
        if self._spreading is None or self._spreading.edges is not edges:
            self._spreading = Spreading(edges)
        return self._spreading


class DifferentiableReasoner(NeuralReasoner):
    """A learner that answers by attention and reads it as rules, for `rules`, `explain` and `why_not`.

    The score of a rule is its weight, the product of the attention along its body. The rules add up to the score except
    for three things: light rules are dropped, mass is normalised at every step, and a rule never repeats an entity
    (walks that turn back are credited, on average, to the body without the turn).
    """

    network_: AttentionScorer
    old_names: ClassVar[dict[str, str]] = OLD_EPOCHS
    inductive: ClassVar[bool] = True

    max_length: int
    rules_per_relation: int
    min_weight: float

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Train the attention on a graph, and read it as rules; `valid` chooses the best state."""
        lesson = self._begin(graph, valid, examples, minutes)
        network, course = fit_network(lesson, self)
        self.network_ = cast("AttentionScorer", network)
        rules = extract_rules(lesson, self, self.network_)
        return self._end(lesson, Learned(rules=rules, course=course))

    def _searcher(self, graph: Graph) -> ScoreSearcher:
        # Entities without mass are no answers, and mass is already a share.
        return ScoreSearcher(
            graph, self._score_on(graph), name=self.method, most=1.0, floor=0.0, rules=self._rules_on(graph)
        )

    @property
    def rules(self) -> RuleSet:
        """The rules read from the attention."""
        self._check_fitted()
        return RuleSet() if self.learned_.rules is None else self.learned_.rules

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:
        """Return the rules prepared for a graph, to explain answers."""
        return self._rules_on(self.searcher(graph).graph)

    def _rules_on(self, graph: Graph) -> RuleSearcher:
        return RuleSearcher(encode_rules(self.rules, graph, "score"), Aggregation("count", by="score"))

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "max_length", "rules_per_relation")
        name = type(self).__name__
        if self.max_length > LONGEST:
            raise OptionError(f"Argument 'max_length' of {name} must be at most {LONGEST}, got {self.max_length}.")
        if not 0 <= self.min_weight <= 1:
            raise OptionError(f"Argument 'min_weight' of {name} must be between 0 and 1, got {self.min_weight}.")


def extract_rules(lesson: Lesson, o: DifferentiableReasoner, network: AttentionScorer) -> RuleSet:
    """Read rules from the attention of a trained network, and measure them on the graph."""
    graph = lesson.graph
    with torch.no_grad():
        attention = network.attention(torch.arange(2 * graph.n_relations, device=o.device))
    operators, memory = (part.double().cpu().numpy() for part in attention)
    return make_rules(
        graph,
        operators,
        memory,
        examples=lesson.examples,
        least=o.min_weight,
        most=o.rules_per_relation,
        budget=limit_measuring_to_budget(lesson.budget, MEASURE_BUDGET),
        seed=o.seed,
    )


def repeated_queries(relations: Tensor, end: int, length: int) -> Tensor:
    """Repeat the query relation (g,) at every step, then the end token (g, L + 1).

    >>> repeated_queries(torch.tensor([3, 5]), 8, 2).tolist()
    [[3, 3, 8], [5, 5, 8]]
    """
    return torch.cat([relations[:, None].expand(-1, length), torch.full((len(relations), 1), end).to(relations)], dim=1)


def last_only(length: int, like: Tensor) -> Tensor:
    """Return a memory (L + 1, L + 1) in which each step uses the value of the step before."""
    return torch.eye(length + 1, dtype=like.dtype, device=like.device)


def without_staying(operators: Tensor) -> Tensor:
    """Add an operator with weight 0 for staying: (..., 2R) -> (..., 2R + 1)."""
    return torch.cat([operators, torch.zeros_like(operators[..., :1])], dim=-1)
