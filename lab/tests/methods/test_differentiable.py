"""Neural-LP and DRUM: their attention, the rules read from it, and what they share."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.tests.methods.plain_spreading import plain_loss, plain_scores, random_attention
from stablerule import Dataset, Graph, Rule
from stablerule.errors import OptionError
from stablerule.paths.withheld import ExampleFacts
from stablerule.registry import load_model
from stablerule_lab.methods.drum import DRUM, DRUMNetwork
from stablerule_lab.methods.neural_lp import NeuralLP, NeuralLPNetwork
from stablerule_lab.methods.shared.attention_rules import (
    Bodies,
    make_rules,
    promising_pairs,
    read_bodies,
    turns,
    without_turns,
)
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.epochs import Epochs
from tests.worlds import random_graph

BOTH = pytest.mark.parametrize("learner", [NeuralLP, DRUM])
TRAINING = Epochs(10, batch_size=4, learning_rate=0.05, clip=5.0, patience=None)
SMALL: dict[str, Any] = {"max_length": 2, "size": 16, "training": TRAINING}


def families(count: int, named: str = "") -> Graph:
    facts = []
    for i in range(count):
        a, b, c = (f"{name}{named}{i}" for name in ("ann", "bob", "cid"))
        facts += [(a, "parent_of", b), (b, "parent_of", c), (a, "grandparent_of", c)]
    return Dataset.from_names("families", train=facts).graph


def walks(body: tuple[int, ...], edges: Edges) -> torch.Tensor:
    """(E, E): how many walks lead from one entity to the other along a body."""
    found = torch.eye(edges.n_entities, dtype=torch.float64)
    for relation in body:
        step, at = torch.zeros_like(found), edges.relations == relation
        step[edges.heads[at], edges.tails[at]] = 1
        found @= step
    return found


# --- rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_bodies_times_walks_add_up_to_the_score(chains: int, length: int) -> None:
    edges = Edges.of(random_graph(7, relations=2))
    operators, memory = random_attention(1, chains, 2, seed=1, length=length)
    bodies = read_bodies(operators[0].numpy(), memory[0].numpy(), beam=10_000)
    assert len(bodies.weights) == sum(4**n for n in range(length + 1))
    total = sum(
        weight * walks(tuple(r for r in body if r >= 0), edges)
        for body, weight in zip(bodies.steps.tolist(), bodies.weights.tolist(), strict=True)
    )
    for head in range(edges.n_entities):
        plain = plain_scores(operators[0], memory[0], head, edges, divide=False)
        torch.testing.assert_close(total[head], plain)


def test_a_narrow_beam_keeps_the_heaviest_bodies() -> None:
    operators, memory = (part[0].numpy() for part in random_attention(1, 2, 4, seed=3))
    few, all_of_them = read_bodies(operators, memory, 40), read_bodies(operators, memory, 10_000)
    assert few.steps[:5].tolist() == all_of_them.steps[:5].tolist()
    np.testing.assert_allclose(few.weights[:5], all_of_them.weights[:5], rtol=0.05)
    assert (np.diff(few.weights) <= 0).all()


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=9),
    st.lists(st.integers(0, 9), min_size=1, max_size=9),
    st.integers(1, 30),
)
def test_the_largest_products_are_among_the_promising_pairs(rows: list[int], columns: list[int], most: int) -> None:
    first, second = (np.array(sorted(row, reverse=True)) for row in (rows, columns))
    i, j = promising_pairs(len(first), len(second), most)
    found = np.sort(first[i] * second[j])[::-1][:most]
    assert found.tolist() == np.sort(np.outer(first, second).ravel())[::-1][:most].tolist()


def test_turns_are_counted_as_walks_are() -> None:
    graph = random_graph(9, relations=3)
    edges = Edges.of(graph)
    for relation, share in enumerate(turns(graph).tolist()):
        there_and_back = walks((relation, (relation + 3) % 6), edges)
        assert share == pytest.approx(float(there_and_back.diagonal().sum() / there_and_back.sum()))


def test_a_body_gets_the_weight_of_others_that_turn() -> None:
    r, s, back = 0, 1, 2  # of two relations; 2 is the inverse of 0
    steps = np.array([[r, back, s], [r, back, r], [s, -1, -1], [r, back, -1]])
    found = without_turns(Bodies(steps, np.array([0.4, 0.2, 0.1, 0.3])), np.array([0.5, 1.0, 0.25, 1.0]))
    by_body = {tuple(step for step in body if step >= 0): weight for body, weight in zip(*found, strict=True)}
    assert by_body == pytest.approx(
        {
            (r, back, s): 0.4,
            (r, back, r): 0.2,
            (s,): 0.1 + 0.4 * 0.5,
            (r, back): 0.3,
            (r,): 0.2 * 0.5,
            (): 0.15,
        }
    )
    alone = Bodies(np.array([[r]]), np.ones(1))
    assert without_turns(alone, np.ones(4)).weights.tolist() == [1.0]


def test_walks_there_and_back_and_there_again_are_told_as_one_step() -> None:
    """Attention that has to take three steps, where there is one to go."""
    facts = [fact for i in range(9) for fact in ((f"a{i}", "likes", f"b{i}"), (f"a{i}", "adores", f"b{i}"))]
    graph = Dataset.from_names("fans", train=facts).graph
    likes, adores = (graph.vocabulary.relation_id(name) for name in ("likes", "adores"))
    operators, memory = np.zeros((4, 1, 3, 5)), np.tile(np.eye(4), (4, 1, 1, 1))
    operators[:, 0, (0, 1, 2), (likes, graph.inverse(likes), likes)] = 1.0
    rules = make_rules(
        graph, operators, memory, examples=ExampleFacts.all_of(graph), least=0.01, most=10, budget=None, seed=0
    )
    (only,) = rules.filter(head_relation="adores")
    assert only.rule == Rule("adores", ("likes",))
    assert (only.support, only.score) == (9, 1.0)
    assert adores != likes


def test_a_light_rule_is_kept_where_the_heavy_one_leads_nowhere() -> None:
    facts = [(f"a{i}", "likes", f"b{i}") for i in range(20)] + [(f"a{i}", "adores", f"b{i}") for i in range(20)]
    facts += [("x", "avoids", "y")]
    graph = Dataset.from_names("fans", train=facts).graph
    likes, avoids, adores = (graph.vocabulary.relation_id(name) for name in ("likes", "avoids", "adores"))
    operators, memory = np.zeros((6, 1, 1, 7)), np.tile(np.eye(2), (6, 1, 1, 1))
    operators[adores, 0, 0, [likes, avoids]] = 0.001, 0.999
    rules = make_rules(
        graph, operators, memory, examples=ExampleFacts.all_of(graph), least=0.01, most=10, budget=None, seed=0
    )
    assert {scored.rule.body for scored in rules} == {("likes",), ("avoids",)}


@BOTH
def test_rules_are_valid_and_measured(learner: type[Any]) -> None:
    model = learner(**SMALL, rules_per_relation=5).fit(families(6))
    for scored in model.rules.filter(head_relation="grandparent_of"):
        expected = 6 if scored.rule.body == ("parent_of", "parent_of") else 0
        assert scored.support == expected
        assert scored.body_count >= 6
    for relation, rules in model.rules.per_relation().items():
        assert 0 < len(rules) <= 5
        scores = [scored.score for scored in rules]
        assert all(score is not None and max(s for s in scores if s) * 0.01 <= score <= 1 for score in scores)
        assert Rule(relation, (relation,)) not in rules


@BOTH
def test_rules_give_the_order_of_the_scores(learner: type[Any]) -> None:
    """Two steps away there is one walk for each body, and none that passes an entity twice: the same shares."""
    relations = ["r", "s", "t"]
    ways = [(a, b) for a, b in product(relations, relations) if a != b]
    facts = [("x", a, f"{a}{b}") for a, b in ways] + [(f"{a}{b}", b, f"end {a}{b}") for a, b in ways]
    options = SMALL | {"training": replace(TRAINING, epochs=1)}
    model = learner(**options | {"chains": 1} if learner is DRUM else options)
    model.min_weight, model.rules_per_relation = 0.0, 1000
    model.fit(Dataset.from_names("ways", train=facts).graph)
    asked = [("x", "r", f"end {a}{b}") for a, b in ways]
    native, by_rules = np.array(model.score(asked)), model.rule_searcher()
    words = by_rules.graph.vocabulary
    tails = np.array([words.entity_id(tail) for *_, tail in asked], np.int32)
    heads, relation = np.full_like(tails, words.entity_id("x")), np.full_like(tails, words.relation_id("r"))
    scores = by_rules.score(heads, relation, tails)
    np.testing.assert_allclose(scores / scores.sum(), native / native.sum(), rtol=1e-5)


@BOTH
def test_explains(learner: type[Any]) -> None:
    model = learner(**SMALL).fit(families(6))
    (first, *_) = model.explain(("ann1", "grandparent_of", "cid1"))
    assert first.rule.rule == Rule("grandparent_of", ("parent_of", "parent_of"))
    assert first.groundings == (("ann1", "bob1", "cid1"),)


# --- learning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: NeuralLPNetwork(3, 2, 8), lambda: DRUMNetwork(3, 2, 3, 8)])
def test_gradients_of_a_network_are_those_of_dense_matrices(make: Any) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = make().double()
    edges = Edges.of(random_graph(1))
    queries = torch.stack([edges.heads, edges.relations, edges.tails], dim=1)[::3]
    relations, groups = torch.unique(queries[:, 1], return_inverse=True)
    operators, memory = network.attention(relations)
    plain = plain_loss(operators, memory, groups, queries, edges)
    loss = network.loss(queries, edges)
    torch.testing.assert_close(loss, plain)
    names, parameters = zip(*network.named_parameters(), strict=True)
    ours, theirs = (torch.autograd.grad(of, parameters, allow_unused=True) for of in (loss, plain))
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert one is not None, name
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-12, msg=name)


def test_attention_of_neural_lp() -> None:
    """Step by step: the LSTM reads the relation L times, then the end; memory looks back, itself included."""
    network = NeuralLPNetwork(3, 2, 8).double()
    operators, memory = network.attention(torch.tensor([4]))
    assert operators.shape == (1, 1, 2, 7)
    assert memory.shape == (1, 1, 3, 3)
    state, seen = None, []
    for t, asked in enumerate([4, 4, 6]):
        h, state = network.states(network.queries(torch.tensor([[asked]])), state)
        seen.append(h[0, 0])
        if t < 2:
            a = network.operators(h[0, 0]).softmax(0)
            torch.testing.assert_close(operators[0, 0, t], torch.cat([a, torch.zeros(1).double()]))
        b = torch.stack([h[0, 0] @ other for other in seen]).softmax(0)
        torch.testing.assert_close(memory[0, 0, t], torch.cat([b, torch.zeros(2 - t).double()]))


def test_attention_of_drum() -> None:
    """Each chain has its own states in both directions, and its operators sum to one, staying included."""
    network = DRUMNetwork(3, 2, 3, 8).double()
    operators, memory = network.attention(torch.tensor([4, 1]))
    assert operators.shape == (2, 3, 2, 7)
    torch.testing.assert_close(memory, torch.eye(3).double().expand(2, 3, 3, 3))
    asked = network.queries(torch.tensor([[4, 4, 6]]))
    for chain, states in enumerate(network.states):
        h = states(asked)[0][0]  # (L + 1, 2d)
        torch.testing.assert_close(operators[0, chain], network.operators(h[:2]).softmax(-1))
    assert not torch.allclose(operators[0, 0], operators[0, 1])


@BOTH
def test_learns_nothing_from_the_fact_itself(learner: type[Any]) -> None:
    """Facts that nothing else supports: a learner that saw what it is asked for would learn r <- ~(~r)."""
    pairs = Dataset.from_names("pairs", train=[(f"a{i}", "likes", f"b{i}") for i in range(20)]).graph
    model = learner(**SMALL | {"training": replace(TRAINING, epochs=3)}).fit(pairs)
    assert [epoch["loss"] for epoch in model.learned_.course.epochs] == pytest.approx([-np.log(1e-20)] * 3)


@BOTH
def test_answers_about_other_entities(learner: type[Any]) -> None:
    model = learner(**SMALL).fit(families(6))
    facts = [("x", "parent_of", "y"), ("y", "parent_of", "z"), ("x", "new", "w"), ("v", "grandparent_of", "w")]
    other = Dataset.from_names("other", train=facts).graph
    (answers,) = model.answer([("x", "grandparent_of")], graph=other)
    assert answers[0].entity == "z"
    assert model.score([("x", "new", "w")], graph=other) == [0.0]  # a relation that it has never seen
    assert model.explain(("x", "grandparent_of", "z"), graph=other)[0].groundings == (("x", "y", "z"),)


@BOTH
def test_same_seed_and_kept_on_disk(learner: type[Any], tmp_path: Path) -> None:
    graph, asked = families(6), [("ann1", "grandparent_of", "cid1"), ("cid2", "~parent_of", "bob2")]
    options = SMALL | {"training": replace(TRAINING, epochs=2)}
    model = learner(**options, seed=3).fit(graph)
    again = learner(**options, seed=3).fit(graph)
    other = learner(**options, seed=4).fit(graph)
    assert model.score(asked) == again.score(asked)
    assert model.rules == again.rules
    assert model.score(asked) != other.score(asked)
    model.save(tmp_path / "model")
    kept = load_model(tmp_path / "model")
    assert isinstance(kept, learner)
    assert kept.rules == model.rules
    assert kept.score(asked, graph=graph) == model.score(asked)
    assert kept.explain(asked[0], graph=graph) == model.explain(asked[0])


ODD = {
    "one relation": [("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c")],
    "a loop": [("a", "r", "a"), ("a", "r", "b"), ("b", "s", "a")],
    "a relation with one fact": [("a", "r", "b"), ("b", "r", "a"), ("b", "s", "c")],
    "one fact": [("a", "r", "b")],
}


@BOTH
@pytest.mark.parametrize("facts", ODD.values(), ids=ODD)
def test_odd_graphs(learner: type[Any], facts: list[tuple[str, str, str]]) -> None:
    dataset = Dataset.from_names("odd", train=facts, test=[("alone", "r", "a")])  # `alone` is in no fact
    model = learner(**SMALL | {"training": replace(TRAINING, batch_size=1, epochs=2)}).fit(dataset.graph)
    (answers,) = model.answer([("alone", "r")])
    assert [answer.entity for answer in answers] in ([], ["alone"])  # by staying, where a loop makes that an answer
    assert np.isfinite(model.score([("a", "r", "b"), ("alone", "r", "b")])).all()
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.network_.parameters())


@BOTH
@pytest.mark.parametrize(
    ("option", "value"),
    [("max_length", 0), ("max_length", 7), ("size", 0), ("min_weight", 1.5), ("rules_per_relation", 0)],
)
def test_bad_options_are_refused_by_name(learner: type[Any], option: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"'{option}' of {learner.__name__} must be"):
        learner(**{option: value}).fit(families(1))


@BOTH
def test_bad_options_of_training_are_refused_by_name(learner: type[Any]) -> None:
    with pytest.raises(OptionError, match=r"'training\.epochs' must be"):
        learner.with_options({"training.epochs": 0})


def test_no_chain_is_no_model() -> None:
    with pytest.raises(OptionError, match="'chains' of DRUM must be at least 1, got 0"):
        DRUM(chains=0).check_options()


@BOTH
def test_a_budget_of_no_time_still_gives_a_model(learner: type[Any]) -> None:
    model = learner(**SMALL).fit(families(3), minutes=0.0)
    assert model.learned_.ended_by == "minutes"
    assert len(model.rules)
