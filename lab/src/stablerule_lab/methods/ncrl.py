"""NCRL: rules by neural composition of relations, with the network of this package and without weights."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import torch
from torch import Tensor

from stablerule.errors import OptionError
from stablerule.extending import (
    RuleReasoner,
    check_option_at_least,
    check_walk_lengths,
    finish_learning,
    sample_rules,
    score_bodies,
    spell_duration,
)
from stablerule.learning import Training
from stablerule.rules import RuleSet
from stablerule_lab.inside.network import (
    RuleNetwork,
    SamplePool,
    Selector,
    Tables,
    check_torch_device,
    compute_training_loss,
    predict_head_probabilities,
    train_network,
)
from stablerule_lab.methods.shared.chains import PILOT_WALKS, check_rate, measure_best, plan_chains, sample_chains

if TYPE_CHECKING:
    from stablerule.extending import Learned, Lesson
    from stablerule.graph import Dataset, Graph, Triples

HELD_OUT = 0.05  # share of the samples for early stopping


@dataclass(frozen=True)
class CompositionTraining:
    """How the network of NCRL is trained.

    size: numbers of an embedding. steps: batches for each rule length. batch_size: samples in a batch. learning_rate:
    None uses that of the variant. patience: checks of held-out samples without a gain before a length ends; None trains
    all steps and holds out no samples.
    """

    size: int = 128
    steps: int = 1500
    batch_size: int = 5000
    learning_rate: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("size", "steps", "batch_size", "patience"):
            check_option_at_least(1, name, getattr(self, name))
        check_rate("learning_rate", self.learning_rate)


class Variant(NamedTuple):
    """The points that `fixed` corrects and `faithful` keeps as published."""

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
    """The compositional network with NCRL's attention.

    NEG, the class "no relation", has no row: its key is the state's own, (w W2) for a state w. So a state that is more
    similar to itself than to any relation is none of them. The values are the raw embeddings, and the state itself for
    NEG: a pair that is like no relation is replaced by its state.

    >>> network = NCRLNetwork(relation_count=3, size=8, generator=torch.Generator().manual_seed(0))
    >>> network(torch.tensor([[0, 1, 5]]))[1].shape
    torch.Size([1, 7])
    """

    def __init__(
        self, relation_count: int, size: int, *, selector: Selector = "straight-through", generator: torch.Generator
    ) -> None:
        super().__init__(relation_count, size, selector=selector, generator=generator)
        del self.negative

    def compute_tables(self) -> Tables:
        """Compute what all bodies of a step share. A merge is a mixture of the raw relation embeddings."""
        gates = self.relations @ self.input_weight.T + self.bias  # (2R, 4d)
        keys = self.relations @ self.key_weight @ self.query_weight.T / self.size**0.5  # (2R, d)
        return Tables(gates, gates, keys)

    def _merge(self, omega: Tensor, tables: Tables) -> Tensor:
        attention = self._compute_logits(omega, tables).softmax(1)  # (P, 2R+1)
        own = omega @ self.input_weight.T + self.bias  # (P, 4d)
        return attention[:, :-1] @ tables.merged_gates + attention[:, -1:] * own

    def _compute_logits(self, Z: Tensor, tables: Tables) -> Tensor:  # noqa: N803  # as in the network
        own = ((Z @ self.query_weight) * (Z @ self.key_weight)).sum(1, keepdim=True) / self.size**0.5  # (U, 1)
        return torch.cat([Z @ tables.keys.T, own], dim=1)


class NCRL(RuleReasoner):
    """Learn P(head relation | body) by merging a body, pair by pair, into one relation (Cheng et al. 2023).

    Body lengths are trained in turn, with `training.steps` batches each. The best bodies of a relation are its rules.

    `faithful` follows the published code. Its scorer, which chooses the pair to merge, is never trained, since argmax
    has no gradient. Bodies have at least length 2; only walks that never closed are negative; the learning rate is
    tiny; an answer's score is the sum of paths times the rule's score.
    `fixed` trains the scorer (straight-through), adds bodies of length 1, takes every open path as negative, uses a
    larger learning rate that decays to 0, and chooses the aggregation on validation facts.
    Both use this package's walks and answers, with distinct entities along a path, and no constants.

    aggregation: "auto" follows the variant. training: see `CompositionTraining`.

    >>> from stablerule import households
    >>> dataset = households(families=5, seed=0).dataset
    >>> training = CompositionTraining(size=16, steps=40, batch_size=500)
    >>> model = NCRL(walks=20_000, training=training).fit(dataset.graph, dataset.valid)
    >>> len(model.rules.filter(head_relation="grandparent_of")) > 10
    True
    """

    method: ClassVar[str] = "ncrl"
    old_names: ClassVar[dict[str, str]] = {
        name: f"training.{name}" for name in CompositionTraining.__dataclass_fields__
    }

    def __init__(
        self,
        *,
        variant: Literal["fixed", "faithful"] = "fixed",
        max_length: int = 3,
        walks: int | None = None,
        rules_per_relation: int = 200,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        training: CompositionTraining = CompositionTraining(),
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.variant = variant
        self.max_length = max_length
        self.walks = walks
        self.rules_per_relation = rules_per_relation
        self.aggregation = aggregation
        self.by = by
        self.top = top
        self.training = training
        self.device = device
        self.seed = seed

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Train on a graph; `valid` is for choosing the aggregation and for calibration."""
        lesson = self._begin(graph, valid, examples, minutes)
        return self._end(lesson, fit_ncrl(lesson, self))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Return the plan and cost of `fit` on a graph, measured by one training step."""
        self.check_options()
        usual, o, then = VARIANTS[self.variant], self.training, []
        samples = sample_rules(graph, PILOT_WALKS, max_length=self.max_length, min_length=usual.min_length)
        steps = o.steps * (self.max_length - usual.min_length + 1)
        if samples.n_bodies:
            pool = SamplePool(samples, tuple(range(1, samples.max_length + 1)), self.device)
            network, batch = make_network(graph, self), pool.draw(o.batch_size, (self.seed,))
            began = time.perf_counter()
            loss = compute_training_loss(network.forward_mixed(batch.bodies)[1], batch, torch.ones(len(batch.bodies)))
            loss.backward()  # type: ignore[no-untyped-call]
            seconds = (time.perf_counter() - began) * steps
            then = [f"{steps:,} steps of {o.batch_size:,} samples, about {spell_duration(seconds)}"]
        return plan_chains(graph, self, *then, minutes=minutes)

    def _check_options(self) -> None:
        super()._check_options()
        if self.variant == "faithful" and self.max_length < 2:
            raise OptionError(
                f"Argument 'max_length' of NCRL must be at least 2 for 'faithful', got {self.max_length}."
            )
        check_walk_lengths(VARIANTS[self.variant].min_length, self.max_length)
        self._check_at_least(1, "walks", "rules_per_relation")
        check_torch_device(self.device)


def fit_ncrl(lesson: Lesson, o: NCRL) -> Learned:
    """Learn rules from sampled paths with the network, one length after the other, without weights."""
    usual = VARIANTS[o.variant]
    # The published code always adds up paths times score.
    weighing = o
    if o.variant == "faithful" and o.aggregation == "auto":
        weighing = NCRL(aggregation="count", by="score", seed=o.seed)

    # 1. sample: (body, head relation) pairs from walks
    samples = sample_chains(lesson, o, min_length=usual.min_length, negatives=usual.negatives)
    if not samples.n_bodies:  # no walk reached another entity
        return finish_learning(lesson, weighing, RuleSet(), samples=samples.n_samples, bodies=0)

    # 2. train: P(head relation | body)
    network = make_network(lesson.graph, o)
    course = train_network(network, samples, choose_training(o), None, o.seed, o.device, budget=lesson.budget)

    # 3. extract the best bodies of each relation by the network alone, 4. measure them on the graph
    scored = score_bodies(samples, lambda bodies: predict_head_probabilities(network, bodies, o.device), None)
    rules = measure_best(lesson, o, samples, scored)

    # 5. choose how rules that fire become one score, 6. calibrate
    return finish_learning(lesson, weighing, rules, samples=samples.n_samples, bodies=samples.n_bodies, course=course)


def make_network(graph: Graph, o: NCRL) -> NCRLNetwork:
    """Return the initial network of a learner."""
    first_values = torch.Generator().manual_seed(o.seed)
    selector = VARIANTS[o.variant].selector
    return NCRLNetwork(graph.n_relations, o.training.size, selector=selector, generator=first_values)


def choose_training(o: NCRL) -> Training:
    """Return the options of this package's training loop for a variant."""
    usual, t = VARIANTS[o.variant], o.training
    return Training(
        size=t.size,
        steps=t.steps,
        batch_size=t.batch_size,
        learning_rate=usual.learning_rate if t.learning_rate is None else t.learning_rate,
        decay=usual.decay,
        order="lengths",
        held_out=0.0 if t.patience is None else HELD_OUT,
        patience=t.patience,
    )
