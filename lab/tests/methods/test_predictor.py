"""The predictor of RNNLogic: its table of paths, loss, slopes and influence against plain Python and torch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablerule import Graph
from stablerule_lab.methods.rnnlogic.path_table import LEFT_OUT, RIVAL, TRUTH, PathTable, chain_theory, list_paths
from stablerule_lab.methods.rnnlogic.predictor import Predictor, add_slopes, learn_epoch, rule_influence
from tests.paths.plain import simple_paths
from tests.worlds import random_graph

RELATION = 1
BODIES = np.array([[0, -1, -1], [0, 2, -1], [1, 4, 1], [1, 5, -1], [2, -1, -1], [3, 1, 0], [4, -1, -1]], np.int32)


def plain_counts(graph: Graph, head: int, tail: int) -> dict[tuple[int, int], int]:
    """(rule, entity) -> paths that do not use the fact (head, RELATION, tail)."""
    found: dict[tuple[int, int], int] = {}
    for rule, row in enumerate(BODIES.tolist()):
        body = tuple(r for r in row if r >= 0)
        for path in simple_paths(graph, head, body):
            steps = list(zip(body, pairwise(path), strict=True))
            if (RELATION, (head, tail)) in steps or (graph.inverse(RELATION), (tail, head)) in steps:
                continue
            found[rule, path[-1]] = found.get((rule, path[-1]), 0) + 1
    return found


def make(seed: int, most: int = 10**6) -> tuple[Graph, PathTable, NDArray[np.int32], NDArray[np.int32]]:
    graph = random_graph(seed, entities=9, relations=3, count=40)
    theory = chain_theory(graph, np.full(len(BODIES), RELATION, np.int32), BODIES, np.zeros(len(BODIES)))
    heads, tails = graph.facts(RELATION)
    return graph, list_paths(graph, theory, RELATION, heads, tails, most), heads, tails


@pytest.mark.parametrize("seed", range(5))
def test_the_table_holds_every_path_but_the_fact_itself(seed: int) -> None:
    graph, table, heads, tails = make(seed)
    assert len(table.reached) == len(heads)
    for q, (head, tail) in enumerate(zip(heads.tolist(), tails.tolist(), strict=True)):
        expected = plain_counts(graph, head, tail)
        own = slice(table.starts[q], table.starts[q + 1])
        entities, roles = table.entities[own].tolist(), table.roles[own].tolist()
        entries = slice(table.entry_starts[q], table.entry_starts[q + 1])
        columns = (table.entry_rules[entries], table.entry_slots[entries], table.entry_paths[entries])
        found = {(r, entities[s]): p for r, s, p in zip(*(c.tolist() for c in columns), strict=True)}
        assert found == expected
        reached = int(table.reached[q])
        assert set(entities[:reached]) == {entity for _, entity in expected}
        known = set(graph.tails(head, RELATION).tolist())
        assert set(entities) == {entity for _, entity in expected} | known
        for entity, role in zip(entities, roles, strict=True):
            assert role == (TRUTH if entity == tail else LEFT_OUT if entity in known else RIVAL)


def test_a_table_without_room_holds_the_first_queries() -> None:
    _, whole, *_ = make(0)
    room = int(whole.entry_starts[3])
    _, part, *_ = make(0, most=room)
    assert len(part.reached) >= 3
    assert part.entry_starts[-1] <= room
    n = len(part.reached)
    assert part.entities.tolist() == whole.entities[: whole.starts[n]].tolist()
    assert part.entry_paths.tolist() == whole.entry_paths[: whole.entry_starts[n]].tolist()
    _, one, *_ = make(0, most=0)
    assert len(one.reached) == 1


def plain_loss(
    graph: Graph,
    table: PathTable,
    queries: list[int],
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    w: Tensor,
    bias: Tensor | None,
) -> Tensor:
    """Dense scores of all entities, a softmax that other known answers have no part in, and the mean."""
    losses = []
    for q in queries:
        head, tail = int(heads[q]), int(tails[q])
        counts = torch.zeros(len(w), graph.n_entities, dtype=torch.float64)
        for (rule, entity), paths in plain_counts(graph, head, tail).items():
            counts[rule, entity] = paths
        scores = w @ counts
        out = torch.zeros(graph.n_entities, dtype=torch.bool)
        if bias is None:
            out = counts.sum(0) == 0
            if out[tail]:
                continue
        else:
            scores = scores + bias
        for entity in graph.tails(head, RELATION).tolist():
            out[entity] = out[entity] | (entity != tail)
        losses.append(-scores.masked_fill(out, -torch.inf).log_softmax(0)[tail])
    return torch.stack(losses).mean()


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_loss_and_slopes_are_those_of_torch(seed: int, biased: bool) -> None:
    graph, table, heads, tails = make(seed)
    random = np.random.default_rng(seed)
    w = random.normal(size=len(BODIES))
    bias = random.normal(size=graph.n_entities if biased else 0)
    queries = random.permutation(len(heads))[:7]
    slopes = np.zeros(len(w) + len(bias))
    loss = add_slopes(table, queries, w, bias, slopes)
    w_there, bias_there = (torch.tensor(value, requires_grad=True) for value in (w, bias))
    expected = plain_loss(graph, table, queries.tolist(), heads, tails, w_there, bias_there if biased else None)
    expected.backward()  # type: ignore[no-untyped-call]
    assert w_there.grad is not None
    gradient = torch.cat([w_there.grad, bias_there.grad]) if bias_there.grad is not None else w_there.grad
    np.testing.assert_allclose(loss, float(expected.detach()), rtol=1e-10)
    np.testing.assert_allclose(slopes, gradient.numpy(), rtol=1e-8, atol=1e-10)


def test_large_scores_do_no_harm() -> None:
    _, table, heads, _ = make(0)
    slopes = np.zeros(len(BODIES) + 9)
    loss = add_slopes(table, np.arange(len(heads)), np.full(len(BODIES), 900.0), np.full(9, -800.0), slopes)
    assert np.isfinite(loss)
    assert np.isfinite(slopes).all()


def test_an_epoch_is_adam() -> None:
    graph, table, heads, tails = make(1)
    order = np.random.default_rng(0).permutation(len(heads))
    predictor = Predictor.new(len(BODIES), graph.n_entities)
    for _ in range(2):
        learn_epoch(table, order, 4, 0.05, 0.1, predictor)
    w, bias = (torch.zeros(n, dtype=torch.float64, requires_grad=True) for n in (len(BODIES), graph.n_entities))
    adam = torch.optim.Adam([w, bias], lr=0.05)
    for _ in range(2):
        for start in range(0, len(order), 4):
            queries = order[start : start + 4].tolist()
            loss = plain_loss(graph, table, queries, heads, tails, w, bias)
            loss = loss + 0.1 * (w.square().sum() + bias.square().sum())
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
    np.testing.assert_allclose(predictor.weights, w.detach().numpy(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(predictor.bias, bias.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_the_mean_softmax_of_what_rules_gain(seed: int) -> None:
    graph, table, heads, tails = make(seed)
    w = np.random.default_rng(seed).normal(size=len(BODIES))
    expected = np.zeros(len(w))
    for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
        counts = np.zeros((len(w), graph.n_entities))
        for (rule, entity), paths in plain_counts(graph, head, tail).items():
            counts[rule, entity] = paths
        candidates = counts.sum(0) > 0
        gain = np.zeros(len(w))
        if candidates.any():
            gain = w * (counts[:, tail] - counts[:, candidates].mean(1))
        expected += np.exp(gain) / np.exp(gain).sum() / len(heads)
    found = rule_influence(table, w)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert found.sum() == pytest.approx(1)


def test_a_relation_without_rules_has_only_biases() -> None:
    graph = random_graph(0, entities=9, relations=3, count=40)
    theory = chain_theory(graph, np.empty(0, np.int32), np.empty((0, 3), np.int32), np.zeros(0))
    heads, tails = graph.facts(RELATION)
    table = list_paths(graph, theory, RELATION, heads, tails, 100)
    predictor = Predictor.new(0, graph.n_entities)
    losses = [learn_epoch(table, np.arange(len(heads)), 2, 0.1, 0.0, predictor) for _ in range(3)]
    assert losses[-1] < losses[0]
