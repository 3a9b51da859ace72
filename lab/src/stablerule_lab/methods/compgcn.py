"""CompGCN: embeddings of entities and relations after a graph convolution, scored like other embeddings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import torch
from torch import nn
from torch.nn import functional

from stablerule.errors import OptionError
from stablerule_lab.methods.shared.epochs import OLD_EPOCHS, Epochs
from stablerule_lab.methods.shared.flows import Flow, total
from stablerule_lab.methods.shared.neighbourhoods import Neighbourhoods
from stablerule_lab.methods.shared.network_reasoner import Scorer
from stablerule_lab.methods.shared.neural import NeuralReasoner

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule_lab.methods.shared.edges import Edges

Composition = Literal["subtract", "multiply", "correlate"]
Decoder = Literal["distmult", "conve"]
TRAINING = Epochs(200, batch_size=256, learning_rate=0.001, check_every=5)


def compose(entities: Tensor, relations: Tensor, how: Composition) -> Tensor:
    """Return the messages (n, d) of entities and relations, both (n, d).

    "correlate": the circular correlation, c_k = sum over i of entity_i * relation_{i + k mod d}.
    """
    if how == "subtract":
        return entities - relations
    if how == "multiply":
        return entities * relations
    product = torch.fft.rfft(entities).conj() * torch.fft.rfft(relations)
    correlated: Tensor = torch.fft.irfft(product, n=entities.shape[-1])
    return correlated


class Messages:
    """The edges of a graph, prepared for messages.

    Edges with the same head and relation have the same message, so there is one for each such bundle (Z,). Each entity
    receives two sums: over the facts where it is the head (their inverses arrive), then over those where it is the
    tail. That makes 2E receivers. The outgoing edges are already in this order, so nothing is sorted.
    """

    def __init__(self, near: Neighbourhoods) -> None:
        n, begins = near.n_entities, near.bundle_offsets[:-1]
        self.heads, self.relations = torch.repeat_interleave(near.bundle_offsets.diff()), near.bundle_relations  # (Z,)
        is_fact = self.relations < near.n_relations
        # Among the outgoing edges of an entity, facts come before inverses.
        middle = near.edge_offsets[begins + torch.bincount(self.heads[is_fact], minlength=n)]  # (E,)
        offsets = torch.cat([torch.stack([near.offsets[:-1], middle], dim=1).view(-1), near.offsets[-1:]])
        receivers = 2 * near.tails + is_fact.repeat_interleave(near.edge_offsets.diff())
        self.flow = Flow(offsets, near.sent_by, near.edge_offsets, receivers)
        # Each edge has weight 1 / sqrt(out-degree * in-degree), as in graph convolutions, for facts and inverses apart;
        # as many facts leave an entity as inverses arrive.
        self.heard = self.flow.arrived.clamp(min=1).rsqrt()[:, None]  # (2E, 1)
        self.sent = self.heard[2 * self.heads + ~is_fact]  # (Z, 1)


class CompGCNLayer(nn.Module):
    """One layer: messages of facts, of inverses and of the entity itself, each with its own matrix."""

    def __init__(self, size: int, composition: Composition, dropout: float) -> None:
        super().__init__()
        self.composition, self.dropout = composition, dropout
        self.along, self.back, self.self_loop = (nn.Linear(size, size, bias=False) for _ in range(3))
        self.loop = nn.Parameter(torch.randn(1, size) / size**0.5)
        self.relation = nn.Linear(size, size, bias=False)
        self.norm = nn.BatchNorm1d(size)

    def forward(self, entities: Tensor, relations: Tensor, messages: Messages) -> tuple[Tensor, Tensor]:
        """Return the next tables of entities (E, d) and relations (2R, d)."""
        heads, types = entities.index_select(0, messages.heads), relations.index_select(0, messages.relations)
        said = compose(heads, types, self.composition) * messages.sent  # (Z, d)
        heard = total(said, messages.flow) * messages.heard  # (2E, d)
        inverses, facts = heard.view(len(entities), 2, -1).unbind(1)  # (E, d) each
        own = compose(entities, self.loop.expand_as(entities), self.composition)
        mixed = (
            functional.dropout(self.along(facts), self.dropout, self.training)
            + functional.dropout(self.back(inverses), self.dropout, self.training)
            + self.self_loop(own)
        ) / 3
        return torch.tanh(self.norm(mixed) if len(mixed) > 1 else mixed), self.relation(relations)


class Convolution(nn.Module):
    """ConvE: head and relation as a picture, 3 x 3 filters, and back to a vector."""

    def __init__(self, size: int, height: int, filters: int, dropout: float) -> None:
        super().__init__()
        self.height, self.width = height, size // height
        self.dropout = dropout
        self.before, self.between, self.after = nn.BatchNorm2d(1), nn.BatchNorm2d(filters), nn.LayerNorm(size)
        self.filter = nn.Conv2d(1, filters, 3, padding=1, bias=False)
        self.flat = nn.Linear(filters * 2 * size, size)

    def forward(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return (b, d) from heads and relations, both (b, d)."""
        picture = torch.cat([heads, relations], dim=1).view(-1, 1, 2 * self.height, self.width)
        found = functional.relu(self.between(self.filter(self.before(picture))))
        found = functional.dropout(found, self.dropout, self.training)
        row = functional.dropout(self.flat(found.flatten(1)), self.dropout, self.training)
        return functional.relu(self.after(row))


