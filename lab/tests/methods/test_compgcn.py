"""CompGCN against plain loops over edges, in double precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from lab.tests.methods.plain_paths import assert_near, edge_list
from stablerule import Dataset
from stablerule.errors import InputError, OptionError
from stablerule.graph import Graph
from stablerule.registry import load_model
from stablerule_lab.methods.compgcn import TRAINING, CompGCN, CompGCNLayer, CompGCNNetwork, Composition, compose
from stablerule_lab.methods.shared.edges import Edges
from tests.worlds import random_graph

COMPOSITIONS: tuple[Composition, ...] = ("subtract", "multiply", "correlate")


def network(graph: Graph, **options: object) -> CompGCNNetwork:
    model = CompGCN(size=6, **options)  # type: ignore[arg-type]
    return model.build(graph.n_entities, graph.n_relations).double().eval()


def plain_compose(entity: Tensor, relation: Tensor, how: Composition) -> Tensor:
    if how == "subtract":
        return entity - relation
    if how == "multiply":
        return entity * relation
    d = len(entity)
    return torch.stack([sum((entity[i] * relation[(i + k) % d] for i in range(d)), torch.tensor(0)) for k in range(d)])


def plain_layer(layer: CompGCNLayer, h: Tensor, r: Tensor, edges: Edges) -> tuple[Tensor, Tensor]:
    listed, n, half = edge_list(edges), edges.n_entities, edges.n_relations
    rows = []
    for v in range(n):
        heard = layer.self_loop(plain_compose(h[v], layer.loop[0], layer.composition))
        for matrix, inverse in ((layer.along, False), (layer.back, True)):
            same_way = [(x, q, tail) for x, q, tail in listed if (q >= half) == inverse]
            for x, q, tail in same_way:
                if tail == v:
                    leaving = sum(head == x for head, _, _ in same_way)
                    arriving = sum(t == v for _, _, t in same_way)
                    heard = heard + matrix(plain_compose(h[x], r[q], layer.composition)) / (leaving * arriving) ** 0.5
        rows.append(heard / 3)
    return torch.tanh(layer.norm(torch.stack(rows))), layer.relation(r)


def plain_scores(net: CompGCNNetwork, heads: Tensor, relations: Tensor, edges: Edges) -> Tensor:
    h, r = cast("Tensor", net.entities), cast("Tensor", net.relations)
    for layer in net.layers:
        h, r = plain_layer(cast("CompGCNLayer", layer), h, r, edges)
    return (h[heads] * r[relations]) @ h.T + net.bias


@pytest.mark.parametrize("how", COMPOSITIONS)
def test_compositions(how: Composition) -> None:
    entities, relations = torch.randn(4, 5, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    expected = torch.stack([plain_compose(e, r, how) for e, r in zip(entities, relations, strict=True)])
    assert_near(compose(entities, relations, how), expected)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_scores_and_gradients_are_those_of_loops(composition: Composition, layers: int) -> None:
    graph = random_graph(1)
    net, edges = network(graph, composition=composition, layers=layers), Edges.of(graph)
    heads, relations = torch.tensor([0, 1, 0]), torch.tensor([0, 4, 2])
    found, expected = net.scores(heads, relations, edges), plain_scores(net, heads, relations, edges)
    assert_near(found, expected)
    weights, parameters = torch.randn(found.shape, dtype=found.dtype), list(net.parameters())
    ours = torch.autograd.grad((found * weights).sum(), parameters)
    theirs = torch.autograd.grad((expected * weights).sum(), parameters)
    for one, other in zip(ours, theirs, strict=True):
        assert_near(one, other)


def test_losses() -> None:
    graph = random_graph(2)
    edges = Edges.of(graph)
    queries = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[::4]
    known = torch.tensor(
        [[[h, r, t] in edges_as_rows(edges) for t in range(graph.n_entities)] for h, r in queries[:, :2].tolist()]
    )
    for hidden in (False, True):
        net = network(graph, hide_asked=hidden)
        seen = edges.without(queries) if hidden else edges
        scores = plain_scores(net, queries[:, 0], queries[:, 1], seen)
        assert_near(net.loss(queries, edges), functional.cross_entropy(scores, queries[:, 2]))
        net.spare_known = True
        rivals = known & ~functional.one_hot(queries[:, 2], graph.n_entities).bool()
        expected = functional.cross_entropy(scores.masked_fill(rivals, -torch.inf), queries[:, 2])
        assert_near(net.loss(queries, edges), expected)
        net.loss_kind = "bce"
        expected = functional.binary_cross_entropy_with_logits(scores, known.to(scores))
        assert_near(net.loss(queries, edges), expected)


def test_a_fact_that_is_asked_about_is_not_heard() -> None:
    graph = random_graph(2)
    edges = Edges.of(graph)
    built = CompGCN(size=6).build(graph.n_entities, graph.n_relations).eval()
    queries = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[:1]
    assert_near(built.loss(queries, edges), built.loss(queries, edges.without(queries)))


def edges_as_rows(edges: Edges) -> list[list[int]]:
    return [list(edge) for edge in edge_list(edges)]


@pytest.mark.parametrize("decoder", ["distmult", "conve"])
def test_kept_tables_are_those_of_the_best_epoch(decoder: str, tmp_path: Path) -> None:
    graph = random_graph(3)
    training = replace(TRAINING, epochs=6, check_every=1, patience=2, batch_size=7)
    model = CompGCN(size=8, decoder=decoder, training=training).fit(graph)  # type: ignore[arg-type]
    queries = [("e0", "r0"), ("e3", "~r1")]
    model.save(tmp_path / "kept")
    again = load_model(tmp_path / "kept")
    assert list(again.answer(queries, graph=graph)) == list(model.answer(queries))
    edges = Edges.of(graph)
    asked = torch.tensor([0, 1]), torch.tensor([2, 1])
    with torch.no_grad():
        before = model.network_.scores(*asked, edges)
        model.network_.entities.data.mul_(2)  # type: ignore[operator]
        model.network_.eval()
        assert not torch.equal(model.network_.scores(*asked, edges), before)


@pytest.mark.parametrize("decoder", ["distmult", "conve"])
def test_odd_graphs(decoder: str) -> None:
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "c")]
    graph = Dataset.from_names("odd", train=facts, valid=[("lonely", "r", "a")]).graph
    for batch_size in (1, 100):
        training = replace(TRAINING, epochs=2, batch_size=batch_size)
        model = CompGCN(size=6, decoder=decoder, training=training).fit(graph)  # type: ignore[arg-type]
        assert all(torch.isfinite(p).all() for p in model.network_.parameters())
        assert len(next(model.answer([("lonely", "r")], k=10))) == 4
    other = Dataset.from_names("other", train=[("x", "r", "y")]).graph
    with pytest.raises(InputError, match="unseen entities"):
        next(model.answer([("x", "r")], graph=other))


@pytest.mark.parametrize(
    ("option", "value"), [("size", 0), ("layers", 0), ("dropout", 1.0), ("composition", "add"), ("decoder", "dot")]
)
def test_bad_options_are_named(option: str, value: object) -> None:
    with pytest.raises(OptionError, match=option):
        CompGCN(**{option: value}).fit(random_graph(0))  # type: ignore[arg-type]
