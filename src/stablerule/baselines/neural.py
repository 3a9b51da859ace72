"""What learners with a network of their own have in common: a torch module that scores all entities."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stablerule.baselines.edges import Edges
from stablerule.baselines.epochs import run_epochs
from stablerule.baselines.score_search import ScoreSearch
from stablerule.errors import InputError, OptionError
from stablerule.evaluation import ByScores
from stablerule.graph import Graph, Triples
from stablerule.graph.triples import read_only
from stablerule.learning.devices import check_device
from stablerule.learning.plan import duration
from stablerule.reasoning import Reasoner
from stablerule.reasoning.deadline import Deadline
from stablerule.reasoning.folder import NETWORK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from stablerule.baselines.epochs import Course
    from stablerule.graph import Vocabulary
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.folder import SavedModel

MOST_JUDGED = 1000  # valid facts that an epoch is judged on, unless the learner says otherwise
HELD_OUT = 0.05  # of the facts, to judge an epoch by where there are no valid facts
FIRST_FEW = 2  # queries
TRAINING_SHARE = 0.95  # of the minutes: what comes after learning takes a little, too


class Scorer(torch.nn.Module, ABC):
    """A network that says how well every entity answers a query. `r + R` is the inverse of relation r.

    One that passes messages looks at `edges`; others leave them alone.
    """

    @abstractmethod
    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return the mean loss of queries with their answers (b, 3); their own facts are still in the edges."""

    @abstractmethod
    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return (b, E), the higher the better."""


class NeuralReasoner(Reasoner):
    """A learner whose network is trained in epochs over the facts, asked from both ends, and judged on valid facts.

    Subclasses declare the options below in their `__init__`, beside their own, and say what to build.
    """

    network_: Scorer
    inductive: bool = False  # whether it answers about entities that it has not seen
    scores_at_once: int | None = None  # queries; None is as many as make four million scores

    epochs: int
    batch_size: int
    learning_rate: float
    patience: int | None
    check_every: int = 1
    clip: float | None = None
    device: str
    seed: int

    @abstractmethod
    def _build(self, entities: int, relations: int) -> Scorer:
        """Make the network, with starting values from torch's own generator, which `fit` has seeded."""

    def _look_at(self, edges: Edges) -> None:  # most networks are made without
        """Hear, before the network is built, along which edges it will learn."""

    def _optimizer(self, network: Scorer) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self.learning_rate, fused=self._fused)

    @property
    def _fused(self) -> bool | None:
        """Whether a step is one pass over the parameters instead of a dozen: it counts where entities are many."""
        return True if self.device == "cpu" else None  # elsewhere torch knows better

    def _shown(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """From raw scores (b, E) to those that people see: here the share of each entity under a softmax."""
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: NDArray[np.floating] = raised / raised.sum(axis=1, keepdims=True)
        return shares

    def plan_lines(self, graph: Graph) -> list[str]:
        """Say what `fit` would do on a graph, and what it would cost, by doing a batch."""
        self.check_options()
        queries, edges = _both_ways(graph.triples, graph), Edges.of(graph, self.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = self._build(graph.n_entities, graph.n_relations).to(self.device).train()
            rows = torch.randperm(len(queries))[: self.batch_size]
            for some in (rows[:FIRST_FEW], rows):  # the first time, kernels are compiled and tables made
                began = time.perf_counter()
                network.loss(queries[some].to(self.device), edges).backward()  # type: ignore[no-untyped-call]
                seconds = time.perf_counter() - began
        batches = -(-len(queries) // self.batch_size)
        numbers = sum(p.numel() for p in network.parameters())
        most = "" if self.minutes is None else f", {self.minutes:g} minutes at most"
        return [
            f"{numbers:,} parameters, {numbers * 16 / 1e6:.0f} MB with what learning needs",
            f"up to {self.epochs:,} epochs of {batches:,} batches, about {duration(batches * seconds)} each{most}",
        ]

    def _fit(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> None:
        facts, edges = examples.facts.triples, Edges.of(graph, self.device)
        if valid is None:
            learned, valid = _hold_out(facts, self.seed)
            if len(learned) < len(facts):  # a network that looks at edges would find there what it is judged by
                edges = edges.without(_both_ways(valid, graph).to(self.device))
            facts = learned
        known = Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
        judged = valid.take(
            np.sort(np.random.default_rng(self.seed).permutation(len(valid))[: self._most_judged(graph)])
        )
        queries = _both_ways(facts, graph).to(self.device)
        training = Deadline(None if self.minutes is None else deadline.left * TRAINING_SHARE / 60)
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they were
            torch.manual_seed(self.seed)
            self._look_at(edges)
            network = self._build(graph.n_entities, graph.n_relations).to(self.device)
            course = self._train(
                network,
                queries,
                edges,
                lambda: self._mean_reciprocal_rank(network, edges, judged, known),
                training,
            )
        self.network_ = network
        self.learned_ = course.to_json() | {"interrupted": course.ended_by == "interrupt"}

    def _train(
        self, network: Scorer, queries: Tensor, edges: Edges, judge: Callable[[], float], deadline: Deadline
    ) -> Course:
        """Let the network learn in place from queries (2n, 3), the facts before their inverses."""
        return run_epochs(
            network,
            queries,
            lambda batch: network.loss(batch, edges),
            judge,
            self._optimizer(network),
            epochs=self.epochs,
            batch_size=self.batch_size,
            patience=self.patience,
            check_every=self.check_every,
            clip=self.clip,
            deadline=deadline,
            generator=torch.Generator().manual_seed(self.seed),
        )

    def _most_judged(self, graph: Graph) -> int:  # a network that is slow to answer looks at fewer
        return MOST_JUDGED

    def _mean_reciprocal_rank(self, network: Scorer, edges: Edges, facts: Triples, known: Graph) -> float:
        if not len(facts):
            return 0.0
        ranker = ByScores(self._score(network, edges), batch_size=self.scores_at_once)
        queries = Triples(read_only(_both_ways(facts, known).numpy().astype(np.int32)))
        return float((1 / ranker.rank(queries, graph=known, known=known).form("realistic")).mean())

    def _score(self, network: Scorer, edges: Edges) -> Any:
        def score(heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float32]:
            with torch.no_grad():
                asked = torch.from_numpy(heads).to(self.device), torch.from_numpy(relations).to(self.device)
                found: NDArray[np.float32] = network.scores(*asked, edges).float().cpu().numpy()
                return found

        return score

    def _searcher(self, graph: Graph) -> ScoreSearch:
        return ScoreSearch(
            graph,
            self._score_on(graph),
            name=self.method,
            shown=self._shown,
            most=1.0,
            at_most=self.scores_at_once,
        )

    def _score_on(self, graph: Graph) -> Any:
        """Score by the ids of any graph: names that the network knows under other ids are translated."""
        network, words = self.network_, graph.vocabulary
        own = self.vocabulary_
        if words is own or _same_names(words, own):
            return self._score(network, Edges.of(graph, self.device))
        relations = own.relations.ids_of(words.relations.table).astype(np.int64)
        both = np.concatenate([relations, np.where(relations < 0, -1, relations + len(own.relations))])
        entities, count = np.arange(graph.n_entities), graph.n_entities
        if not self.inductive:
            entities, count = own.entities.ids_of(words.entities.table).astype(np.int64), len(own.entities)
            self._refuse_unseen(entities, graph)
        inner = self._score(network, _translated(graph, entities, both, (count, len(own.relations)), self.device))

        def score(heads: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.float32]:
            found = np.zeros((len(heads), graph.n_entities), np.float32)
            known = both[asked] >= 0  # about a relation that it has never seen, it has nothing to say
            if known.any():
                found[known] = inner(entities[heads[known]], both[asked[known]])[:, entities]
            return found

        return score

    def _refuse_unseen(self, entities: NDArray[np.int64], graph: Graph) -> None:
        unseen = np.flatnonzero(entities < 0)
        if len(unseen):
            raise InputError(
                f"{self.method} can't answer about entities that it has not seen, and {len(unseen):,} of "
                f"{graph.n_entities:,} in {graph.name!r} are new to it, such as "
                f"{graph.vocabulary.entity_name(int(unseen[0]))!r}. Learn on this graph, or use a method that is "
                "inductive: stablerule learn --list shows them."
            )

    def _tensors(self) -> dict[str, Any] | None:
        return {name: value.detach().cpu().contiguous().numpy() for name, value in self.network_.state_dict().items()}

    def _take_up(self, saved: SavedModel) -> None:
        from safetensors.numpy import load_file  # noqa: PLC0415

        if saved.folder is None:
            raise InputError(f"A model of {self.method} is taken up from its folder, and this one has none.")
        with torch.random.fork_rng(devices=[]):  # its starting values are replaced at once
            self.network_ = self._build(saved.data.entities, saved.data.relations)
        kept = {name: torch.from_numpy(array) for name, array in load_file(saved.folder / NETWORK).items()}
        self.network_.load_state_dict(kept)
        self.network_.to(self.device).eval()

    def _check_options(self) -> None:
        super()._check_options()
        self._at_least(1, "epochs", "batch_size", "patience", "check_every")
        if self.clip is not None and not self.clip > 0:
            raise OptionError(f"Argument 'clip' of {type(self).__name__} must be above 0, or None, got {self.clip}.")
        if not 0 < self.learning_rate < 10:
            name = type(self).__name__
            raise OptionError(f"Argument 'learning_rate' of {name} must be above 0, got {self.learning_rate}.")
        check_device(self.device)


def _same_names(one: Vocabulary, other: Vocabulary) -> bool:
    pairs = (one.entities, other.entities), (one.relations, other.relations)
    return all(a.table.equals(b.table) for a, b in pairs)


def _both_ways(facts: Triples, graph: Graph) -> Tensor:
    """(2n, 3): each fact asked for its tail and, by the inverse, for its head."""
    rows = torch.from_numpy(facts.rows.astype(np.int64))
    inverse = torch.stack([rows[:, 2], rows[:, 1] + graph.n_relations, rows[:, 0]], dim=1)
    return torch.cat([rows, inverse])


def _hold_out(facts: Triples, seed: int) -> tuple[Triples, Triples]:
    """Part some facts from the others, to judge by; a few facts are all learned from, and judge as well."""
    order = np.random.default_rng(seed).permutation(len(facts))
    count = int(len(facts) * HELD_OUT)
    if not count:
        return facts, facts
    return facts.take(np.sort(order[count:])), facts.take(np.sort(order[:count]))


def _translated(
    graph: Graph, entities: NDArray[np.int64], relations: NDArray[np.int64], sizes: tuple[int, int], device: str
) -> Edges:
    """The edges of a graph in the ids of the network; relations that it does not know are left out."""
    edges = Edges.of(graph, device)
    places, ids = torch.from_numpy(entities).to(device), torch.from_numpy(relations).to(device)[edges.relations]
    kept = ids >= 0
    return Edges(places[edges.heads[kept]], ids[kept], places[edges.tails[kept]], *sizes)
