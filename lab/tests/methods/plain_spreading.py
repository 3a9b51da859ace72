"""Mass that spreads, by dense matrices: the reference that differentiable learners are held to."""

from __future__ import annotations

import torch

from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.spreading import LEAST

LENGTH = 3


def random_attention(
    groups: int, chains: int, relations: int, seed: int, length: int = LENGTH
) -> tuple[torch.Tensor, ...]:
    """As a network gives it: rows that sum to one, a memory that looks back only."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    operators = normal(groups, chains, length, 2 * relations + 1).softmax(-1)
    later = torch.ones(length + 1, length + 1, dtype=torch.bool).triu(1)
    memory = normal(groups, chains, length + 1, length + 1).masked_fill(later, -torch.inf).softmax(-1)
    return operators, memory


def plain_scores(
    operators: torch.Tensor, memory: torch.Tensor, head: int, edges: Edges, *, divide: bool = True
) -> torch.Tensor:
    """(E,) by dense matrices, for the attention (C, ...) of one relation."""
    n, stay = edges.n_entities, 2 * edges.n_relations
    matrices = torch.zeros(stay + 1, n, n, dtype=torch.float64)
    matrices[edges.relations, edges.tails, edges.heads] = 1
    matrices[stay] = torch.eye(n)
    p = torch.zeros(n, dtype=torch.float64)
    for a, b in zip(operators, memory, strict=True):
        u = [torch.nn.functional.one_hot(torch.tensor(head), n).double()]
        for t in range(len(a)):
            v = sum(b[t, s] * u[s] for s in range(t + 1))
            z = torch.einsum("r,rxy,y->x", a[t], matrices, v)
            u.append(z / z.sum().clamp(min=LEAST) if divide else z)
        p = p + sum(b[len(a), s] * u[s] for s in range(len(a) + 1)) / len(operators)
    return p


def plain_loss(
    operators: torch.Tensor, memory: torch.Tensor, groups: torch.Tensor, queries: torch.Tensor, edges: Edges
) -> torch.Tensor:
    """Each query on a graph without its own fact."""
    ps = [
        plain_scores(operators[g], memory[g], int(query[0]), edges.without(query[None]))[query[2]]
        for g, query in zip(groups.tolist(), queries, strict=True)
    ]
    return -torch.stack(ps).clamp(min=LEAST).log().mean()


def facts_both_ways(edges: Edges) -> torch.Tensor:
    return torch.stack([edges.heads, edges.relations, edges.tails], dim=1)
