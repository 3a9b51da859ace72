"""A*Net: NBFNet that follows only the most promising entities of a query, like A* search."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn

from stablerule.errors import OptionError
from stablerule_lab.methods.shared.epochs import Epochs
from stablerule_lab.methods.shared.path_network import (
    Aggregation,
    Degrees,
    PathLayer,
    PathNetwork,
    PathReasoner,
    rows_at,
)

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule_lab.methods.shared.neighbourhoods import Neighbourhoods

TRAINING = Epochs(20, batch_size=32, learning_rate=0.005)


class AStarNetwork(PathNetwork):
    """NBFNet's layers on a part of the graph, which each query chooses in each layer by a learned priority.

    A place is a pair (query, entity). The priority of a place with state h is s = MLP(h * Linear[h; q]), the same for
    all layers. It chooses where the search continues, scales the messages, sigmoid(s) * h, and is the final score.
    """

    def __init__(
        self,
        size: int,
        layers: int,
        relations: int,
        aggregation: Aggregation,
        dropout: float,
        share: float,
        least: int,
        edge_share: float,
        negatives: int | None,
        temperature: float,
    ) -> None:
        super().__init__(size, relations, negatives, temperature)
        self.share, self.least, self.edge_share = share, least, edge_share
        self.layers = nn.ModuleList(PathLayer(size, relations, aggregation, dropout) for _ in range(layers))
        self.guess = nn.Linear(2 * size, size)
        self.rate = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, 1))

    def priority(self, h: Tensor, q: Tensor) -> Tensor:
        """Return the priorities (V,) of states and the vectors of their queries, both (V, d)."""
        rated: Tensor = self.rate(h * self.guess(torch.cat([h, q], dim=1)))[:, 0]
        return rated

    def all_scores(self, heads: Tensor, relations: Tensor, near: Neighbourhoods, wanted: Tensor | None) -> Tensor:
        """Return the scores (b, E); the search does not depend on the wanted places."""
        b, n = len(heads), near.n_entities
        q = self.queries(relations)  # (b, d)
        starts = torch.arange(b, device=heads.device) * n + heads
        places, h, s = starts, q, self.priority(q, q)  # (V,), (V, d), (V,): all visited places
        elsewhere = self.priority(torch.zeros_like(q), q)  # (b,)
        for layer in self.layers:
            table = elsewhere.detach()[:, None].repeat(1, n).view(-1).index_copy(0, places, s.detach())  # (b * E,)
            chosen = self._best_senders(places, s.detach(), near)
            senders = places[chosen]
            receivers = self._best_receivers(senders, table, near, b)
            if wanted is not None and layer is self.layers[-1]:  # the others are not needed any more
                receivers = receivers[torch.isin(receivers, wanted)]
            sent = torch.sigmoid(s.index_select(0, chosen))[:, None] * h.index_select(0, chosen)
            old, own = rows_at(receivers, places, h), rows_at(receivers, starts, q)
            passage, degrees = near.passage(senders, receivers, b), Degrees(near, receivers)
            new = layer(sent, old, own, q, passage, degrees)
            everyone = torch.unique(torch.cat([places, receivers]))
            at = torch.searchsorted(everyone, receivers)
            h = rows_at(everyone, places, h).index_copy(0, at, new)
            rated = self.priority(new, q.index_select(0, receivers // n))
            s = rows_at(everyone, places, s[:, None])[:, 0].index_copy(0, at, rated)
            places = everyone
        return elsewhere[:, None].repeat(1, n).view(-1).index_copy(0, places, s).view(b, n)

    def _best_senders(self, places: Tensor, priority: Tensor, near: Neighbourhoods) -> Tensor:
        """Return the indices of the sending places: the best visited ones of each query."""
        most = max(self.least, round(self.share * near.n_entities))
        order, query = _by_query(places // near.n_entities, priority)
        return order[_running(torch.ones_like(query), query) <= most].sort().values

    def _best_receivers(self, senders: Tensor, priority: Tensor, near: Neighbourhoods, n_queries: int) -> Tensor:
        """Return the receiving places: the best neighbours of the senders, until they have enough edges.

        An edge has the priority of its receiver, so the best edges lead to the best places. Unvisited places have equal
        priorities and come in order of their numbers.
        """
        n = near.n_entities
        most = self.edge_share * len(near.tails) / n * max(self.least, round(self.share * n))
        edges = torch.bincount(near.neighbours(senders), minlength=n_queries * n)  # to each place
        places = edges.nonzero()[:, 0]
        if int(edges.view(n_queries, n).sum(dim=1).max()) <= most:
            return places
        order, query = _by_query(places // n, priority[places])
        before = _running(edges[places][order], query) - edges[places][order]
        return places[order[before < most]].sort().values


def _by_query(queries: Tensor, priority: Tensor) -> tuple[Tensor, Tensor]:
    """Return an order by query, best first, and the queries in this order."""
    order = torch.argsort(priority, descending=True, stable=True)
    order = order[torch.argsort(queries[order], stable=True)]
    return order, queries[order]


def _running(counts: Tensor, groups: Tensor) -> Tensor:
    """Return cumulative sums within each group; groups (n,) are sorted.

    >>> _running(torch.tensor([1, 2, 5, 1]), torch.tensor([0, 0, 1, 1]))
    tensor([1, 3, 5, 6])
    """
    sums = counts.cumsum(0)
    first = torch.searchsorted(groups, groups)  # start of its group
    return sums - (sums - counts)[first]


class AStarNet(PathReasoner):
    """A*Net (Zhu et al., 2023): NBFNet, where each query uses the most promising part of the graph.

    In each layer the visited entities with the best priority send, and their neighbours with the best priority receive.
    The priority is trained with the rest, since it scales the messages and is the final score.

    share: the share of entities that send, but at least `least` of them; edge_share: the number of edges, as a multiple
    of what that many entities have on average. The other options are those of `NBFNet`.

    Differences from the publication: neighbours that do not send count as zeros, so degrees are those of the whole
    graph; and all unvisited entities have the same score.

    >>> from stablerule import households
    >>> dataset = households(families=2, seed=0).dataset
    >>> learner = AStarNet.with_options({"size": 8, "layers": 2, "training.epochs": 1})
    >>> model = learner.fit(dataset.graph, dataset.valid, minutes=0.02)
    >>> len(next(model.answer([(dataset.graph.vocabulary.entity_name(0), "child_of")], k=3)))
    3
    """

    method: ClassVar[str] = "astarnet"

    def __init__(
        self,
        *,
        size: int = 32,
        layers: int = 6,
        aggregation: Aggregation = "pna",
        share: float = 0.1,
        least: int = 50,
        edge_share: float = 1.0,
        negatives: int | None = 32,
        temperature: float = 0.5,
        dropout: float = 0.0,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.size = size
        self.layers = layers
        self.aggregation = aggregation
        self.share = share
        self.least = least
        self.edge_share = edge_share
        self.negatives = negatives
        self.temperature = temperature
        self.dropout = dropout
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> AStarNetwork:
        """Return the network."""
        return AStarNetwork(
            self.size,
            self.layers,
            relations,
            self.aggregation,
            self.dropout,
            self.share,
            self.least,
            self.edge_share,
            self.negatives,
            self.temperature,
        )

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "least")
        for option in ("share", "edge_share"):
            if not getattr(self, option) > 0:
                raise OptionError(f"Argument {option!r} of AStarNet must be above 0, got {getattr(self, option)}.")
