"""Any model of PyKEEN, with our splits, seeds and evaluator."""

from __future__ import annotations

import json
import logging
import time
import warnings
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
import torch

from stablerule.errors import InputError, MissingExtra, OptionError, spell_closest, spell_names
from stablerule.extending import Course, Learned, interrupt_later
from stablerule.progress import progress_bar
from stablerule_lab.methods.shared.epochs import OLD_EPOCHS, BestSoFar, Epochs
from stablerule_lab.methods.shared.network_reasoner import NetworkReasoner, Scorer, load_state, read_tensors
from stablerule_lab.methods.shared.neural import TRAINING_SHARE, evaluate_network, part_facts, plan_epochs

try:
    from pykeen.models import Model, model_resolver
    from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop, TrainingLoop
    from pykeen.training.callbacks import TrainingCallback
    from pykeen.training.training_loop import NonFiniteLossError, NoTrainingBatchError
    from pykeen.triples import CoreTriplesFactory
    from pykeen.utils import NoRandomSeedNecessary
except ImportError as error:
    if (error.name or "").partition(".")[0] != "pykeen":
        raise
    raise MissingExtra("Training a model of PyKEEN", package="pykeen", extra="pykeen", distribution="./lab") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from stablerule.extending import Lesson, SavedModel
    from stablerule.graph import Dataset, Graph, Triples
    from stablerule_lab.methods.shared.edges import Edges

NEED_MORE = {  # models that need more than the facts of a graph
    "ComplExLiteral": "numbers about entities",
    "DistMultLiteral": "numbers about entities",
    "DistMultLiteralGated": "numbers about entities",
    "InductiveNodePiece": "a second graph",
    "InductiveNodePieceGNN": "a second graph",
    "CooccurrenceFilteredModel": "no training",
    "FixedModel": "no training",
}
KINDS: dict[str, type[Model]] = {
    kind.__name__: kind
    for kind in sorted(model_resolver.lookup_dict.values(), key=lambda kind: kind.__name__)
    if kind.__name__ not in NEED_MORE
}
NEED_INVERSES, MAKE_INVERSES = {"CompGCN", "NodePiece"}, {"RGCN"}  # RGCN makes inverses itself
NUMBERS_AT_ONCE = 1 << 24  # scores computed at once, each with about one row of the model: 64 MB
TRAINING = Epochs(200, batch_size=256, learning_rate=0.003, check_every=5)


