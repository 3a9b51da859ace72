"""RNNLogic: the generator against plain loops and against counting everything, and the learner as a whole."""

from __future__ import annotations

import signal
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from stablerule import Dataset, households, load_model
from stablerule.errors import OptionError
from stablerule.reasoning.scoring.explain import find_first_rules_of_reasons
from stablerule_lab.methods.rnnlogic.generator import RuleGenerator
from stablerule_lab.methods.rnnlogic.learner import Generator, Predictor, RNNLogic, posterior
from stablerule_lab.methods.rnnlogic.worth import Written
from tests.paths.plain import reached

R, D, L = 2, 6, 3
ROUNDS = 2
SMALL: dict[str, Any] = {
    "walks": 20_000,
    "rounds": ROUNDS,
    "sampled_rules": 20,
    "rules_per_relation": 20,
    "generator": Generator(size=16, first_steps=80, rate=0.02, steps=5),
    "predictor": Predictor(epochs=5, learning_rate=0.01),
}
BIASED = SMALL | {"predictor": replace(SMALL["predictor"], entity_bias=True)}
WORLD = households(families=4, seed=0).dataset


def rounds_of(model: RNNLogic) -> list[dict[str, Any]]:
    assert model.learned_.course is not None
    return model.learned_.course.rounds


def make() -> RuleGenerator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        generator = RuleGenerator(R, D, L).double()
        with torch.no_grad():
            generator.labels.weight.mul_(4)
    return generator.eval()


def all_bodies() -> Tensor:
    found = [(*body, *(-1,) * (L - n)) for n in range(1, L + 1) for body in product(range(2 * R), repeat=n)]
    return torch.tensor(found)


def plain_log_p(generator: RuleGenerator, head: int, body: list[int]) -> float:
    """One label after the other, the whole sequence read anew for each."""
    labels = [*body, generator.end] if len(body) < L else body
    total = 0.0
    for step, label in enumerate(labels):
        read = torch.tensor([head, *body[:step]])
        items = torch.cat([generator.relations(read), generator.relations(torch.full_like(read, head))], dim=1)
        logits = generator.labels(generator.lstm(items[None])[0][0, -1])
        if step == 0:
            logits = logits[:-1]
        total += float(logits.log_softmax(0)[label])
    return total


def test_the_probability_of_a_body_is_the_product_of_its_labels() -> None:
    generator, bodies = make(), all_bodies()
    with torch.no_grad():
        for head in range(2 * R):
            found = generator.log_p(torch.full((len(bodies),), head), bodies)
            expected = [plain_log_p(generator, head, [r for r in body if r >= 0]) for body in bodies.tolist()]
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)
            assert float(found.exp().sum()) == pytest.approx(1)


def test_bodies_are_written_as_often_as_they_are_likely() -> None:
    generator, bodies, n = make(), all_bodies(), 20_000
    with torch.no_grad():
        expected = generator.log_p(torch.full((len(bodies),), 1), bodies).exp().numpy()
    drawn = generator.sample(torch.full((n,), 1), torch.Generator().manual_seed(0))
    places = {tuple(body): i for i, body in enumerate(bodies.tolist())}
    counts = np.bincount([places[tuple(body)] for body in drawn.tolist()], minlength=len(bodies))
    assert np.abs(counts / n - expected).max() < 5 * np.sqrt(0.25 / n)


def test_a_wide_beam_finds_the_best() -> None:
    generator, bodies = make(), all_bodies()
    with torch.no_grad():
        log_p = generator.log_p(torch.full((len(bodies),), 2), bodies)
    log_p[(bodies == torch.tensor([2, -1, -1])).all(1)] = -torch.inf  # r <- r is no rule
    order = log_p.argsort(descending=True)
    k = len(bodies) - 1
    assert generator.best(2, k).tolist() == bodies[order[:k]].tolist()
    assert generator.best(2, 10 * k).tolist() == bodies[order[:k]].tolist()
    assert generator.best(2, 1).tolist() == bodies[order[:1]].tolist()


def test_the_posterior_is_never_below_zero() -> None:
    found = posterior(np.array([0.5, 0.004, 0.3]), np.array([-2.0, -9.0, -300.0]), 1e-3)
    np.testing.assert_allclose(found, [0.498, 0.0, 0.0], atol=1e-12)


def test_rules_count_once_and_none_concludes_itself() -> None:
    rules = Written.of(np.array([1, 0, 1, 1, 1]), np.array([[2, -1], [1, -1], [1, -1], [2, -1], [1, 3]]))
    assert rules.heads.tolist() == [0, 1, 1]
    assert rules.bodies.tolist() == [[1, -1], [1, 3], [2, -1]]


@pytest.fixture(scope="module", params=[BIASED, SMALL], ids=["biased", "plain"])
def fitted(request: pytest.FixtureRequest) -> RNNLogic:
    return RNNLogic(**request.param).fit(WORLD.graph, WORLD.valid)


def test_a_score_is_weights_times_paths_and_the_bias(fitted: RNNLogic) -> None:
    graph, words = WORLD.graph, WORLD.vocabulary
    for head, relation in [(0, 0), (3, graph.n_relations + 1), (5, 2)]:
        own = [one for one in fitted.rules if one.rule.head_relation == words.relation_name(relation)]
        scores = (
            fitted.bias[relation].astype(np.float64) if fitted.predictor.entity_bias else np.zeros(graph.n_entities)
        )
        for one in own:
            assert one.score is not None
            body = tuple(words.relation_id(name) for name in one.rule.body)
            for entity, paths in reached(graph, head, body).items():
                scores[entity] += one.score * paths
        asked = [(words.entity_name(head), words.relation_name(relation), words.entity_name(e)) for e in range(30)]
        np.testing.assert_allclose(fitted.score(asked), scores[:30], rtol=1e-9, atol=1e-12)


