"""Learners that answer with a network: a torch module that scores all entities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from stablerule.errors import InputError
from stablerule.extending import NETWORK_FILE, Reasoner, ScoreSearcher
from stablerule_lab.inside.network import check_torch_device
from stablerule_lab.methods.shared.edges import Edges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ClassVar

    from numpy.typing import NDArray
    from torch import Tensor

    from stablerule.extending import SavedModel
    from stablerule.graph import Graph, Vocabulary
    from stablerule_lab.methods.shared.epochs import Epochs

    Score: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]


class Scorer(torch.nn.Module, ABC):
    """A network that scores all entities for a query. `r + R` is the inverse of relation r.

    Networks that pass messages use `edges`; others ignore them.
    """

    @abstractmethod
    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return the mean loss of queries with answers (b, 3); their facts are still in the edges."""

    @abstractmethod
    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return the scores (b, E); higher is better."""


class NetworkReasoner(Reasoner):
    """A learner that answers with a network, and saves its tensors."""

    network_: Scorer
    inductive: ClassVar[bool] = False  # whether it answers about unseen entities

    training: Epochs
    device: str

    def _searcher(self, graph: Graph) -> ScoreSearcher:
        return ScoreSearcher(graph, self._score_on(graph), name=self.method, shown=share_of_each, most=1.0)

    def _score_on(self, graph: Graph) -> Score:
        """Return a score function for the ids of any graph; the network's ids are translated by name."""
        network, words = self.network_, graph.vocabulary
        own = self.vocabulary_
        if words is own or _same_names(words, own):
            return score_along(network, Edges.of(graph, self.device), self.device)
        relations = own.relations.ids_of(words.relations.table).astype(np.int64)
        both = np.concatenate([relations, np.where(relations < 0, -1, relations + len(own.relations))])
        entities, count = np.arange(graph.n_entities), graph.n_entities
        if not self.inductive:
            entities, count = own.entities.ids_of(words.entities.table).astype(np.int64), len(own.entities)
            self._refuse_unseen(entities, graph)
        edges = _translated(graph, entities, both, (count, len(own.relations)), self.device)
        inner = score_along(network, edges, self.device)

        def score(heads: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.float32]:
            found = np.zeros((len(heads), graph.n_entities), np.float32)
            known = both[asked] >= 0  # an unseen relation has no scores
            if known.any():
                found[known] = inner(entities[heads[known]], both[asked[known]])[:, entities]
            return found

        return score

    def _refuse_unseen(self, entities: NDArray[np.int64], graph: Graph) -> None:
        unseen = np.flatnonzero(entities < 0)
        if len(unseen):
            raise InputError(
                f"{self.method} can't answer about unseen entities: {len(unseen):,} of {graph.n_entities:,} in "
                f"{graph.name!r} were not in training, such as {graph.vocabulary.entity_name(int(unseen[0]))!r}. "
                "Train on this graph, or choose a method with unseen entities: stablerule learn --list."
            )

    def _tensors(self) -> dict[str, Any] | None:
        return {name: value.detach().cpu().contiguous().numpy() for name, value in self.network_.state_dict().items()}

    def _check_options(self) -> None:
        super()._check_options()
        check_torch_device(self.device)


def score_along(network: Scorer, edges: Edges, device: str) -> Score:
    """Return a function of heads and relations (b,) that scores all entities (b, E), by the network's ids."""

    def score(heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float32]:
        with torch.no_grad():
            asked = torch.from_numpy(heads).to(device), torch.from_numpy(relations).to(device)
            found: NDArray[np.float32] = network.scores(*asked, edges).float().cpu().numpy()
            return found

    return score


def share_of_each(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the softmax of raw scores (b, E), the scores that users see."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.floating] = raised / raised.sum(axis=1, keepdims=True)
    return shares


def read_tensors(saved: SavedModel) -> Mapping[str, NDArray[Any]]:
    """Return the tensors of a model folder."""
    found = saved.read_tensors()
    if found is None:
        raise InputError(
            f"The model folder of {saved.method} has no {NETWORK_FILE}. Load the folder that `save` wrote."
        )
    return found


def load_state(network: Scorer, tensors: Mapping[str, NDArray[Any]], saved: SavedModel, device: str) -> None:
    """Load saved tensors into a network, and switch it to evaluation."""
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    saved.check_tensors(tensors, wanted)
    network.load_state_dict({name: torch.tensor(tensors[name]) for name in wanted})
    network.to(device).eval()


def _same_names(one: Vocabulary, other: Vocabulary) -> bool:
    pairs = (one.entities, other.entities), (one.relations, other.relations)
    return all(a.table.equals(b.table) for a, b in pairs)


def _translated(
    graph: Graph, entities: NDArray[np.int64], relations: NDArray[np.int64], sizes: tuple[int, int], device: str
) -> Edges:
    """Return the edges of a graph with the network's ids, without unknown relations."""
    edges = Edges.of(graph, device)
    places, ids = torch.from_numpy(entities).to(device), torch.from_numpy(relations).to(device)[edges.relations]
    kept = ids >= 0
    return Edges(places[edges.heads[kept]], ids[kept], places[edges.tails[kept]], *sizes)
