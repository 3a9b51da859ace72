"""What differentiable rule learners have in common: attention over relations that answers, and is read as rules."""

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
        """Train the attention on a graph, and read it as rules; `valid` says when it is at its best."""
        lesson = self._begin(graph, valid, examples, minutes)
        network, course = fit_network(lesson, self)
        self.network_ = cast("AttentionScorer", network)
        rules = extract_rules(lesson, self, self.network_)
        return self._end(lesson, Learned(rules=rules, course=course))

    def _searcher(self, graph: Graph) -> ScoreSearcher:
        # What no mass reaches is no answer, and mass is a share already.
        return ScoreSearcher(
            graph, self._score_on(graph), name=self.method, most=1.0, floor=0.0, rules=self._rules_on(graph)
        )

    @property
    def rules(self) -> RuleSet:
        """The attention as rules."""
        self._check_fitted()
        return RuleSet() if self.learned_.rules is None else self.learned_.rules

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:
        """Give the rules, made ready for a graph: what explains answers."""
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
    """Read the attention of a trained network as rules, and measure them on the graph."""
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
