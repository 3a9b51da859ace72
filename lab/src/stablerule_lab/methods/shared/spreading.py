"""Mass that spreads from a head along weighted relations, the computation of differentiable rule learners.

    u_0 = one-hot(head)
    v_t = sum over s <= t of memory[t, s] u_s
    u_{t+1} = z / |z|,  z = sum over relations r of operators[t, r] M_r v_t + operators[t, 2R] v_t
    p = sum over s <= L of memory[L, s] u_s,  the mean over chains

The matrices M_r are never built: mass moves along the edges of entities that have some. The loss of one answer does
not need the whole last step: its value at the answer is computed backwards, and its sum by counting edges.
"""

from __future__ import annotations

from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stablerule.extending import count_cores, run_in_threads
from stablerule_lab.methods.shared.spreading_kernels import (
    LEAST,
    Attention,
    Room,
    Steps,
    learn_groups,
    new_room,
    score_queries,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from stablerule_lab.methods.shared.edges import Edges

MUCH = 300_000  # edges from which threads pay off

__all__ = ["LEAST", "Spreading"]


class Spreading:
    """The edges of a graph, prepared for spreading mass.

    operators: (G, C, L, 2R + 1), for G query relations and C chains, the weights of relations and of staying. memory:
    (G, C, L + 1, L + 1), the weights of earlier values at each step; the last row makes the answer.
    """

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self.steps = _steps(edges)
        degrees = np.bincount(_numpy(edges.heads), minlength=edges.n_entities).astype(np.float64)
        self._work = float((degrees**2).sum()) / max(1, len(degrees))  # mean edges two steps away
        self._rooms: dict[tuple[int, int], SimpleQueue[Room]] = {}

    def loss(self, operators: Tensor, memory: Tensor, groups: Tensor, queries: Tensor) -> Tensor:
        """Return the mean of -log p of the answers of queries (n, 3); groups (n,): the weights of each query.

        The fact of a query and its inverse are hidden.
        """
        loss: Tensor = _Loss.apply(operators, memory, groups, queries, self)  # type: ignore[no-untyped-call]
        return loss

    def scores(self, operators: Tensor, memory: Tensor, groups: Tensor, heads: Tensor) -> NDArray[np.float64]:
        """Return p of all entities (n, E)."""
        attention, found = _attention(operators, memory), np.zeros((len(heads), self.steps.n_entities))
        starts, asked_with = _numpy(heads), _numpy(groups)

        def part(bounds: tuple[int, int], room: Room) -> None:
            rows = slice(*bounds)
            score_queries(self.steps, attention, asked_with[rows], starts[rows], room, found[rows])

        self._in_parts(len(heads), self._work * len(heads), attention, part)
        return found

    def loss_and_gradients(
        self, attention: Attention, groups: NDArray[np.int64], queries: NDArray[np.int64]
    ) -> tuple[float, Attention]:
        """Return the loss and gradients of queries sorted by group; one thread a group makes it reproducible."""
        gradients = Attention(np.zeros_like(attention.operators), np.zeros_like(attention.memory))
        losses, starts = np.empty(len(queries)), np.searchsorted(groups, np.arange(len(attention.operators) + 1))

        def part(bounds: tuple[int, int], room: Room) -> None:
            learn_groups(self.steps, attention, bounds, starts, queries, room, losses, gradients)

        self._in_parts(len(starts) - 1, self._work * len(queries), attention, part)
        return float(losses.mean()), gradients

    def _in_parts(
        self, count: int, work: float, attention: Attention, part: Callable[[tuple[int, int], Room], None]
    ) -> None:
        chains, length = attention.operators.shape[1:3]
        rooms = self._rooms.setdefault((chains, length), SimpleQueue())

        def in_room(bounds: tuple[int, int]) -> None:
            try:
                room = rooms.get_nowait()
            except Empty:
                room = new_room(chains, length, self.steps.n_entities)
            part(bounds, room)
            rooms.put(room)  # not returned after an error, when it may not be clean

        if work < MUCH or count == 1:
            in_room((0, count))
        else:
            cuts = np.linspace(0, count, min(count, 4 * count_cores()) + 1).astype(int).tolist()
            run_in_threads(in_room, pairwise(cuts))


class _Loss(torch.autograd.Function):
    """The loss with its gradients, computed together while the intermediate values exist."""

    @staticmethod
    def forward(
        ctx: Any, operators: Tensor, memory: Tensor, groups: Tensor, queries: Tensor, spreading: Spreading
    ) -> Tensor:
        order = torch.argsort(groups, stable=True)
        loss, found = spreading.loss_and_gradients(
            _attention(operators, memory), _numpy(groups[order]), _numpy(queries[order])
        )
        ctx.save_for_backward(*(torch.from_numpy(part / len(queries)).to(operators) for part in found))
        return operators.new_tensor(loss)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        operators, memory = ctx.saved_tensors
        return grad * operators, grad * memory, None, None, None


def _attention(operators: Tensor, memory: Tensor) -> Attention:
    return Attention(*(part.detach().cpu().double().contiguous().numpy() for part in (operators, memory)))


def _numpy(ids: Tensor) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = ids.detach().cpu().contiguous().numpy()
    return numbers


def _steps(edges: Edges) -> Steps:
    heads, relations, tails = (_numpy(column) for column in (edges.heads, edges.relations, edges.tails))
    order = np.lexsort((tails, relations, heads))
    width = 2 * edges.n_relations
    pairs, starts = np.unique((heads * width + relations)[order], return_index=True)
    return Steps(
        n_entities=edges.n_entities,
        n_relations=edges.n_relations,
        offsets=np.searchsorted(pairs // width, np.arange(edges.n_entities + 1)),
        relations=(pairs % width).astype(np.int32),
        starts=np.append(starts, len(order)),
        tails=tails[order].astype(np.int32),
    )
