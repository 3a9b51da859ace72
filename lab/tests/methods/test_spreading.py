from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.tests.methods.plain_spreading import LENGTH, facts_both_ways, plain_loss, plain_scores, random_attention
from stablerule import Dataset
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.spreading import LEAST, Spreading
from tests.worlds import random_graph


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_scores_are_those_of_dense_matrices(chains: int, length: int) -> None:
    edges = Edges.of(random_graph(chains))
    operators, memory = random_attention(6, chains, 3, seed=0, length=length)
    heads, groups = torch.arange(12), torch.arange(12) % 6
    found = Spreading(edges).scores(operators, memory, groups, heads)
    for head, group, row in zip(heads.tolist(), groups.tolist(), found, strict=True):
        np.testing.assert_allclose(row, plain_scores(operators[group], memory[group], head, edges), rtol=1e-12)


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_loss_and_gradients_are_those_of_dense_matrices(chains: int, length: int) -> None:
    edges = Edges.of(random_graph(seed=length))  # with loops, and relations in both directions
    queries = facts_both_ways(edges)[::2]
    operators, memory = (part.requires_grad_() for part in random_attention(6, chains, 3, seed=1, length=length))
    groups = queries[:, 1]
    found = Spreading(edges).loss(operators, memory, groups, queries)
    plain = plain_loss(operators, memory, groups, queries, edges)
    torch.testing.assert_close(found, plain)
    grads = torch.autograd.grad(found, (operators, memory))
    for ours, theirs in zip(grads, torch.autograd.grad(plain, (operators, memory)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_memory_that_takes_up_the_last_value_only() -> None:
    edges = Edges.of(random_graph(5))
    queries = facts_both_ways(edges)
    operators = random_attention(6, 2, 3, seed=2)[0].requires_grad_()
    memory = torch.eye(LENGTH + 1, dtype=torch.float64).expand(6, 2, -1, -1)
    found, plain = (
        Spreading(edges).loss(operators, memory, queries[:, 1], queries),
        plain_loss(operators, memory, queries[:, 1], queries, edges),
    )
    torch.testing.assert_close(found, plain)
    ours, theirs = torch.autograd.grad(found, operators)[0], torch.autograd.grad(plain, operators)[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_what_is_asked_does_not_answer_itself() -> None:
    """Two entities with one fact: without it nothing leads from one to the other, nor is there anything to learn."""
    edges = Edges.of(Dataset.from_names("pair", train=[("a", "likes", "b")]).graph)
    operators, memory = (part.requires_grad_() for part in random_attention(2, 1, 1, seed=0))
    loss = Spreading(edges).loss(operators, memory, torch.tensor([0, 1]), torch.tensor([[0, 0, 1], [1, 1, 0]]))
    assert loss.item() == pytest.approx(-np.log(LEAST))
    assert all((grad == 0).all() for grad in torch.autograd.grad(loss, (operators, memory)))


def test_the_same_with_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = Edges.of(random_graph(3, entities=30, count=150))
    queries = facts_both_ways(edges)
    operators, memory = (part.requires_grad_() for part in random_attention(6, 2, 3, seed=3))

    def learn() -> list[torch.Tensor]:
        spreading = Spreading(edges)
        loss = spreading.loss(operators, memory, queries[:, 1], queries)
        scores = torch.from_numpy(spreading.scores(operators, memory, queries[:, 1], queries[:, 0]))
        return [loss, *torch.autograd.grad(loss, (operators, memory)), scores]

    alone = learn()
    monkeypatch.setattr("stablerule_lab.methods.shared.spreading.MUCH", 0)
    for one, other in zip(alone, learn(), strict=True):
        assert torch.equal(one, other)


def test_a_room_is_clean_after_use() -> None:
    edges = Edges.of(random_graph(4))
    queries, spreading = facts_both_ways(edges), Spreading(edges)
    operators, memory = random_attention(6, 2, 3, seed=4)
    first = [spreading.loss(operators, memory, queries[:, 1], queries).item() for _ in range(3)]
    assert len(set(first)) == 1
    assert spreading.scores(operators, memory, queries[:1, 1], queries[:1, 0]).sum() == pytest.approx(1, abs=0.5)
