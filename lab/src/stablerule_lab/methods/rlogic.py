"""RLogic: read a rule body in order; at each step two relations become one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn

from stablerule.extending import (
    Course,
    RuleReasoner,
    check_option_at_least,
    check_walk_lengths,
    finish_learning,
    interrupt_later,
    sample_rules,
    score_bodies,
    spell_duration,
)
from stablerule.rules import RuleSet
from stablerule_lab.inside.network import TRAINING_SHARE, Batch, SamplePool, check_torch_device
from stablerule_lab.methods.shared.chains import PILOT_WALKS, check_rate, measure_best, plan_chains, sample_chains
from stablerule_lab.methods.shared.steps import run_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import Ids, Learned, Lesson, RuleSamples
    from stablerule.graph import Dataset, Graph, Triples


@dataclass(frozen=True)
class ReadingTraining:
    """How the network of RLogic is trained.

    size: numbers of an embedding. steps: batches. batch_size: samples in a batch. learning_rate: decays to 0 over the
    steps with `decay`.
    """

    size: int = 128
    steps: int = 2000
    batch_size: int = 1000
    learning_rate: float = 0.01
    decay: bool = True

    def __post_init__(self) -> None:
        for name in ("size", "steps", "batch_size"):
            check_option_at_least(1, name, getattr(self, name))
        check_rate("learning_rate", self.learning_rate)


class RLogicNetwork(nn.Module):
    """P(body) and P(head relation | body) from one table of 2R relations, with d = `size`.

    P(body) is the product of an LSTM's predictions of the next relation. P(head relation | body) is a recursion: the
    first two relations give p = MLP[e_1; e_2] over 2R relations and NEG. The soft relation for both is softmax(p) times
    the table, with the LSTM's state for NEG. With e_3 it gives the next p, and so on; the last p is the result. A body
    of one relation is preceded by the LSTM's start symbol, which has its own row.

    >>> network = RLogicNetwork(relation_count=3, size=8)
    >>> log_p, logits = network(torch.tensor([[0, 1, 5], [2, 4, -1]]))
    >>> log_p.shape, logits.shape
    (torch.Size([2]), torch.Size([2, 7]))
    """

    def __init__(self, relation_count: int, size: int) -> None:
        super().__init__()
        self.relation_count = relation_count
        self.relations = nn.Parameter(torch.randn(2 * relation_count, size))
        self.start = nn.Parameter(torch.randn(1, size))
        self.lstm = nn.LSTM(size, size, batch_first=True)
        self.next_relation = nn.Linear(size, 2 * relation_count)
        self.pair = nn.Sequential(nn.Linear(2 * size, size), nn.ReLU(), nn.Linear(size, 2 * relation_count + 1))

    def forward(self, bodies: Tensor) -> tuple[Tensor, Tensor]:
        """Return log P(body) (U,) and logits of head relations (U, 2R+1) for bodies (U, L), padded with -1."""
        lengths = (bodies >= 0).sum(1)
        rows = [(lengths == n).nonzero()[:, 0] for n in torch.unique(lengths)]
        parts = [self._of_one_length(bodies[r, : int(lengths[r[0]])]) for r in rows]
        back = torch.cat(rows).argsort()
        log_p, logits = (torch.cat(column).index_select(0, back) for column in zip(*parts, strict=True))
        return log_p, logits

    def _of_one_length(self, bodies: Tensor) -> tuple[Tensor, Tensor]:
        """Do the same for bodies (U, n) of one length."""
        items = self.relations[bodies]  # (U, n, d)
        first = self.start.expand(len(bodies), 1, -1)
        states, _ = self.lstm(torch.cat([first, items[:, :-1]], dim=1))  # (U, n, d), state i has read i relations
        guesses = self.next_relation(states).log_softmax(2)  # (U, n, 2R)
        log_p = guesses.gather(2, bodies.unsqueeze(2)).sum((1, 2))  # (U,)
        if bodies.shape[1] == 1:
            return log_p, self.pair(torch.cat([first[:, 0], items[:, 0]], dim=1))
        logits = self.pair(items[:, :2].flatten(1))  # (U, 2R+1)
        for i in range(2, bodies.shape[1]):
            shares = logits.softmax(1)
            soft = shares[:, :-1] @ self.relations + shares[:, -1:] * states[:, i]  # (U, d)
            logits = self.pair(torch.cat([soft, items[:, i]], dim=1))
        return log_p, logits

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean over the samples of -log P(body) - log P(head relation | body)."""
        log_p, logits = self(batch.bodies)
        of_heads = logits.log_softmax(1)[batch.cell_rows, batch.cell_heads]  # (C,)
        total: Tensor = (batch.counts * log_p).sum() + (batch.cell_counts * of_heads).sum()
        return -total / batch.counts.sum()


