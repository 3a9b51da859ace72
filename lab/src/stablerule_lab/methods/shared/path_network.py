"""Networks that start at a query's head and pass states along edges: a layer, and their training.

A place is a pair of a query and an entity, see `neighbourhoods`. Only reached places have a state; others have 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from torch import nn
from torch.autograd import Function
from torch.nn import functional

from stablerule.errors import OptionError
from stablerule.extending import Learned
from stablerule_lab.methods.shared.epochs import OLD_EPOCHS
from stablerule_lab.methods.shared.flows import extremes, total
from stablerule_lab.methods.shared.neighbourhoods import Neighbourhoods
from stablerule_lab.methods.shared.network_reasoner import Scorer
from stablerule_lab.methods.shared.neural import MOST_HELD_OUT, NeuralReasoner, fit_network

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from stablerule.graph import Dataset, Graph, Triples
    from stablerule_lab.methods.shared.edges import Edges
    from stablerule_lab.methods.shared.neighbourhoods import Passage

Aggregation = Literal["pna", "sum"]
BYTES_AT_ONCE = 1 << 29  # of a layer; queries that do not fit are processed in parts
EDGES_TO_EVALUATE = 25_000_000  # edges of all evaluations, once for each layer
STATISTICS, SCALES = 4, 3
LEAST_SCALE = 0.01


class PathLayer(nn.Module):
    """One layer: messages h * w_q(relation) are aggregated into the next states of their receivers.

    "pna" aggregates mean, largest, smallest and deviation, each also multiplied and divided by log(degree + 1); "sum"
    the sum. A head sends its query vector to itself; other places, and neighbours without a state, send 0.
    """

    def __init__(self, size: int, relations: int, aggregation: Aggregation, dropout: float) -> None:
        super().__init__()
        self.aggregation, self.dropout = aggregation, dropout
        self.relation_weights = nn.Linear(size, 2 * relations * size)
        self.keep = nn.Linear(size, size)
        gathered, outcomes = (STATISTICS * size, SCALES * size) if aggregation == "pna" else (size, size)
        self.take = nn.Linear(gathered, outcomes, bias=False)
        self.norm = nn.LayerNorm(size)

    def forward(
        self, sent: Tensor, old: Tensor, own: Tensor, queries: Tensor, passage: Passage, degrees: Degrees
    ) -> Tensor:
        """Return the new states of T receivers.

        sent: (S, d), states of the senders; old, own: (T, d), states of the receivers and their messages to themselves;
        queries: (b, d) vectors of the queries.
        """
        size = old.shape[1]
        weights = self.relation_weights(queries).view(-1, size)  # (b * 2R, d)
        asked = passage.queries * (len(weights) // len(queries)) + passage.relations
        messages = sent.index_select(0, passage.senders) * weights.index_select(0, asked)  # (Z, d)
        if self.aggregation == "sum":
            taken = self.take(total(messages, passage.flow) + own)
        else:
            by_scale = self.take(_statistics(messages, own, passage, degrees)).view(-1, SCALES, size)
            taken = (by_scale * degrees.scales[:, :, None]).sum(dim=1)
        new = functional.relu(self.norm(self.keep(old) + taken))
        return functional.dropout(new, self.dropout, self.training) + old


class Degrees:
    """The degrees of T receivers.

    counts: (T, 1), messages, including the one to itself; scales: (T, 3), 1, l and 1 / l, where l is log(messages +
    1) divided by its mean over all entities.
    """

    def __init__(self, near: Neighbourhoods, receivers: Tensor) -> None:
        logs = torch.log(near.degrees + 2.0)
        at = receivers % near.n_entities
        scale = (logs / logs.mean())[at]
        self.counts = (near.degrees[at] + 1)[:, None]
        self.scales = torch.stack([torch.ones_like(scale), scale, 1 / scale.clamp_min(LEAST_SCALE)], dim=1)


def _statistics(messages: Tensor, own: Tensor, passage: Passage, degrees: Degrees) -> Tensor:
    """Return mean, largest, smallest and deviation of the messages (T, 4d)."""
    size, flow = messages.shape[1], passage.flow
    sums = total(torch.cat([messages, messages.square()], dim=1), flow)
    mean = (sums[:, :size] + own) / degrees.counts
    square = (sums[:, size:] + own.square()) / degrees.counts
    deviation = (square - mean.square()).clamp_min(1e-6).sqrt()
    largest, smallest = extremes(messages, flow)
    some_silent = flow.arrived[:, None] < (degrees.counts - 1)
    largest = torch.where(some_silent, largest.clamp_min(0), largest).maximum(own)
    smallest = torch.where(some_silent, smallest.clamp_max(0), smallest).minimum(own)
    return torch.cat([mean, largest, smallest, deviation], dim=1)


def rows_at(places: Tensor, some: Tensor, rows: Tensor) -> Tensor:
    """Return the rows (W, d) of some places in the order of all `places`, both sorted; 0 for the others (V, d)."""
    at = torch.searchsorted(places, some)
    there = places[at.clamp(max=max(0, len(places) - 1))] == some if len(places) else torch.zeros_like(some) > 0
    if not bool(there.all()):
        at, rows = at[there], rows[there]
    return rows.new_zeros(len(places), rows.shape[1]).index_copy(0, at, rows)


class PathNetwork(Scorer):
    """A network without a table of entities: scores depend on the paths from the query's head."""

    def __init__(self, size: int, relations: int, negatives: int | None, temperature: float) -> None:
        super().__init__()
        self.size, self.negatives, self.temperature = size, negatives, temperature
        self.queries = nn.Embedding(2 * relations, size)
        self._looked_at: tuple[Edges, Neighbourhoods] | None = None

    @abstractmethod
    def all_scores(self, heads: Tensor, relations: Tensor, near: Neighbourhoods, wanted: Tensor | None) -> Tensor:
        """Return the scores (b, E); with `wanted` places, other scores are arbitrary."""

    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return the scores (b, E)."""
        near = self._near(edges)
        parts = torch.split(torch.stack([heads, relations], dim=1), self._at_once(near))
        return torch.cat([self.all_scores(part[:, 0], part[:, 1], near, None) for part in parts])

    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return the mean loss of queries with answers (b, 3), without their facts in the edges."""
        near = self._near(edges)
        left = near.without(queries)
        return mean_in_parts(lambda part: self._loss(part, near, left), queries, self, self._at_once(near))

    def _loss(self, queries: Tensor, near: Neighbourhoods, left: Neighbourhoods) -> Tensor:
        heads, relations, tails = queries.unbind(1)
        known = near.answers(heads, relations)
        if self.negatives is None:
            rivals = self.all_scores(heads, relations, left, None)
            known[torch.arange(len(tails), device=tails.device), tails] = False
            return functional.cross_entropy(rivals.masked_fill(known, -math.inf), tails)
        drawn = torch.randint(near.n_entities, (len(queries), self.negatives), device=tails.device)
        listed = torch.cat([tails[:, None], drawn], dim=1)  # (b, 1 + n)
        first = torch.arange(len(queries), device=tails.device)[:, None] * near.n_entities
        scores = self.all_scores(heads, relations, left, (first + listed).view(-1)).gather(1, listed)
        return adversarial_loss(scores[:, 0], scores[:, 1:], ~known.gather(1, drawn), self.temperature)

    def _near(self, edges: Edges) -> Neighbourhoods:
        if self._looked_at is None or self._looked_at[0] is not edges:
            self._looked_at = edges, Neighbourhoods.of(edges)
        return self._looked_at[1]

    def _at_once(self, near: Neighbourhoods) -> int:
        """Return how many queries fit into memory if each reaches the whole graph."""
        numbers = 6 * len(near.bundle_relations) + 16 * near.n_entities
        return max(1, BYTES_AT_ONCE // (4 * self.size * numbers + 48 * len(near.tails) + 1))


def adversarial_loss(right: Tensor, wrong: Tensor, is_wrong: Tensor, temperature: float) -> Tensor:
    """Return the mean binary cross-entropy of correct answers (b,) and wrong ones (b, n), weighted by hardness.

    The weight of a wrong answer is its softmax at `temperature`; sampled correct answers have weight 0.
    """
    weights = (wrong.detach() / temperature).masked_fill(~is_wrong, -math.inf).softmax(dim=1).nan_to_num()
    return (functional.softplus(-right) + (weights * functional.softplus(wrong)).sum(dim=1)).mean() / 2


def mean_in_parts(loss_of: Callable[[Tensor], Tensor], rows: Tensor, network: nn.Module, at_once: int) -> Tensor:
    """Return the mean loss of all rows, with the memory of `at_once` rows.

    The gradients of each part are computed before the next part, and returned in the backward pass.
    """
    if len(rows) <= at_once or not torch.is_grad_enabled():
        return loss_of(rows)
    parameters = [p for p in network.parameters() if p.requires_grad]
    gradients = [torch.zeros_like(p) for p in parameters]
    value = rows.new_zeros((), dtype=parameters[0].dtype)
    for part in torch.split(rows, at_once):
        loss = loss_of(part) * (len(part) / len(rows))
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        gradients = [
            kept if gradient is None else kept + gradient for kept, gradient in zip(gradients, found, strict=True)
        ]
        value += loss.detach()
    result: Tensor = _Known.apply(value, gradients, *parameters)  # type: ignore[no-untyped-call]
    return result


class _Known(Function):
    """A value with precomputed gradients."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, gradients: list[Tensor], *parameters: Tensor) -> Tensor:
        ctx.gradients = gradients
        return value.clone()

    @staticmethod
    def backward(ctx: Any, by_value: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(gradient * by_value for gradient in ctx.gradients)


class PathReasoner(NeuralReasoner):
    """A learner with a path network; subclasses declare the options below."""

    old_names: ClassVar[dict[str, str]] = OLD_EPOCHS
    inductive: ClassVar[bool] = True

    size: int
    layers: int
    aggregation: Aggregation
    negatives: int | None
    temperature: float
    dropout: float

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
        # Answering is slow, so few facts evaluate, and fewer on large graphs.
        most = max(50, min(MOST_HELD_OUT, lesson.graph.n_facts // 10, EDGES_TO_EVALUATE // lesson.graph.n_facts))
        self.network_, course = fit_network(lesson, self, most_held_out=most)
        return self._end(lesson, Learned(course=course))

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "size", "layers", "negatives")
        name = type(self).__name__
        if not 0 <= self.dropout < 1:
            raise OptionError(f"Argument 'dropout' of {name} must be from 0 to below 1, got {self.dropout}.")
        if not self.temperature > 0:
            raise OptionError(f"Argument 'temperature' of {name} must be above 0, got {self.temperature}.")
