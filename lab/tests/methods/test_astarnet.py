"""A*Net against plain loops that sort and choose, in double precision."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import Tensor

from lab.tests.methods.plain_paths import assert_near, edge_list, plain_layer
from stablerule import Dataset
from stablerule.errors import OptionError
from stablerule.graph import Graph
from stablerule_lab.methods.astarnet import TRAINING, AStarNet, AStarNetwork
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.path_network import Aggregation, PathLayer
from tests.worlds import random_graph


def network(graph: Graph, **options: object) -> AStarNetwork:
    model = AStarNet(size=4, layers=3, negatives=None, **options)  # type: ignore[arg-type]
    return model.build(graph.n_entities, graph.n_relations).double()


def plain_scores(net: AStarNetwork, head: int, relation: int, edges: Edges) -> Tensor:
    listed, n = edge_list(edges), edges.n_entities
    q = net.queries.weight[relation]
    senders_at_most = max(net.least, round(net.share * n))
    edges_at_most = net.edge_share * len(listed) / n * senders_at_most
    h, visited = torch.zeros(n, net.size, dtype=q.dtype), {head}
    h[head] = q
    for layer in net.layers:
        s = net.priority(h, q.expand(n, -1))
        rated = s.tolist()
        senders = sorted(visited, key=lambda v: -rated[v])[:senders_at_most]
        arriving = [tail for x, _, tail in listed if x in senders]
        receivers: list[int] = []
        counted = 0
        for v in sorted(set(arriving), key=lambda v: (-rated[v], v)):
            if counted < edges_at_most:
                receivers.append(v)
                counted += arriving.count(v)
        sends = torch.tensor([[float(v in senders)] for v in range(n)], dtype=q.dtype)
        sent = sends * torch.sigmoid(s)[:, None] * h
        h = plain_layer(cast("PathLayer", layer), q, head, h, sent, receivers, listed)
        visited |= set(receivers)
    return net.priority(h, q.expand(n, -1))


@pytest.mark.parametrize("aggregation", ["pna", "sum"])
@pytest.mark.parametrize(("share", "edge_share"), [(1.0, 10.0), (0.2, 10.0), (0.2, 1.0)])
def test_scores_and_gradients_are_those_of_loops(aggregation: Aggregation, share: float, edge_share: float) -> None:
    graph = random_graph(1, entities=20, count=50)
    net, edges = network(graph, aggregation=aggregation, share=share, least=2, edge_share=edge_share), Edges.of(graph)
    heads, relations = torch.tensor([0, 1, 0, 5]), torch.tensor([0, 4, 2, 1])
    found = net.scores(heads, relations, edges)
    expected = torch.stack(
        [plain_scores(net, *query, edges) for query in zip(heads.tolist(), relations.tolist(), strict=True)]
    )
    assert_near(found, expected)
    seeded = torch.Generator().manual_seed(0)  # else some draw comes to the edge of what single precision can tell
    weights, parameters = torch.randn(found.shape, generator=seeded, dtype=found.dtype), list(net.parameters())
    ours = torch.autograd.grad((found * weights).sum(), parameters)
    theirs = torch.autograd.grad((expected * weights).sum(), parameters)
    for one, other in zip(ours, theirs, strict=True):
        assert_near(one, other)


def test_a_small_share_visits_fewer_entities() -> None:
    graph = random_graph(2, entities=60, count=150)
    edges, heads, relations = Edges.of(graph), torch.tensor([0]), torch.tensor([1])
    visited = []
    for share in (0.02, 1.0):
        scores = network(graph, share=share, least=1).scores(heads, relations, edges)[0]
        visited.append(int((scores != scores.mode().values).sum()))  # entities that were not visited have one score
    assert visited[0] < visited[1]


def test_wanted_places_have_the_scores_that_they_have_among_all() -> None:
    graph = random_graph(2, entities=40, count=80)
    net = network(graph, share=0.2, least=2)
    heads, relations, n = torch.tensor([0, 7, 11]), torch.tensor([0, 1, 5]), graph.n_entities
    wanted = torch.randint(n, (3, 4))
    places = (wanted + torch.arange(3)[:, None] * n).view(-1)
    near = net._near(Edges.of(graph))
    some, every = (net.all_scores(heads, relations, near, which).gather(1, wanted) for which in (places, None))
    assert_near(some, every)


def test_facts_of_the_batch_are_not_seen() -> None:
    graph = random_graph(5)
    net, edges = network(graph), Edges.of(graph)
    query = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[3:4]
    scores = plain_scores(net, int(query[0, 0]), int(query[0, 1]), edges.without(query))
    known = [t for h, r, t in edge_list(edges) if [h, r] == query[0, :2].tolist() and t != query[0, 2]]
    scores[known] = -torch.inf
    expected = torch.nn.functional.cross_entropy(scores[None], query[:, 2])
    assert_near(net.loss(query, edges), expected)


@pytest.mark.parametrize("negatives", [None, 3])
def test_odd_graphs(negatives: int | None) -> None:
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "c")]
    graph = Dataset.from_names("odd", train=facts, valid=[("lonely", "r", "a")]).graph
    for batch_size in (1, 100):
        training = replace(TRAINING, epochs=2, batch_size=batch_size)
        model = AStarNet(size=4, layers=2, negatives=negatives, training=training, least=1).fit(graph)
        assert all(torch.isfinite(p).all() for p in model.network_.parameters())
        assert len(next(model.answer([("lonely", "r")], k=10))) == 4
    other = Dataset.from_names("other", train=[("x", "s", "y"), ("y", "r", "z"), ("z", "r", "x")]).graph
    assert {answer.entity for answer in next(model.answer([("y", "r")], graph=other))} == {"x", "z"}


@pytest.mark.parametrize(("option", "value"), [("share", 0.0), ("edge_share", -1.0), ("least", 0), ("size", 0)])
def test_bad_options_are_named(option: str, value: object) -> None:
    with pytest.raises(OptionError, match=option):
        AStarNet(**{option: value}).fit(random_graph(0))  # type: ignore[arg-type]