class CompGCNNetwork(Scorer):
    """Tables of entities and relations, convolution layers, and scores of (head, relation) for all entities."""

    def __init__(
        self,
        entities: int,
        relations: int,
        *,
        size: int,
        layers: int,
        composition: Composition,
        decoder: Decoder,
        loss: Literal["softmax", "bce"],
        spare_known: bool,
        dropout: float,
        hide_asked: bool,
    ) -> None:
        super().__init__()
        self.entities = nn.Parameter(torch.randn(entities, size) / size**0.5)
        self.relations = nn.Parameter(torch.randn(2 * relations, size) / size**0.5)
        self.layers = nn.ModuleList(CompGCNLayer(size, composition, dropout) for _ in range(layers))
        self.convolution = Convolution(size, _height(size), 32, dropout) if decoder == "conve" else None
        self.bias = nn.Parameter(torch.zeros(entities))
        self.loss_kind, self.spare_known, self.dropout, self.hide_asked = loss, spare_known, dropout, hide_asked
        self._looked_at: tuple[Edges, Messages] | None = None
        self._near: tuple[Edges, Neighbourhoods] | None = None
        self._encoded: tuple[Edges, Tensor, Tensor] | None = None  # cached outside of training

    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return the scores (b, E)."""
        if self.training or torch.is_grad_enabled():
            return self._compared(heads, relations, *self._encode(self._messages(edges)))
        if self._encoded is None or self._encoded[0] is not edges:
            self._encoded = edges, *self._encode(self._messages(edges))
        return self._compared(heads, relations, *self._encoded[1:])

    def train(self, mode: bool = True) -> Self:
        """Switch training mode and drop cached tables; `eval` calls this, too."""
        self._encoded = None
        return super().train(mode)

    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return the mean loss of queries with answers (b, 3)."""
        heads, relations, tails = queries.unbind(1)
        messages = Messages(self._known(edges).without(queries)) if self.hide_asked else self._messages(edges)
        scores = self._compared(heads, relations, *self._encode(messages))
        if self.loss_kind == "softmax" and not self.spare_known:
            return functional.cross_entropy(scores, tails)
        known = self._known(edges).answers(heads, relations)  # (b, E)
        if self.loss_kind == "bce":
            return functional.binary_cross_entropy_with_logits(scores, known.to(scores))
        known[torch.arange(len(tails), device=tails.device), tails] = False
        return functional.cross_entropy(scores.masked_fill(known, -math.inf), tails)

    def _known(self, edges: Edges) -> Neighbourhoods:
        if self._near is None or self._near[0] is not edges:
            self._near = edges, Neighbourhoods.of(edges)
        return self._near[1]

    def _messages(self, edges: Edges) -> Messages:
        if self._looked_at is None or self._looked_at[0] is not edges:
            self._looked_at = edges, Messages(self._known(edges))
        return self._looked_at[1]

    def _encode(self, messages: Messages) -> tuple[Tensor, Tensor]:
        """Return the tables after all layers: (E, d), (2R, d)."""
        entities: Tensor = self.entities
        relations: Tensor = self.relations
        for layer in self.layers:
            entities, relations = layer(entities, relations, messages)
            entities = functional.dropout(entities, self.dropout, self.training)
        return entities, relations

    def _compared(self, heads: Tensor, relations: Tensor, entities: Tensor, types: Tensor) -> Tensor:
        h, r = entities.index_select(0, heads), types.index_select(0, relations)  # (b, d)
        place = h * r if self.convolution is None else self.convolution(h, r)
        return functional.dropout(place, self.dropout, self.training) @ entities.T + self.bias