class RLogic(RuleReasoner):
    """Learn P(head relation | body) by reading a body in order (Cheng et al. 2022).

    The best bodies of each relation by this score are its rules. The publication has rules of length 2 and more, as
    with `min_length=2`; the default adds length 1, which finds inverse and equivalent relations. Samples, statistics
    and answers are those of this package: the entities of a path are distinct, every open path is a sample of NEG, and
    validation facts choose the aggregation. There are no rules with constants. training: see `ReadingTraining`.

    >>> from stablerule import households
    >>> dataset = households(families=5, seed=0).dataset
    >>> model = RLogic(walks=20_000, training=ReadingTraining(size=16, steps=60)).fit(dataset.graph, dataset.valid)
    >>> len(model.rules.filter(head_relation="grandparent_of")) > 10
    True
    """

    method: ClassVar[str] = "rlogic"
    old_names: ClassVar[dict[str, str]] = {name: f"training.{name}" for name in ReadingTraining.__dataclass_fields__}

    def __init__(
        self,
        *,
        max_length: int = 3,
        min_length: int = 1,
        walks: int | None = None,
        rules_per_relation: int = 200,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        training: ReadingTraining = ReadingTraining(),
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.min_length = min_length
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
        return self._end(lesson, fit_rlogic(lesson, self))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Return the plan and cost of `fit` on a graph, measured by one training step."""
        self.check_options()
        o, then = self.training, []
        samples = sample_rules(graph, PILOT_WALKS, max_length=self.max_length, min_length=self.min_length)
        if samples.n_bodies:
            with torch.random.fork_rng(devices=[]):
                network = RLogicNetwork(graph.n_relations, o.size).to(self.device)
            batch = pool_all(samples, self.device).draw(o.batch_size, (self.seed,))
            began = time.perf_counter()
            network.loss(batch).backward()  # type: ignore[no-untyped-call]
            seconds = (time.perf_counter() - began) * o.steps
            then = [f"{o.steps:,} steps of {o.batch_size:,} samples, about {spell_duration(seconds)}"]
        return plan_chains(graph, self, *then, minutes=minutes)

    def _check_options(self) -> None:
        super()._check_options()
        check_walk_lengths(self.min_length, self.max_length)
        self._check_at_least(1, "walks", "rules_per_relation")
        check_torch_device(self.device)


def fit_rlogic(lesson: Lesson, o: RLogic) -> Learned:
    """Learn rules from sampled paths with the network."""
    # 1. sample: (body, head relation) pairs from walks
    samples = sample_chains(lesson, o, min_length=o.min_length)
    if not samples.n_bodies:  # no walk reached another entity
        return finish_learning(lesson, o, RuleSet(), samples=samples.n_samples, bodies=0)

    # 2. train: P(body) and P(head relation | body)
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state unchanged
        torch.manual_seed(o.seed)
        network = RLogicNetwork(lesson.graph.n_relations, o.training.size).to(o.device)
    course = train_network(network, samples, lesson, o)

    # 3. extract the best bodies of each relation by the network alone, 4. measure them on the graph
    def score(bodies: Ids) -> NDArray[np.float64]:
        with torch.no_grad():
            _, logits = network(torch.from_numpy(bodies.astype(np.int64)).to(o.device))
            found: NDArray[np.float64] = logits.double().softmax(1).cpu().numpy()
            return found

    rules = measure_best(lesson, o, samples, score_bodies(samples, score, None))

    # 5. choose how rules that fire become one score, 6. calibrate
    return finish_learning(lesson, o, rules, samples=samples.n_samples, bodies=samples.n_bodies, course=course)


def train_network(network: RLogicNetwork, samples: RuleSamples, lesson: Lesson, o: RLogic) -> Course:
    """Train the network in place, within the time budget."""
    pool, t, began = pool_all(samples, o.device), o.training, time.perf_counter()
    time_for_it = lesson.budget.take_part(TRAINING_SHARE)
    with interrupt_later() as interrupted:
        losses = run_steps(
            "learning",
            network,
            lambda step: network.loss(pool.draw(t.batch_size, (o.seed, step))),
            steps=t.steps,
            learning_rate=t.learning_rate,
            decay=t.decay,
            stopped=lambda: time_for_it.passed or interrupted(),
        )
        ended_by = "interrupt" if interrupted() else "itself"
    seconds = time.perf_counter() - began
    return Course(steps=[{"loss": loss} for loss in losses], ended_by=ended_by, seconds=seconds)


def pool_all(samples: RuleSamples, device: str) -> SamplePool:
    """Pool the samples of all lengths."""
    return SamplePool(samples, tuple(range(1, samples.max_length + 1)), device)
