"""StableRule: the learner of this package, from a graph to rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from stablerule.errors import InputError, MissingExtra, OptionError
from stablerule.learning.extraction import Candidates, score_bodies
from stablerule.learning.plan import (
    EDGES_A_SECOND,
    FEW_RELATIONS,
    WALKS_A_SECOND,
    Plan,
    expected_bodies,
    matrix_speed,
    walks_for,
)
from stablerule.learning.presets import preset
from stablerule.learning.sampled import SampledLearner
from stablerule.paths.threads import available_cores
from stablerule.reasoning.folder import NETWORK
from stablerule.reasoning.option_types import check_types
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stablerule.graph import Graph, Triples
    from stablerule.learning.decorrelation import Decorrelation
    from stablerule.learning.network import RuleNetwork
    from stablerule.learning.training import TrainingOptions
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.deadline import Deadline
    from stablerule.samples import RuleSamples

SIZE, STEPS = 128, 400
SMALL_BATCH, LARGE_BATCH = 3000, 5000


class StableRule(SampledLearner):
    """Learns P(head relation | body) from sampled paths, under weights that decorrelate the embeddings of the bodies.

    Sizes that are None are chosen for the graph, so that a laptop is enough; `plan(graph)` says what will be done.
    A rule's score is P(head relation | body) = (count + s * network) / (samples of the body + s), with s = `smoothing`;
    `smoothing=None` leaves the counts out, as the paper does.
    `decorrelate=False` is the paper's NoDecor, `moment_order=1` its FirstMoment, `backtracking=False` its NoBack,
    `StableRule.preset("fb15k-237")` its hyper-parameters for a graph.

    >>> StableRule(max_length=2, decorrelate=False)
    StableRule(max_length=2, decorrelate=False)
    >>> StableRule.preset("umls").size
    512
    """

    method: ClassVar[str] = "stablerule"
    network_: dict[str, Any] | None = None

    def __init__(
        self,
        *,
        max_length: int = 3,
        min_length: int = 1,
        walks: int | None = None,
        backtracking: bool = True,
        negatives: Literal["open", "paper", "none"] = "open",
        size: int | None = None,
        selector: Literal["straight-through", "argmax"] = "straight-through",
        steps: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 0.02,
        decay: bool = True,
        order: Literal["lengths", "mixed"] = "mixed",
        warm_up: int = 20,
        held_out: float = 0.05,
        patience: int | None = 4,
        decorrelate: bool = True,
        moment_order: int = 2,
        features: Literal["moments", "rff"] = "moments",
        weight_steps: int = 1,
        weight_rate: float = 0.2,
        weight_penalty: float = 0.05,
        share_floor: float = 0.5,
        restart: bool = False,
        literal: bool = False,
        random_weights: bool = False,
        smoothing: float | None = 20.0,
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
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.min_length = min_length
        self.walks = walks
        self.backtracking = backtracking
        self.negatives = negatives
        self.size = size
        self.selector = selector
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.decay = decay
        self.order = order
        self.warm_up = warm_up
        self.held_out = held_out
        self.patience = patience
        self.decorrelate = decorrelate
        self.moment_order = moment_order
        self.features = features
        self.weight_steps = weight_steps
        self.weight_rate = weight_rate
        self.weight_penalty = weight_penalty
        self.share_floor = share_floor
        self.restart = restart
        self.literal = literal
        self.random_weights = random_weights
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
        self.device = device
        self.seed = seed

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Make a learner with the options of a preset: "laptop", or the paper's for a graph by its name."""
        return cls.with_options(preset(name) | changes)

    def plan(self, graph: Graph) -> Plan:
        """Say what `fit` would do on a graph, and what it would cost."""
        check_types(type(self), self.options)
        self._check_options()
        walks, (size, batch_size, steps) = self.walks or walks_for(graph), self._sizes(graph)
        bodies = expected_bodies(graph, walks, self.max_length, self.seed)
        stages = self.max_length - self.min_length + 1 if self.order == "lengths" else 1
        unique, relations = min(batch_size, bodies), 2 * graph.n_relations
        # Multiplications: scores over all relations and LSTM gates, forward and twice that back; then the weights.
        work = 6 * unique * size * (relations + 8 * self.max_length)
        if self.decorrelate:
            features = self.moment_order * size
            gram, covariance = unique * unique * features, unique * features * features
            work += 2 * min(gram, covariance) + self.weight_steps * 2 * min(40 * unique * unique, 2 * covariance)
        speed = matrix_speed()
        measuring = 30 if self.measure_budget is None else self.measure_budget / EDGES_A_SECOND / available_cores()
        scoring = 2 * bodies * size * relations * 3 / speed
        seconds = walks / WALKS_A_SECOND / available_cores() + steps * stages * (3 * work / speed + 0.01)
        memory = bodies * (200 + 40 * self.decorrelate) + 60 * unique * size + 8 * unique * unique * self.decorrelate
        return Plan(walks, bodies, size, batch_size, steps * stages, memory, seconds + scoring + measuring)

    def plan_lines(self, graph: Graph) -> list[str]:
        """Say the plan in words."""
        return self.plan(graph).lines()

    def fit(
        self,
        graph: Graph,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from a graph. With `checkpoint`, a folder, a run that was killed goes on with `resume=True`.

        examples: facts of the graph that may serve as examples, while all of it is walked; None is all of them.
        """
        self._checkpoint, self._resume = checkpoint, resume
        return super().fit(graph, valid, examples=examples)

    def _learn(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> RuleSet:
        samples = self._sample(graph, examples, deadline)
        self.network_, self.learned_ = None, {"samples": 0, "bodies": 0, "interrupted": False}
        if not samples.n_bodies:  # every walk came back to where it began: there is nothing to learn from
            return RuleSet()
        network = self._train(graph, samples, examples, deadline)
        return self._best_rules(graph, samples, self._scores(network, samples), examples, deadline)

    def network(self) -> RuleNetwork:
        """Return the network that was learned, to look at what it says about bodies."""
        import torch  # noqa: PLC0415

        from stablerule.learning.network import RuleNetwork  # noqa: PLC0415

        self._check_fitted()
        tensors = self._tensors()
        if tensors is None:
            raise InputError("This StableRule has no network: there was nothing to learn from.")
        size = int(self.learned_["size"])
        network = RuleNetwork(self.data_.relations, size, selector=self.selector, generator=torch.Generator())
        network.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
        return network

    def _train(self, graph: Graph, samples: RuleSamples, examples: ExampleFacts, deadline: Deadline) -> RuleNetwork:
        import torch  # noqa: PLC0415  # only learning needs it

        from stablerule.learning.checkpoints import Checkpoints  # noqa: PLC0415
        from stablerule.learning.network import RuleNetwork  # noqa: PLC0415
        from stablerule.learning.training import train  # noqa: PLC0415

        size, *_ = self._sizes(graph)
        generator = torch.Generator().manual_seed(self.seed)
        network = RuleNetwork(graph.n_relations, size, selector=self.selector, generator=generator)
        kept = None
        if self._checkpoint is not None:
            identity = {"graph": graph.sha256, "examples": examples.facts.sha256, **self.options}
            kept = Checkpoints(self._checkpoint, identity, resume=self._resume)
        progress = train(network, samples, self._training_options(graph), kept, deadline)
        self.network_ = {name: t.detach().cpu().numpy() for name, t in network.state_dict().items()}
        self.learned_ = {
            "samples": samples.n_samples,
            "bodies": samples.n_bodies,
            "size": size,
            "seconds": progress.seconds,
            "interrupted": progress.interrupted,
            "steps": progress.steps,
            "checks": progress.checks,
        }
        return network

    def _scores(self, network: RuleNetwork, samples: RuleSamples) -> Iterator[Candidates]:
        from stablerule.learning.network import head_probabilities  # noqa: PLC0415

        return score_bodies(samples, lambda bodies: head_probabilities(network, bodies, self.device), self.smoothing)

    def _training_options(self, graph: Graph) -> TrainingOptions:
        from stablerule.learning.training import TrainingOptions  # noqa: PLC0415

        _, batch_size, steps = self._sizes(graph)
        return TrainingOptions(
            steps=steps,
            batch_size=batch_size,
            learning_rate=self.learning_rate,
            decay=self.decay,
            weights=self._decorrelation() if self.decorrelate else None,
            order=self.order,
            warm_up=self.warm_up,
            held_out=self.held_out,
            patience=self.patience,
            random_weights=self.random_weights,
            device=self.device,
            seed=self.seed,
        )

    def _decorrelation(self) -> Decorrelation:
        from stablerule.learning.decorrelation import Decorrelation  # noqa: PLC0415

        return Decorrelation(
            moment_order=self.moment_order,
            features=self.features,
            weight_steps=self.weight_steps,
            weight_rate=self.weight_rate,
            weight_penalty=self.weight_penalty,
            share_floor=self.share_floor,
            restart=self.restart,
            literal=self.literal,
        )

    def _sizes(self, graph: Graph) -> tuple[int, int, int]:
        """Embedding size, batch size and steps: as asked for, or what a laptop does in about a minute."""
        batch_size = self.batch_size or (SMALL_BATCH if graph.n_relations < FEW_RELATIONS else LARGE_BATCH)
        return self.size or SIZE, batch_size, self.steps or STEPS

    def _tensors(self) -> dict[str, Any] | None:
        kept = None if self.folder_ is None else self.folder_ / NETWORK
        if self.network_ is None and kept is not None and kept.is_file():
            from safetensors.numpy import load_file  # noqa: PLC0415  # a model that was taken up, kept once more

            self.network_ = load_file(kept)
        return self.network_

    def _check_options(self) -> None:
        super()._check_options()
        self._at_least(1, "size", "steps", "batch_size", "patience")
        self._at_least(0, "warm_up", "smoothing")
        if not 0 < self.learning_rate < 10:
            raise OptionError(f"Argument 'learning_rate' of StableRule must be above 0, got {self.learning_rate}.")
        if not 0 <= self.held_out < 1:
            raise OptionError(f"Argument 'held_out' of StableRule must be a share below 1, got {self.held_out}.")
        try:
            import torch  # noqa: F401, PLC0415

            from stablerule.learning.devices import check_device  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("Learning with StableRule", package="torch", extra="learn") from error
        self._decorrelation()
        check_device(self.device)
