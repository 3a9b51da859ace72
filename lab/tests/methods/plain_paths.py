"""One layer of a network of paths, word by word: one entity after the other, one edge after the other."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.path_network import PathLayer

Edge = tuple[int, int, int]


def assert_near(one: Tensor, other: Tensor) -> None:
    """Almost equal: what degrees weigh is in single precision."""
    torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def edge_list(edges: Edges) -> list[Edge]:
    columns = (edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist())
    return list(zip(*columns, strict=True))


def plain_layer(
    layer: PathLayer, q: Tensor, head: int, h: Tensor, sent: Tensor, receivers: Iterable[int], edges: list[Edge]
) -> Tensor:
    """The states (n, d) after a layer; sent (n, d) is zero for who sends nothing."""
    n, d = h.shape
    weights = layer.relation_weights(q).view(-1, d)
    degrees = torch.zeros(n, dtype=h.dtype)
    for _, _, tail in edges:
        degrees[tail] += 1
    mean_log = (degrees + 2).log().mean()
    rows = list(h)
    for v in receivers:
        arriving = [sent[x] * weights[r] for x, r, tail in edges if tail == v] or [torch.zeros_like(q)]
        everything = torch.stack([*arriving, q if v == head else torch.zeros_like(q)])  # (m, d)
        if layer.aggregation == "sum":
            taken = layer.take(everything.sum(dim=0))
        else:
            count = degrees[v] + 1
            mean, square = everything.sum(dim=0) / count, everything.square().sum(dim=0) / count
            deviation = (square - mean.square()).clamp_min(1e-6).sqrt()
            found = torch.cat([mean, everything.amax(dim=0), everything.amin(dim=0), deviation])
            scale = (degrees[v] + 2).log() / mean_log
            plain, larger, smaller = layer.take.weight.view(3, d, 4 * d)
            taken = plain @ found + scale * (larger @ found) + (smaller @ found) / scale.clamp_min(0.01)
        rows[v] = torch.relu(layer.norm(layer.keep(h[v]) + taken)) + h[v]
    return torch.stack(rows)