def _height(size: int) -> int:
    """Return the height of the picture that is nearest to a square."""
    return max(side for side in range(1, int(size**0.5) + 1) if size % side == 0)


class CompGCN(NeuralReasoner):
    """CompGCN (Vashishth et al., 2020): embeddings of entities and relations after a graph convolution.

    Each entity receives messages composed of a neighbour and the relation to it (`composition`). Incoming facts,
    outgoing facts and the entity itself have a matrix each; relations have one, too. DistMult or ConvE scores the
    result. The whole graph is encoded for every batch.

    loss: "softmax" is the cross-entropy among all entities, where `spare_known` excludes other known answers; "bce"
    trains on all known answers at once, as published. hide_asked: remove the facts of a batch from the graph, so that
    no message reveals an answer; the authors do not. training: see `Epochs`.

    Differences from the publication: the default loss, since a softmax trains better and faster on small graphs; and
    layer instead of batch normalisation after the filters of ConvE, so that a batch may be a single query.

    >>> from stablerule import households
    >>> dataset = households(families=2, seed=0).dataset
    >>> learner = CompGCN.with_options({"size": 8, "training.epochs": 3})
    >>> model = learner.fit(dataset.graph, dataset.valid, minutes=0.05)
    >>> len(next(model.answer([(dataset.graph.vocabulary.entity_name(0), "child_of")], k=3)))
    3
    """

    method: ClassVar[str] = "compgcn"
    old_names: ClassVar[dict[str, str]] = OLD_EPOCHS

    def __init__(
        self,
        *,
        size: int = 100,
        layers: int = 1,
        composition: Composition = "multiply",
        decoder: Decoder = "distmult",
        loss: Literal["softmax", "bce"] = "softmax",
        spare_known: bool = False,
        dropout: float = 0.3,
        hide_asked: bool = True,
        training: Epochs = TRAINING,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.size = size
        self.layers = layers
        self.composition = composition
        self.decoder = decoder
        self.loss = loss
        self.spare_known = spare_known
        self.dropout = dropout
        self.hide_asked = hide_asked
        self.training = training
        self.device = device
        self.seed = seed

    def build(self, entities: int, relations: int) -> CompGCNNetwork:
        """Return the network."""
        return CompGCNNetwork(
            entities,
            relations,
            size=self.size,
            layers=self.layers,
            composition=self.composition,
            decoder=self.decoder,
            loss=self.loss,
            spare_known=self.spare_known,
            dropout=self.dropout,
            hide_asked=self.hide_asked,
        )

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "size", "layers")
        if not 0 <= self.dropout < 1:
            raise OptionError(f"Argument 'dropout' of CompGCN must be from 0 to below 1, got {self.dropout}.")
