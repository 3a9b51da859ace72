"""Training of a learner's own network: on all facts in both directions, evaluated on validation facts."""

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

MOST_HELD_OUT = 1000  # validation facts for each evaluation; slow methods use fewer
HELD_OUT = 0.05  # share of the facts held out without validation facts
FIRST_FEW = 2  # queries
TRAINING_SHARE = 0.95  # share of the time budget; later steps take a little, too


class NeuralReasoner(NetworkReasoner):
    """A learner whose network is trained in epochs.

    Subclasses declare their options in their `__init__`, `training` among them, and build their network.
    """

    @abstractmethod
    def build(self, entities: int, relations: int) -> Scorer:
        """Return the network; its initial values come from torch's generator, which `fit` seeds."""

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Train the network on a graph; `valid`, or some held-out facts, choose the best state."""
        lesson = self._begin(graph, valid, examples, minutes)
        self.network_, course = fit_network(lesson, self)
        return self._end(lesson, Learned(course=course))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Return the plan and cost of `fit` on a graph, measured by one batch."""
        self.check_options()
        queries, edges = ask_both_ways(graph.triples, graph), Edges.of(graph, self.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = self.build(graph.n_entities, graph.n_relations).to(self.device).train()
            rows = torch.randperm(len(queries))[: self.training.batch_size]
            for some in (rows[:FIRST_FEW], rows):  # the first batch includes compilation and tables
                began = time.perf_counter()
                network.loss(queries[some].to(self.device), edges).backward()  # type: ignore[no-untyped-call]
                seconds = time.perf_counter() - began
        batches = -(-len(queries) // self.training.batch_size)
        numbers = sum(p.numel() for p in network.parameters())
        return [
            f"{numbers:,} parameters, {numbers * 16 / 1e6:.0f} MB for training",
            plan_epochs(self.training.epochs, batches, batches * seconds, minutes),
        ]

    def _load_own(self, saved: SavedModel) -> None:
        with torch.random.fork_rng(devices=[]):  # its initial values are replaced
            self.network_ = self.build(saved.data.entities, saved.data.relations)
        load_state(self.network_, read_tensors(saved), saved, self.device)


class Taught(NamedTuple):
    """The training and held-out facts of a network, by id.

    queries: (2n, 3), the facts, then their inverses. edges: the edges that the network may use. held_out: the facts
    that evaluate an epoch. known: a graph with all known facts for filtering.
    """

    queries: Tensor
    edges: Edges
    held_out: Triples
    known: Graph


def fit_network(lesson: Lesson, o: NeuralReasoner, *, most_held_out: int = MOST_HELD_OUT) -> tuple[Scorer, Course]:
    """Train the network of a learner, and keep its best state on the held-out facts."""
    graph = lesson.graph
    # 1. split into training facts, in both directions, and held-out facts
    taught = part_facts(lesson, o, most_held_out)
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state unchanged
        torch.manual_seed(o.seed)
        # 2. build
        network = o.build(graph.n_entities, graph.n_relations).to(o.device)
        # 3. train, epoch by epoch
        course = run_epochs(
            network,
            taught.queries,
            lambda batch: network.loss(batch, taught.edges),
            lambda: evaluate_network(network, taught, o.device),
            o.training,
            seed=o.seed,
            device=o.device,
            budget=lesson.budget.take_part(TRAINING_SHARE),
        )
    return network, course


def part_facts(lesson: Lesson, o: NetworkReasoner, most_held_out: int = MOST_HELD_OUT) -> Taught:
    """Split the facts into training and held-out ones; without validation facts, hold some out."""
    graph, valid = lesson.graph, lesson.valid
    facts, edges = lesson.examples.facts.triples, Edges.of(graph, o.device)
    if valid is None:
        learned, valid = hold_out(facts, o.seed)
        if len(learned) < len(facts):  # a network must not find held-out facts among its edges
            edges = edges.without(ask_both_ways(valid, graph).to(o.device))
        facts = learned
    known = Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
    some = np.sort(np.random.default_rng(o.seed).permutation(len(valid))[:most_held_out])
    return Taught(ask_both_ways(facts, graph).to(o.device), edges, valid.take(some), known)


def hold_out(facts: Triples, seed: int) -> tuple[Triples, Triples]:
    """Hold out some facts; very few facts are all used for both training and evaluation."""
    order = np.random.default_rng(seed).permutation(len(facts))
    count = int(len(facts) * HELD_OUT)
    if not count:
        return facts, facts
    return facts.take(np.sort(order[count:])), facts.take(np.sort(order[:count]))


def evaluate_network(network: Scorer, taught: Taught, device: str) -> float:
    """Return the MRR of a network on the held-out facts, with realistic ties."""
    if not len(taught.held_out):
        return 0.0
    queries = Triples(read_only(ask_both_ways(taught.held_out, taught.known).numpy().astype(np.int32)))
    ranker = ByScores(score_along(network, taught.edges, device))
    return float((1 / ranker.rank(queries, graph=taught.known, known=taught.known).form("realistic")).mean())


def ask_both_ways(facts: Triples, graph: Graph) -> Tensor:
    """Return the queries of facts in both directions (2n, 3)."""
    rows = torch.from_numpy(facts.rows.astype(np.int64))
    inverse = torch.stack([rows[:, 2], rows[:, 1] + graph.n_relations, rows[:, 0]], dim=1)
    return torch.cat([rows, inverse])


def plan_epochs(epochs: int, batches: int, seconds: float, minutes: float | None) -> str:
    """Return how long training may take, from the seconds of an epoch."""
    most = "" if minutes is None else f", at most {minutes:g} minutes"
    return f"up to {epochs:,} epochs of {batches:,} batches, about {spell_duration(seconds)} each{most}"
