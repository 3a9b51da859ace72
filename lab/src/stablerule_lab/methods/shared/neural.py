"""How a learner trains a network of its own: on the facts, asked from both ends, and judged on validation facts."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import torch

from stablerule.evaluation import ByScores
from stablerule.extending import Learned, read_only, spell_duration
from stablerule.graph import Dataset, Graph, Triples
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.epochs import run_epochs
from stablerule_lab.methods.shared.network_reasoner import (
    NetworkReasoner,
    Scorer,
    load_state,
    read_tensors,
    score_along,
)

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule.extending import Course, Lesson, SavedModel

MOST_JUDGED = 1000  # validation facts that an epoch is judged on, unless a method is slow to answer
HELD_OUT = 0.05  # of the facts, to judge an epoch by where there are no validation facts
FIRST_FEW = 2  # queries
TRAINING_SHARE = 0.95  # of the minutes: what comes after learning takes a little, too


class NeuralReasoner(NetworkReasoner):
    """A learner whose network is trained in epochs.

    Subclasses declare their options in their `__init__`, `training` among them, and build their network.
    """

    @abstractmethod
    def build(self, entities: int, relations: int) -> Scorer:
        """Make the network, with starting values from torch's own generator, which `fit` has seeded."""

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Train the network on a graph; `valid`, or some facts that are held out, say when it is at its best."""
        lesson = self._begin(graph, valid, examples, minutes)
        self.network_, course = fit_network(lesson, self)
        return self._end(lesson, Learned(course=course))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Say what `fit` would do on a graph, and what it would cost, by doing a batch."""
        self.check_options()
        queries, edges = ask_both_ways(graph.triples, graph), Edges.of(graph, self.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = self.build(graph.n_entities, graph.n_relations).to(self.device).train()
            rows = torch.randperm(len(queries))[: self.training.batch_size]
            for some in (rows[:FIRST_FEW], rows):  # the first time, kernels are compiled and tables made
                began = time.perf_counter()
                network.loss(queries[some].to(self.device), edges).backward()  # type: ignore[no-untyped-call]
                seconds = time.perf_counter() - began
        batches = -(-len(queries) // self.training.batch_size)
        numbers = sum(p.numel() for p in network.parameters())
        return [
            f"{numbers:,} parameters, {numbers * 16 / 1e6:.0f} MB with what learning needs",
            plan_epochs(self.training.epochs, batches, batches * seconds, minutes),
        ]

    def _load_own(self, saved: SavedModel) -> None:
        with torch.random.fork_rng(devices=[]):  # its starting values are replaced at once
            self.network_ = self.build(saved.data.entities, saved.data.relations)
        load_state(self.network_, read_tensors(saved), saved, self.device)


class Taught(NamedTuple):
    """What a network learns from and is judged on, by id.

    queries: (2n, 3), the facts before their inverses. edges: the graph, as far as the network may look at it.
    judged: facts that judge an epoch. known: a graph with all facts that count as known then.
    """

    queries: Tensor
    edges: Edges
    judged: Triples
    known: Graph


def fit_network(lesson: Lesson, o: NeuralReasoner, *, most_judged: int = MOST_JUDGED) -> tuple[Scorer, Course]:
    """Train the network of a learner; it ends as it was when the judging facts liked it best."""
    graph = lesson.graph
    # 1. facts that teach, asked from both ends, and facts that judge
    taught = part_facts(lesson, o, most_judged)
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they were
        torch.manual_seed(o.seed)
        # 2. build
        network = o.build(graph.n_entities, graph.n_relations).to(o.device)
        # 3. train, epoch by epoch
        course = run_epochs(
            network,
            taught.queries,
            lambda batch: network.loss(batch, taught.edges),
            lambda: judge_network(network, taught, o.device),
            o.training,
            seed=o.seed,
            device=o.device,
            budget=lesson.budget.take_part(TRAINING_SHARE),
        )
    return network, course


def part_facts(lesson: Lesson, o: NetworkReasoner, most_judged: int = MOST_JUDGED) -> Taught:
    """Part the facts into those that teach and those that judge; without validation facts, some are held out."""
    graph, valid = lesson.graph, lesson.valid
    facts, edges = lesson.examples.facts.triples, Edges.of(graph, o.device)
    if valid is None:
        learned, valid = hold_out(facts, o.seed)
        if len(learned) < len(facts):  # a network that looks at edges would find there what it is judged by
            edges = edges.without(ask_both_ways(valid, graph).to(o.device))
        facts = learned
    known = Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
    some = np.sort(np.random.default_rng(o.seed).permutation(len(valid))[:most_judged])
    return Taught(ask_both_ways(facts, graph).to(o.device), edges, valid.take(some), known)


def hold_out(facts: Triples, seed: int) -> tuple[Triples, Triples]:
    """Part some facts from the others, to judge by; a few facts are all learned from, and judge as well."""
    order = np.random.default_rng(seed).permutation(len(facts))
    count = int(len(facts) * HELD_OUT)
    if not count:
        return facts, facts
    return facts.take(np.sort(order[count:])), facts.take(np.sort(order[:count]))


def judge_network(network: Scorer, taught: Taught, device: str) -> float:
    """Return the realistic MRR of a network on the facts that judge."""
    if not len(taught.judged):
        return 0.0
    queries = Triples(read_only(ask_both_ways(taught.judged, taught.known).numpy().astype(np.int32)))
    ranker = ByScores(score_along(network, taught.edges, device))
    return float((1 / ranker.rank(queries, graph=taught.known, known=taught.known).form("realistic")).mean())


def ask_both_ways(facts: Triples, graph: Graph) -> Tensor:
    """Ask each fact for its tail and, by the inverse, for its head: (2n, 3)."""
    rows = torch.from_numpy(facts.rows.astype(np.int64))
    inverse = torch.stack([rows[:, 2], rows[:, 1] + graph.n_relations, rows[:, 0]], dim=1)
    return torch.cat([rows, inverse])


def plan_epochs(epochs: int, batches: int, seconds: float, minutes: float | None) -> str:
    """Say how long training may take, at so many seconds an epoch."""
    most = "" if minutes is None else f", {minutes:g} minutes at most"
    return f"up to {epochs:,} epochs of {batches:,} batches, about {spell_duration(seconds)} each{most}"