class PykeenScorer(Scorer):
    """A model of PyKEEN that answers with our ids; inverse relations use its head prediction.

    facts: (n, 3), the graph of the model; some models pass messages along them, so they are saved, too.
    """

    facts: Tensor

    def __init__(self, model: Model, facts: Tensor, size: int) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("facts", facts)
        self.step = max(1, NUMBERS_AT_ONCE // max(1, model.num_entities * size))

    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Not used: PyKEEN's own loop trains the model."""
        raise NotImplementedError

    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return the scores (b, E)."""
        n = self.model.num_real_relations
        found = torch.empty(len(heads), self.model.num_entities, device=heads.device)
        for rows in torch.split(torch.nonzero(relations < n).flatten(), self.step):
            found[rows] = self.model.predict_t(torch.stack([heads[rows], relations[rows]], dim=1))
        for rows in torch.split(torch.nonzero(relations >= n).flatten(), self.step):
            found[rows] = self.model.predict_h(torch.stack([relations[rows] - n, heads[rows]], dim=1))
        return found


class _Enough(Exception):
    """Ends PyKEEN's loop."""


class _Watch(TrainingCallback):
    """Evaluates after PyKEEN's epochs as our own loop does, and ends training in time."""

    def __init__(
        self,
        best: BestSoFar,
        course: Course,
        o: Epochs,
        interrupted: Callable[[], bool],
        advance: Callable[[int, str], None],
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._best, self._course, self._o, self._interrupted, self._advance = best, course, o, interrupted, advance
        self._losses: list[float] = []
        self._began = time.perf_counter()

    def on_batch(self, epoch: int, batch: Any, batch_loss: float, **_: Any) -> None:
        """Record the loss."""
        self._losses.append(batch_loss)

    def post_batch(self, epoch: int, batch: Any, **_: Any) -> None:
        """End within an epoch if the time budget is used up."""
        if self._best.out_of_time or self._interrupted():
            self._best.end("minutes" if self._best.out_of_time else "interrupt")
            self._end_epoch()
            self._best.look()
            raise _Enough

    def post_epoch(self, epoch: int, epoch_loss: float, **_: Any) -> None:
        """Evaluate the model when it is due."""
        self._end_epoch()
        if epoch % self._o.check_every == 0 or epoch == self._o.epochs:
            self._best.look()
        self._advance(1, f"epoch {epoch}  loss {epoch_loss:.3f}  valid MRR {self._course.best_mrr or 0:.3f}")
        if self._o.patience is not None and self._best.without_gain >= self._o.patience:
            self._best.end("patience")
            raise _Enough

    def _end_epoch(self) -> None:
        seconds = round(time.perf_counter() - self._began, 2)
        self._course.epochs.append({"loss": float(np.mean(self._losses)), "seconds": seconds})
        self._losses.clear()


class Pykeen(NetworkReasoner):
    """Train a model of PyKEEN, by its name there, with PyKEEN's training loop.

    Splits, seed, early stopping on validation facts, time budget, ranks and model folder are ours.

    loop: "slcwa" samples `negatives` wrong facts for each correct one, in both directions; "lcwa" scores all tails of a
        (head, relation), with inverse relations for the heads.
    model_options: more arguments of the model, such as {"loss": "nssa"}; values must fit into JSON.
    training: see `Epochs`.

    Models that need more than the facts of a graph are not supported. Global random seeds are left unchanged.

    >>> from stablerule import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> learner = Pykeen.with_options({"model": "TransE", "size": 8, "training.epochs": 2})
    >>> model = learner.fit(Dataset.from_names("trip", train=facts).graph)
    >>> len(next(model.answer([("Paris", "in")], k=3)))
    3
    """

    method: ClassVar[str] = "pykeen"
    old_names: ClassVar[dict[str, str]] = OLD_EPOCHS
    network_: PykeenScorer

    def __init__(
        self,
        *,
        model: str = "MuRE",
        size: int = 64,
        loop: Literal["slcwa", "lcwa"] = "slcwa",
        negatives: int = 32,
        model_options: dict[str, Any] | None = None,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.model = model
        self.size = size
        self.loop = loop
        self.negatives = negatives
        self.model_options = model_options
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
        """Train the model on a graph; `valid`, or some held-out facts, choose the best state."""
        lesson = self._begin(graph, valid, examples, minutes)
        self.network_, course = fit_pykeen(lesson, self)
        return self._end(lesson, Learned(course=course))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Return the plan and cost of `fit` on a graph, measured by a few batches."""
        self.check_options()
        facts = torch.from_numpy(np.array(graph.triples.rows, np.int32))
        with torch.random.fork_rng(devices=[]), _quiet(), TemporaryDirectory() as folder:
            torch.manual_seed(self.seed)
            model = self.make_model(facts, graph.n_entities, graph.n_relations).to(self.device)
            factory, size = make_factory(facts, model), self.batch_size_for(facts)
            for _ in range(2):  # the first batch includes preparations
                began = time.perf_counter()
                self.make_loop(model, factory).train(
                    factory, batch_size=size, only_size_probing=True, checkpoint_directory=folder, pin_memory=False
                )
            seconds = (time.perf_counter() - began) / 2
        batches = -(-self._examples(facts) // size)
        return [
            f"{type(model).__name__} of PyKEEN, {model.num_parameters:,} parameters",
            plan_epochs(self.training.epochs, batches, batches * seconds, minutes),
        ]

    def _load_own(self, saved: SavedModel) -> None:
        tensors = read_tensors(saved)
        facts = torch.from_numpy(tensors["facts"])
        with torch.random.fork_rng(devices=[]), _quiet():  # its initial values are replaced
            self.network_ = self.build(facts, saved.data.entities, saved.data.relations)
        load_state(self.network_, tensors, saved, self.device)

    def _kind(self) -> type[Model]:
        by_lower = {name.lower(): kind for name, kind in KINDS.items()}
        kind = by_lower.get(self.model.lower())
        if kind is None:
            more = {name.lower(): what for name, what in NEED_MORE.items()}.get(self.model.lower())
            if more is not None:
                raise OptionError(f"Argument 'model' of Pykeen must not be {self.model!r}, which needs {more}.")
            near = spell_closest(self.model, KINDS) or spell_names(KINDS, most=None)
            raise OptionError(f"Argument 'model' of Pykeen must be a model of PyKEEN, got {self.model!r}.{near}")
        return kind

    def _inverses(self) -> bool:
        name = self._kind().__name__
        return name not in MAKE_INVERSES and (self.loop == "lcwa" or name in NEED_INVERSES)

    def build(self, facts: Tensor, entities: int, relations: int) -> PykeenScorer:
        """Return the network; its initial values come from torch's generator."""
        return PykeenScorer(self.make_model(facts, entities, relations), facts, self.size)

    def make_model(self, facts: Tensor, entities: int, relations: int) -> Model:
        """Return the PyKEEN model for facts (n, 3)."""
        factory = CoreTriplesFactory(
            mapped_triples=facts.long(),
            num_entities=entities,
            num_relations=relations,
            create_inverse_triples=self._inverses(),
        )
        given = {"embedding_dim": self.size} | (self.model_options or {})
        try:
            return self._kind()(triples_factory=factory, random_seed=cast("int", NoRandomSeedNecessary), **given)
        except (TypeError, ValueError, LookupError, AssertionError) as error:
            raise OptionError(f"PyKEEN can't make {self.model} of {given!r}: {error}") from error

    def make_loop(self, model: Model, factory: CoreTriplesFactory) -> TrainingLoop[Any]:
        """Return PyKEEN's training loop."""
        shared: dict[str, Any] = {
            "model": model,
            "triples_factory": factory,
            "optimizer": self.training.optimizer,
            "optimizer_kwargs": {"lr": self.training.learning_rate},
            "automatic_memory_optimization": False,
        }
        if self.loop == "lcwa":
            return LCWATrainingLoop(**shared)
        return SLCWATrainingLoop(
            **shared, negative_sampler="basic", negative_sampler_kwargs={"num_negs_per_pos": self.negatives}
        )

    def _examples(self, facts: Tensor) -> int:
        """Return the number of rows that PyKEEN splits into batches."""
        sides = ([0, 1], [2, 1]) if self._inverses() else ([0, 1],)
        if self.loop == "slcwa":
            return len(facts) * len(sides)
        return sum(len(np.unique(facts[:, side].cpu().numpy(), axis=0)) for side in sides)

    def batch_size_for(self, facts: Tensor) -> int:
        """Return the batch size, at most all rows: models with batch normalisation skip an incomplete batch."""
        return min(self.training.batch_size, self._examples(facts))

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "size", "negatives")
        self._kind()
        try:
            json.dumps(self.model_options)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"Argument 'model_options' of Pykeen must have values that fit into JSON, got {self.model_options!r}."
            ) from error


def fit_pykeen(lesson: Lesson, o: Pykeen) -> tuple[PykeenScorer, Course]:
    """Train a PyKEEN model with PyKEEN's loop, and keep its best state on the held-out facts."""
    graph = lesson.graph
    # 1. split into training and held-out facts; messages use the training facts only
    taught = part_facts(lesson, o)
    edges = taught.edges
    rows = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)
    heard = rows[edges.relations < edges.n_relations].to("cpu", torch.int32)
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state unchanged
        torch.manual_seed(o.seed)
        # 2. build
        with _quiet():
            network = o.build(heard, graph.n_entities, graph.n_relations).to(o.device)
        # 3. train, epoch by epoch
        course, began = Course(ended_by="epochs"), time.perf_counter()
        facts, model = taught.queries[: len(taught.queries) // 2], network.model
        factory = make_factory(facts, model)
        with (
            progress_bar("learning", o.training.epochs) as advance,
            interrupt_later() as interrupted,
            TemporaryDirectory() as folder,  # otherwise PyKEEN makes one in the home folder
            _quiet(),
        ):
            budget = lesson.budget.take_part(TRAINING_SHARE)
            best = BestSoFar(network, lambda: evaluate_network(network, taught, o.device), course, budget)
            try:
                with suppress(_Enough):
                    o.make_loop(model, factory).train(
                        factory,
                        num_epochs=o.training.epochs,
                        batch_size=o.batch_size_for(facts),
                        use_tqdm=False,
                        checkpoint_directory=folder,
                        callbacks=_Watch(best, course, o.training, interrupted, advance),
                        gradient_clipping_max_norm=o.training.clip,
                        pin_memory=False,
                    )
            except (ValueError, NonFiniteLossError, NoTrainingBatchError) as error:
                raise InputError(f"PyKEEN can't train {o.model} with these options: {error}") from error
            best.restore()
            model.post_parameter_update()  # drop what it computed from other values
        course.seconds = time.perf_counter() - began
    return network, course


def make_factory(facts: Tensor, model: Model) -> CoreTriplesFactory:
    """Return facts (n, 3) as PyKEEN's training data."""
    return CoreTriplesFactory(
        mapped_triples=facts.long().cpu(),
        num_entities=model.num_entities,
        num_relations=model.num_real_relations,
        create_inverse_triples=model.use_inverse_triples,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings about PyKEEN's own code, which the user cannot change."""
    log = logging.getLogger("pykeen")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
