"""NCRL: rules by neural composition of relations, the network of this package without its weights."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from stablerule.baselines.path_learner import PathLearner
from stablerule.errors import OptionError
from stablerule.learning.batches import Pool
from stablerule.learning.extraction import score_bodies
from stablerule.learning.network import RuleNetwork, Selector, Tables, head_probabilities
from stablerule.learning.plan import duration
from stablerule.learning.training import TrainingOptions, cross_entropy, train
from stablerule.reasoning.aggregation import Aggregation
from stablerule.rules import RuleSet
from stablerule.samples import sample_rules

if TYPE_CHECKING:
    from stablerule.graph import Graph, Triples
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.aggregation import AggregationName
    from stablerule.reasoning.deadline import Deadline

PILOT_WALKS = 40_000


class Variant(NamedTuple):
    """What `fixed` mends, and `faithful` leaves as it was published."""

    min_length: int
    selector: Selector
    negatives: Literal["open", "paper"]
    learning_rate: float
    decay: bool


VARIANTS = {
    "fixed": Variant(1, "straight-through", "open", 0.01, decay=True),
    "faithful": Variant(2, "argmax", "paper", 2.5e-5, decay=False),
}


class NCRLNetwork(RuleNetwork):
    """The compositional network, with an attention of another kind.

    NEG has no row of its own: its key is the state's own, (w W2) for a state w, so that a state which resembles itself
    more than any relation is none of them. The values are the raw embeddings, and the state itself in the slot of NEG:
    a pair that resembles no relation is replaced by its state.

    >>> network = NCRLNetwork(relation_count=3, size=8, generator=torch.Generator().manual_seed(0))
    >>> network(torch.tensor([[0, 1, 5]]))[1].shape
    torch.Size([1, 7])
    """

    def __init__(
        self, relation_count: int, size: int, *, selector: Selector = "straight-through", generator: torch.Generator
    ) -> None:
        super().__init__(relation_count, size, selector=selector, generator=generator)
        del self.negative

    def tables(self) -> Tables:
        """Compute what all bodies of a step share; a merge is a mixture of the relations as they are."""
        gates = self.relations @ self.input_weight.T + self.bias  # (2R, 4d)
        keys = self.relations @ self.key_weight @ self.query_weight.T / self.size**0.5  # (2R, d)
        return Tables(gates, gates, keys)

    def _merge(self, omega: Tensor, tables: Tables) -> Tensor:
        attention = self._logits(omega, tables).softmax(1)  # (P, 2R+1)
        own = omega @ self.input_weight.T + self.bias  # (P, 4d)
        return attention[:, :-1] @ tables.merged_gates + attention[:, -1:] * own

    def _logits(self, Z: Tensor, tables: Tables) -> Tensor:  # noqa: N803  # as in the network
        own = ((Z @ self.query_weight) * (Z @ self.key_weight)).sum(1, keepdim=True) / self.size**0.5  # (U, 1)
        return torch.cat([Z @ tables.keys.T, own], dim=1)


class NCRL(PathLearner):
    """Learns P(head relation | body) by merging a body, pair by pair, into one relation (Cheng et al. 2023).

    Body lengths are learned one after the other, `steps` batches each; the best bodies of each relation are its rules.

    `faithful` does as the published code: the scorer that chooses a pair is never trained, for "the largest" has no
    gradient; bodies begin at length 2; only walks that never closed are negative; the rate is tiny; and an answer's
    score is the sum of paths times the rule's score, whatever other aggregation valid facts would choose.
    `fixed` trains the scorer (straight-through), has bodies of length 1 as well, takes every open path as negative,
    learns at a rate that gets somewhere, falling to nothing, and lets valid facts choose the aggregation.
    Both walk and answer as this package does, with distinct entities along a path, and know no constants.

    learning_rate: None is that of the variant. aggregation: "auto" is what the variant does.

    >>> from stablerule import households
    >>> dataset = households(families=5, seed=0).dataset
    >>> model = NCRL(walks=20_000, steps=40, batch_size=500, size=16).fit(dataset.graph, dataset.valid)
    >>> len(model.rules.filter(head_relation="grandparent_of")) > 10
    True
    """

    method: ClassVar[str] = "ncrl"

    def __init__(
        self,
        *,
        variant: Literal["fixed", "faithful"] = "fixed",
        max_length: int = 3,
        walks: int | None = None,
        size: int = 128,
        steps: int = 1500,
        batch_size: int = 5000,
        learning_rate: float | None = None,
        patience: int | None = None,
        rules_per_relation: int = 200,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        minutes: float | None = None,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.variant = variant
        self.max_length = max_length
        self.walks = walks
        self.size = size
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.rules_per_relation = rules_per_relation
        self.aggregation = aggregation
        self.by = by
        self.top = top
        self.minutes = minutes
        self.device = device
        self.seed = seed

    @property
    def min_length(self) -> int:  # type: ignore[override]  # it follows from the variant
        """The length of the shortest bodies."""
        return VARIANTS[self.variant].min_length

    @property
    def negatives(self) -> Literal["open", "paper"]:  # type: ignore[override]
        """Which open walks are negative."""
        return VARIANTS[self.variant].negatives

    def plan_lines(self, graph: Graph) -> list[str]:
        """Say what `fit` would do on a graph, and what it would cost, by doing one step."""
        self.check_options()
        samples = sample_rules(graph, PILOT_WALKS, max_length=self.max_length, min_length=self.min_length)
        stages, then = self.max_length - self.min_length + 1, []
        if samples.n_bodies:
            pool = Pool(samples, tuple(range(1, samples.max_length + 1)), self.device)
            network, batch = self._network(graph), pool.draw(self.batch_size, (self.seed,))
            began = time.perf_counter()
            loss = cross_entropy(network.forward_mixed(batch.bodies)[1], batch, torch.ones(len(batch.bodies)))
            loss.backward()  # type: ignore[no-untyped-call]
            seconds = (time.perf_counter() - began) * self.steps * stages
            then = [f"{self.steps * stages:,} steps of {self.batch_size:,} samples, about {duration(seconds)}"]
        return self._plan_walks(graph, *then)

    def _learn(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> RuleSet:
        samples = self._sample(graph, examples, deadline)
        self.learned_ = {"samples": samples.n_samples, "bodies": samples.n_bodies, "interrupted": False}
        if not samples.n_bodies:  # every walk came back to where it began
            return RuleSet()
        network = self._network(graph)
        progress = train(network, samples, self._training_options(), None, deadline)
        self.learned_ |= {
            "seconds": progress.seconds,
            "interrupted": progress.interrupted,
            "steps": progress.steps,
            "checks": progress.checks,
        }
        scored = score_bodies(samples, lambda bodies: head_probabilities(network, bodies, self.device), None)
        return self._best_rules(graph, samples, scored, examples, deadline)

    def _network(self, graph: Graph) -> NCRLNetwork:
        generator = torch.Generator().manual_seed(self.seed)
        selector = VARIANTS[self.variant].selector
        return NCRLNetwork(graph.n_relations, self.size, selector=selector, generator=generator)

    def _training_options(self) -> TrainingOptions:
        usual = VARIANTS[self.variant]
        return TrainingOptions(
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=usual.learning_rate if self.learning_rate is None else self.learning_rate,
            weights=None,
            decay=usual.decay,
            order="lengths",
            held_out=0.0 if self.patience is None else 0.05,
            patience=self.patience,
            device=self.device,
            seed=self.seed,
        )

    def _asked_aggregation(self) -> AggregationName | None:
        return "count" if self._as_published() else super()._asked_aggregation()

    def _fixed_aggregation(self) -> Aggregation:
        return Aggregation("count", by="score") if self._as_published() else super()._fixed_aggregation()

    def _as_published(self) -> bool:
        return self.variant == "faithful" and self.aggregation == "auto"

    def _check_options(self) -> None:
        if self.variant == "faithful" and self.max_length < 2:
            raise OptionError(
                f"Argument 'max_length' of NCRL must be at least 2 for 'faithful', got {self.max_length}."
            )
        super()._check_options()
        self._at_least(1, "size", "steps", "batch_size", "patience")
        self._check_rate("learning_rate")
