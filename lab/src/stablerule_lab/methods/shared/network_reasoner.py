"""How a learner answers with its network: a torch module that scores all entities."""

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
    """A network that says how well every entity answers a query. `r + R` is the inverse of relation r.

    One that passes messages looks at `edges`; others leave them alone.
    """

    @abstractmethod
    def loss(self, queries: Tensor, edges: Edges) -> Tensor:
        """Return the mean loss of queries with their answers (b, 3); their own facts are still in the edges."""

    @abstractmethod
    def scores(self, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
        """Return (b, E), the higher the better."""


class NetworkReasoner(Reasoner):
    """A learner that answers with a network, and saves its tensors."""

    network_: Scorer
    inductive: ClassVar[bool] = False  # whether it answers about entities that it has not seen

    training: Epochs
    device: str

    def _searcher(self, graph: Graph) -> ScoreSearcher:
        return ScoreSearcher(graph, self._score_on(graph), name=self.method, shown=share_of_each, most=1.0)

    def _score_on(self, graph: Graph) -> Score:
        """Score by the ids of any graph: names that the network knows under other ids are translated."""
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

    def _check_options(self) -> None:
        super()._check_options()
        check_torch_device(self.device)


def score_along(network: Scorer, edges: Edges, device: str) -> Score:
    """Return a function that scores all entities (b, E) for heads and relations (b,), by the ids of the network."""

    def score(heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float32]:
        with torch.no_grad():
            asked = torch.from_numpy(heads).to(device), torch.from_numpy(relations).to(device)
            found: NDArray[np.float32] = network.scores(*asked, edges).float().cpu().numpy()
            return found

    return score


def share_of_each(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Turn raw scores (b, E) into those that people see: the share of each entity under a softmax."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.floating] = raised / raised.sum(axis=1, keepdims=True)
    return shares


def read_tensors(saved: SavedModel) -> Mapping[str, NDArray[Any]]:
    """Read the tensors that stand in the folder of a model."""
    found = saved.read_tensors()
    if found is None:
        raise InputError(f"A model of {saved.method} is loaded from its folder, with {NETWORK_FILE} in it.")
    return found


def load_state(network: Scorer, tensors: Mapping[str, NDArray[Any]], saved: SavedModel, device: str) -> None:
    """Give a network the tensors that were saved, and make it ready to answer."""
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
    """The edges of a graph in the ids of the network; relations that it does not know are left out."""
    edges = Edges.of(graph, device)
    places, ids = torch.from_numpy(entities).to(device), torch.from_numpy(relations).to(device)[edges.relations]
    kept = ids >= 0
    return Edges(places[edges.heads[kept]], ids[kept], places[edges.tails[kept]], *sizes)
