"""NBFNet against plain loops over entities and edges, in double precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor

from lab.tests.methods.plain_paths import assert_near, edge_list, plain_layer
from stablerule import Dataset, households
from stablerule.errors import OptionError
from stablerule.graph import Graph
from stablerule.registry import load_model
from stablerule_lab.methods.nbfnet import TRAINING, NBFNet, NBFNetNetwork
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.path_network import Aggregation, PathLayer
from tests.worlds import random_graph

AGGREGATIONS: tuple[Aggregation, ...] = ("pna", "sum")


def network(graph: Graph, aggregation: Aggregation = "pna", negatives: int | None = None) -> NBFNetNetwork:
    model = NBFNet(size=4, layers=3, aggregation=aggregation, negatives=negatives)
    return model.build(graph.n_entities, graph.n_relations).double()


def plain_scores(net: NBFNetNetwork, head: int, relation: int, edges: Edges) -> Tensor:
    listed, n = edge_list(edges), edges.n_entities
    q = net.queries.weight[relation]
    h, reached = torch.zeros(n, net.size, dtype=q.dtype), {head}
    h[head] = q
    for layer in net.layers:
        reached = reached | {tail for x, _, tail in listed if x in reached}
        h = plain_layer(cast("PathLayer", layer), q, head, h, h, sorted(reached), listed)
    return torch.stack([net.answer(torch.cat([row, q]))[0] for row in h])


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("count", [14, 40])  # the layers reach part of the graph, or all of it before the last
def test_scores_and_gradients_are_those_of_loops(aggregation: Aggregation, count: int) -> None:
    graph = random_graph(0, entities=15, count=count)
    net, edges = network(graph, aggregation), Edges.of(graph)
    heads, relations = torch.tensor([0, 1, 0, 5]), torch.tensor([0, 4, 2, 1])
    found = net.scores(heads, relations, edges)
    expected = torch.stack(
        [plain_scores(net, *query, edges) for query in zip(heads.tolist(), relations.tolist(), strict=True)]
    )
    assert_near(found, expected)
    weights, parameters = torch.randn(found.shape, dtype=found.dtype), list(net.parameters())
    ours = torch.autograd.grad((found * weights).sum(), parameters)
    theirs = torch.autograd.grad((expected * weights).sum(), parameters)
    for one, other in zip(ours, theirs, strict=True):
        assert_near(one, other)


def test_single_precision_is_as_good() -> None:
    graph = random_graph(3, entities=30, count=80)
    net, edges = network(graph), Edges.of(graph)
    heads, relations = torch.arange(6), torch.arange(6)
    exact = net.scores(heads, relations, edges)
    torch.testing.assert_close(net.float().scores(heads, relations, edges).double(), exact, atol=1e-3, rtol=1e-3)


def test_wanted_places_have_the_scores_that_they_have_among_all() -> None:
    graph = random_graph(2, entities=40, count=40)
    net, near = network(graph), network(graph)._near(Edges.of(graph))
    heads, relations, n = torch.tensor([0, 7, 11]), torch.tensor([0, 1, 5]), graph.n_entities
    wanted = torch.randint(n, (3, 4))
    places = (wanted + torch.arange(3)[:, None] * n).view(-1)
    some, every = (net.all_scores(heads, relations, near, which).gather(1, wanted) for which in (places, None))
    assert_near(some, every)


@pytest.mark.parametrize("negatives", [None, 5])
def test_a_batch_in_parts_is_the_batch(negatives: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(4)
    net, edges = network(graph, negatives=negatives), Edges.of(graph)
    queries = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[:7]
    losses, gradients = [], []
    for at_once in (100, 1):
        monkeypatch.setattr(net, "_at_once", lambda near, k=at_once: k)
        if negatives:  # the same for all queries, however they are parted
            monkeypatch.setattr(torch, "randint", lambda n, shape, device: torch.arange(shape[1]).expand(shape))
        net.zero_grad()
        loss = net.loss(queries, edges)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.detach())
        gradients.append([cast("Tensor", p.grad).clone() for p in net.parameters()])
    assert_near(losses[0], losses[1])
    for one, other in zip(*gradients, strict=True):
        assert_near(one, other)


def test_facts_of_the_batch_are_not_seen() -> None:
    graph = random_graph(5)
    net, edges = network(graph), Edges.of(graph)
    query = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[3:4]
    assert len(edges.without(query)) < len(edges)
    scores = plain_scores(net, int(query[0, 0]), int(query[0, 1]), edges.without(query))
    known = [t for h, r, t in edge_list(edges) if [h, r] == query[0, :2].tolist() and t != query[0, 2]]
    scores[known] = -torch.inf
    expected = torch.nn.functional.cross_entropy(scores[None], query[:, 2])
    assert_near(net.loss(query, edges), expected)


def named(graph: Graph) -> list[tuple[str, str, str]]:
    words = graph.vocabulary
    return [
        (words.entity_name(h), words.relation_name(r), words.entity_name(t)) for h, r, t in graph.triples.rows.tolist()
    ]


def test_answers_on_another_graph_with_other_entities(tmp_path: Path) -> None:
    world = households(families=3, seed=0).dataset
    training = replace(TRAINING, epochs=1, batch_size=512)
    model = NBFNet(size=8, layers=2, training=training, seed=1).fit(world.graph, world.valid)
    # The same facts with other names, in another order; relations come in another order, too, and one is new.
    facts = named(world.graph)
    rows = [(f"new {h}", r, f"new {t}") for h, r, t in reversed(facts)]
    rows = [("new person", "admires", rows[0][0]), *rows]
    other = Dataset.from_names("other", train=rows).graph
    head, relation, _ = facts[0]
    ours = next(model.answer([(head, relation)], k=5))
    theirs = next(model.answer([(f"new {head}", relation)], k=5, graph=other))
    # Sums in another order differ a little, and what is nearly level may change places. Shares are of all entities, of
    # which there is one more: they are held against the first.
    everyone = [(head, relation, answer.entity) for answer in ours]
    renamed = [(f"new {h}", r, f"new {t}") for h, r, t in everyone]
    own, others = model.score(everyone), model.score(renamed, graph=other)
    assert [one / own[0] for one in own] == pytest.approx([one / others[0] for one in others], rel=1e-4)
    assert theirs[0].score == pytest.approx(ours[0].score, rel=0.02)
    model.save(tmp_path / "kept")
    again = load_model(tmp_path / "kept")
    assert [a.score for a in next(again.answer([(head, relation)], k=5, graph=world.graph))] == [a.score for a in ours]
    assert next(model.answer([("new person", "admires")], k=3, graph=other))


@pytest.mark.parametrize("negatives", [None, 3])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_odd_graphs(negatives: int | None, aggregation: Aggregation) -> None:
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "c")]
    dataset = Dataset.from_names("odd", train=facts, valid=[("lonely", "r", "a")])
    graph = dataset.graph
    assert graph.n_relations == 1
    for batch_size in (1, 100):
        training = replace(TRAINING, epochs=2, batch_size=batch_size)
        model = NBFNet(size=4, layers=2, negatives=negatives, aggregation=aggregation, training=training).fit(graph)
        assert all(torch.isfinite(p).all() for p in model.network_.parameters())
        assert len(next(model.answer([("lonely", "r")], k=10))) == 4


@pytest.mark.parametrize(
    ("option", "value"),
    [("size", 0), ("layers", 0), ("negatives", 0), ("temperature", 0.0), ("dropout", 1.0), ("aggregation", "mean")],
)
def test_bad_options_are_named(option: str, value: object) -> None:
    with pytest.raises(OptionError, match=option):
        NBFNet(**{option: value}).fit(random_graph(0))  # type: ignore[arg-type]