def test_rules_have_weights_that_may_be_negative_and_explain(fitted: RNNLogic) -> None:
    weights = np.array([one.score for one in fitted.rules])
    assert weights.min() < 0 < weights.max()
    assert all(one.support is not None and one.support >= 1 for one in fitted.rules)
    triple = WORLD.vocabulary.decode(WORLD.graph.triples).select("head", "relation", "tail").rows()[0]
    reasons = fitted.explain(triple)
    assert reasons
    assert sum(reason.share for reason in reasons) == pytest.approx(1)
    assert fitted.why_not(triple).lines()
    facts = list(fitted.complete(relations=[triple[1]], top=3))
    assert facts
    assert any(fact.rule for fact in facts)


def test_reasons_are_there_only_where_a_rule_leads(fitted: RNNLogic) -> None:
    graph = WORLD.graph
    every = np.arange(graph.n_entities, dtype=np.int32)
    heads, relations = np.full_like(every, graph.facts(0)[0][0]), np.zeros_like(every)
    led = fitted.rule_searcher().rank(heads, relations, every, graph).covered
    searcher = fitted.searcher()
    (entities,), _, reasons = searcher.answer(heads[:1], relations[:1], graph.n_entities, reasons=1)
    assert reasons is not None
    rules = np.full(graph.n_entities, -1, np.int32)
    rules[entities] = find_first_rules_of_reasons(reasons)  # everybody but the head is an answer of a model with biases
    assert (rules >= 0).tolist() == (led & (every != heads[0])).tolist()
    columns = searcher.tabulate_reasons(0, heads, every, rules)
    assert columns["rule"].is_not_null().to_list() == (rules >= 0).tolist()
    lengths, led = columns["path"].list.len().to_numpy(), rules >= 0
    assert lengths[led].min() >= 2
    assert not lengths[~led].any()


def test_a_kept_model_answers_the_same(fitted: RNNLogic, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    taken_up = load_model(tmp_path / "m")
    query = [(WORLD.vocabulary.entity_name(i), WORLD.vocabulary.relation_name(i % 4)) for i in range(6)]
    assert list(taken_up.answer(query, graph=WORLD.graph)) == list(fitted.answer(query))
    assert taken_up.rules == fitted.rules


def test_the_same_seed_gives_the_same_rules(fitted: RNNLogic) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    again = RNNLogic(**(BIASED if fitted.predictor.entity_bias else SMALL)).fit(WORLD.graph, WORLD.valid)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert again.rules == fitted.rules
    assert np.array_equal(again.bias, fitted.bias)
    assert len(rounds_of(again)) == ROUNDS


def test_other_graphs_have_the_biases_of_what_they_share() -> None:
    train = [("a", "r", "b"), ("b", "r", "c"), ("a", "s", "c"), ("c", "s", "b")]
    model = RNNLogic(**BIASED).fit(Dataset.from_names("one", train=train).graph)
    other = Dataset.from_names("other", train=[("new", "s", "b"), ("b", "t", "a")]).graph
    bias, words, own = model.bias_on(other), other.vocabulary, model.vocabulary_
    at = words.relation_id("s"), words.entity_id("b")
    assert bias[at] == model.bias[own.relation_id("s"), own.entity_id("b")]
    assert bias[words.relation_id("~s"), words.entity_id("b")] == model.bias[own.relation_id("~s"), own.entity_id("b")]
    assert bias[at[0], words.entity_id("new")] == pytest.approx(model.bias[own.relation_id("s")].mean())
    assert not bias[words.relation_id("t")].any()
    assert next(model.answer([("new", "s")], graph=other))


def test_examples_are_what_is_asked_for() -> None:
    examples = WORLD.graph.triples.take(np.arange(0, WORLD.graph.n_facts, 2))
    model = RNNLogic(**SMALL).fit(WORLD.graph, examples=examples)
    assert len(model.rules)


def test_ctrl_c_ends_the_rounds_and_keeps_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = RuleGenerator.sample

    def sample(generator: RuleGenerator, heads: Tensor, random: torch.Generator) -> Tensor:
        signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(RuleGenerator, "sample", plain)
        return plain(generator, heads, random)

    monkeypatch.setattr(RuleGenerator, "sample", sample)
    model = RNNLogic(**SMALL).fit(WORLD.graph)
    assert model.learned_.interrupted
    assert len(rounds_of(model)) == 1
    assert len(model.rules)


def test_no_time_still_gives_rules() -> None:
    model = RNNLogic(**SMALL).fit(WORLD.graph, minutes=0.0)
    assert rounds_of(model) == []
    assert len(model.rules)


def test_a_graph_without_walks_has_no_rules() -> None:
    loop = Dataset.from_names("loop", train=[("a", "r", "a")]).graph
    assert len(RNNLogic(**BIASED).fit(loop).rules) == 0
    assert len(RNNLogic(**SMALL).fit(loop).rules) == 0
    assert RNNLogic(**SMALL).plan_lines(loop)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("generator.size", 0),
        ("rounds", -1),
        ("predictor.epochs", 0),
        ("predictor.learning_rate", 0.0),
        ("generator.rate", 99.0),
        ("prior_weight", -1),
    ],
)
def test_bad_options_are_named(option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=option):
        RNNLogic.with_options(SMALL | {option: value}).fit(WORLD.graph)
