"""Embeddings: a row for each entity and relation, a score, and a loss over competing candidates."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, embedding, logsigmoid
from torch.utils.checkpoint import checkpoint

from stablerule_lab.inside.embedding import measure_moduli
from stablerule_lab.methods.shared.epochs import OLD_EPOCHS
from stablerule_lab.methods.shared.network_reasoner import Scorer
from stablerule_lab.methods.shared.neural import NeuralReasoner

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule_lab.methods.shared.edges import Edges

NUMBERS_AT_ONCE = 1 << 22  # in a block of differences: 16 MB


@dataclass(frozen=True)
class Objective:
    """The training loss.

    negatives: sampled for each batch and shared by its queries, so that one product gives all scores; None, or a number
        of at least all entities, uses every entity.
    kind: "softmax" is the cross-entropy of the answer among the negatives; "margin" separates correct and wrong scores
        at -margin by log-sigmoids, and weights each negative by its softmax at `temperature`.
    n3: weight of the cubes of the moduli of the used rows; for products.
    dropout: on the product of head and relation; for products.
    """

    negatives: int | None = None
    kind: Literal["softmax", "margin"] = "softmax"
    margin: float = 0.0
    temperature: float = 1.0
    n3: float = 0.0
    dropout: float = 0.0


class Embeddings(Scorer):
    """A table of entities (E, w) and one of relations (2R, v); inverse relations have their own rows.

    A score has two steps: `place` computes where the answer should be, `compare` how close entities are.
    """

    def __init__(self, entities: Tensor, relations: Tensor, objective: Objective) -> None:
        super().__init__()
        self.entities = nn.Parameter(entities)
        self.relations = nn.Parameter(relations)
        self.objective = objective

    @abstractmethod
    def place(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return where the answers of heads (b, w) and relations (b, v) should be (b, w)."""

    @abstractmethod
    def compare(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores (b, n) of tails (n, w), without a table of b x n x w numbers."""

    @abstractmethod
    def compare_each(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the score (b,) of one tail (b, w) for each place."""

    def moduli(self, rows: Tensor) -> Tensor:
        """Return the moduli of the numbers in some rows."""
        return rows.abs()

    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return the scores (b, E); edges are not used."""
        return self.compare(self.place(self.entities[heads], self.relations[relations]), self.entities)

    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return the mean loss of queries with answers (b, 3)."""
        heads, relations, tails = queries.unbind(1)
        told = self.objective
        h, r = embedding(heads, self.entities), embedding(relations, self.relations)  # (b, w), (b, v)
        places = dropout(self.place(h, r), told.dropout, self.training)
        t = embedding(tails, self.entities)
        if self._drawn is None and told.kind == "softmax":
            loss = cross_entropy(self.compare(places, self.entities), tails)
        else:
            right, wrong = self.compare_each(places, t), self._rival_scores(places, tails)  # (b,), (b, n)
            loss = softmax_loss(right, wrong) if told.kind == "softmax" else margin_loss(right, wrong, told)
        if told.n3:
            loss = loss + told.n3 * sum(self.moduli(rows).pow(3).sum() for rows in (h, r, t)) / len(queries)
        return loss

    @property
    def _drawn(self) -> int | None:
        most = self.objective.negatives
        return None if most is None or most >= len(self.entities) else most

    def _rival_scores(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores of the negatives (b, n); -inf if the answer itself was sampled."""
        n, drawn = len(self.entities), self._drawn
        rivals = torch.arange(n) if drawn is None else torch.randint(n, (drawn,))
        rivals = rivals.to(tails.device)
        rows = self.entities if drawn is None else embedding(rivals, self.entities)
        return self.compare(places, rows).masked_fill(rivals == tails[:, None], -math.inf)


def softmax_loss(right: Tensor, wrong: Tensor) -> Tensor:
    """Return the mean cross-entropy of correct answers (b,) among wrong ones (b, n)."""
    return (torch.cat([right[:, None], wrong], dim=1).logsumexp(dim=1) - right).mean()


def margin_loss(right: Tensor, wrong: Tensor, told: Objective) -> Tensor:
    """Return the mean margin loss of correct answers (b,) and wrong ones (b, n), which are weighted by hardness."""
    drawn = wrong > -math.inf
    weights = torch.where(drawn, wrong.detach() * told.temperature, -math.inf).softmax(dim=1).nan_to_num()
    low = logsigmoid(-told.margin - wrong.masked_fill(~drawn, 0.0))
    return -(logsigmoid(told.margin + right) + (weights * low).sum(dim=1)).mean() / 2


class Products(Embeddings):
    """A score that is a product: one matrix product for all tails."""

    def compare(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores (b, n)."""
        return places @ tails.T

    def compare_each(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores (b,)."""
        return (places * tails).sum(dim=1)


class Distances(Embeddings):
    """A score that is a negative distance, with norm 1 or 2."""

    def __init__(self, entities: Tensor, relations: Tensor, objective: Objective, norm: int) -> None:
        super().__init__(entities, relations, objective)
        self.norm = norm

    def compare(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores (b, n)."""
        return -torch.cdist(places, tails, p=self.norm)

    def compare_each(self, places: Tensor, tails: Tensor) -> Tensor:
        """Return the scores (b,)."""
        lengths: Tensor = torch.linalg.vector_norm(self.moduli(places - tails), ord=self.norm, dim=1)
        return -lengths


def sums_of_moduli(places: Tensor, tails: Tensor) -> Tensor:
    """Return the sums of |place - tail| over complex numbers (b, n), in blocks of tails."""
    step = max(1, NUMBERS_AT_ONCE // max(1, places.numel()))
    parts = [tails[begin : begin + step] for begin in range(0, len(tails), step)]
    if not torch.is_grad_enabled() or len(parts) == 1:
        return torch.cat([_block_of_moduli(places, part) for part in parts], dim=1)
    # Recompute the intermediate values of a block for its gradient, instead of storing them.
    return torch.cat([checkpoint(_block_of_moduli, places, part, use_reentrant=False) for part in parts], dim=1)


def _block_of_moduli(places: Tensor, tails: Tensor) -> Tensor:
    return measure_moduli(places[:, None] - tails).sum(dim=2)


class EmbeddingReasoner(NeuralReasoner):
    """A learner of embeddings; subclasses declare the options below."""

    old_names: ClassVar[dict[str, str]] = OLD_EPOCHS

    size: int
    deviation: float
    negatives: int | None

    def _table(self, rows: int, width: int) -> Tensor:
        return torch.randn(rows, width) * self.deviation

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "size", "negatives")
        self._check_at_least(0, "deviation")
