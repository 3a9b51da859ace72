"""Places that are reached and needed, and messages between them, against sets and lists."""

from __future__ import annotations

import pytest
import torch

from lab.tests.methods.plain_paths import Edge, edge_list
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.neighbourhoods import Neighbourhoods
from tests.worlds import random_graph

N = 12


def shuffled(edges: Edges, seed: int) -> Edges:
    return edges.take(torch.randperm(len(edges), generator=torch.Generator().manual_seed(seed)))


def grown(places: set[int], edges: list[Edge], n: int) -> set[int]:
    found = {(p // n) * n + tail for p in places for head, _, tail in edges if head == p % n}
    return places | found


@pytest.mark.parametrize("seed", range(4))
def test_reached_and_needed_places(seed: int) -> None:
    edges = Edges.of(random_graph(seed, entities=20, count=14))
    near, n, listed = Neighbourhoods.of(shuffled(edges, seed)), edges.n_entities, edge_list(edges)
    heads = torch.tensor([0, 3, 0])
    reached = [set(s.tolist()) for s in near.reached(heads, 3)]
    expected = [{0, n + 3, 2 * n}]
    for _ in range(3):
        expected.append(grown(expected[-1], listed, n))
    assert reached == expected

    wanted = torch.tensor([1, n + 2, n + 3, 2 * n + 5])
    needed = [set(s.tolist()) for s in near.needed(wanted, near.reached(heads, 3), 3)]
    last = set(wanted.tolist()) & expected[3]
    for step in (3, 2, 1, 0):
        assert needed[step] == last
        last = grown(last, listed, n) & expected[step - 1]


@pytest.mark.parametrize("seed", range(4))
def test_messages_go_along_all_edges_between_places(seed: int) -> None:
    edges = Edges.of(random_graph(seed))
    hidden = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[[0, 5]]
    near, n = Neighbourhoods.of(shuffled(edges, seed)).without(hidden), edges.n_entities
    generator = torch.Generator().manual_seed(seed)
    senders, receivers = (torch.unique(torch.randint(3 * n, (18,), generator=generator)) for _ in range(2))
    passage = near.passage(senders, receivers, 3)
    flow = passage.flow
    found = []
    for number, place in enumerate(receivers.tolist()):
        for message in flow.messages[flow.offsets[number] : flow.offsets[number + 1]].tolist():
            sender = int(senders[passage.senders[message]])
            assert int(passage.queries[message]) == sender // n == place // n
            found.append((sender, int(passage.relations[message]), place))
    expected = [
        (q * n + head, relation, q * n + tail)
        for q in range(3)
        for head, relation, tail in edge_list(edges.without(hidden))
        if q * n + head in senders.tolist() and q * n + tail in receivers.tolist()
    ]
    assert sorted(found) == sorted(expected)
    backwards = [
        (m, t)
        for m in range(len(flow.back_offsets) - 1)
        for t in flow.receivers[flow.back_offsets[m] : flow.back_offsets[m + 1]].tolist()
    ]
    forwards = [
        (m, t) for t in range(len(receivers)) for m in flow.messages[flow.offsets[t] : flow.offsets[t + 1]].tolist()
    ]
    assert sorted(backwards) == sorted(forwards)


def test_known_answers_are_those_of_all_facts_also_of_hidden_ones() -> None:
    edges = Edges.of(random_graph(1))
    facts = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)
    near = Neighbourhoods.of(edges).without(facts[:4])
    known = near.answers(edges.heads, edges.relations)
    for row, (head, relation) in enumerate(facts[:, :2].tolist()):
        expected = {t for h, r, t in facts.tolist() if (h, r) == (head, relation)}
        assert set(known[row].nonzero()[:, 0].tolist()) == expected
    assert int(near.degrees.sum()) == len(edges.without(facts[:4]))


def test_a_graph_without_edges() -> None:
    none = torch.empty(0, dtype=torch.int64)
    near = Neighbourhoods.of(Edges(none, none, none, 3, 2)).without(torch.tensor([[0, 1, 2]]))
    assert [s.tolist() for s in near.reached(torch.tensor([2, 0]), 2)] == [[2, 3]] * 3
    assert not near.answers(torch.tensor([0]), torch.tensor([1])).any()
    assert not len(near.passage(torch.tensor([2, 3]), torch.tensor([2, 3]), 2).relations)
