"""NCRL: its attention against the plain recursion, and what its two variants differ in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from stablerule import Dataset, households, load_model
from stablerule.errors import OptionError
from stablerule.learning.network import Selector
from stablerule.reasoning.learned import Choice
from stablerule_lab.methods.ncrl import NCRL, CompositionTraining, NCRLNetwork

R, D = 3, 5
STEPS = 20
SMALL: dict[str, Any] = {
    "walks": 20_000,
    "training": CompositionTraining(steps=STEPS, batch_size=300, size=8),
}
WORLD = households(families=4, seed=0).dataset


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(selector: Selector, seed: int) -> NCRLNetwork:
    network = NCRLNetwork(R, D, selector=selector, generator=generator(seed)).double()
    with torch.no_grad():  # livelier than at the start, so that no part of it is near nothing
        network.bias.copy_(torch.randn(4 * D, generator=generator(seed + 1), dtype=torch.float64))
        for weight in (network.query_weight, network.key_weight, network.window_weight):
            weight.mul_(3)
    return network


class Plain:
    """One body at a time, an LSTM over every window, attention over the relations and the state itself."""

    def __init__(self, network: NCRLNetwork) -> None:
        self.n = network
        self.lstm = nn.LSTM(D, D, batch_first=True).double()
        self.lstm.load_state_dict(
            {
                "weight_ih_l0": network.input_weight,
                "weight_hh_l0": network.state_weight,
                "bias_ih_l0": network.bias,
                "bias_hh_l0": torch.zeros_like(network.bias),
            }
        )

    def window(self, items: Tensor) -> Tensor:
        return cast("Tensor", self.lstm(items[None])[1][0][0, 0])

    def attention(self, state: Tensor) -> Tensor:
        """(2R + 1,): the state asks; the keys are the relations' and, last, its own."""
        keys = torch.cat([self.n.relations, state[None]]) @ self.n.key_weight
        return keys @ (state @ self.n.query_weight) / math.sqrt(D)

    def read(self, body: Tensor) -> Tensor:
        items = self.n.relations[body]
        while len(items) > 2:
            states = torch.stack([self.window(items[i : i + 2]) for i in range(len(items) - 1)])
            k = int((states @ self.n.window_weight).argmax())
            merged = self.attention(states[k]).softmax(0) @ torch.cat([self.n.relations, states[k : k + 1]])
            items = torch.cat([items[:k], merged[None], items[k + 2 :]])
        return self.window(items)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("selector", ["straight-through", "argmax"])
def test_equals_the_plain_recursion(selector: Selector, length: int) -> None:
    network = make(selector, seed=length)
    bodies = torch.randint(0, 2 * R, (12, length), generator=generator(2))
    z, logits = network(bodies)
    plain = Plain(network)
    states = torch.stack([plain.read(body) for body in bodies])
    torch.testing.assert_close(z, states, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(logits, torch.stack([plain.attention(state) for state in states]), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("length", [2, 3])
def test_gradients_are_those_of_the_plain_recursion(length: int) -> None:
    network = make("argmax", seed=length)
    bodies = torch.randint(0, 2 * R, (12, length), generator=generator(2))
    mix = torch.randn(12, 2 * R + 1, generator=generator(4), dtype=torch.float64)
    (mix * network(bodies)[1].log_softmax(1)).sum().backward()
    names = ("relations", "query_weight", "key_weight")
    ours = {name: getattr(network, name).grad.clone() for name in names}
    network.zero_grad()
    plain = Plain(network)
    logits = torch.stack([plain.attention(plain.read(body)) for body in bodies])
    (mix * logits.log_softmax(1)).sum().backward()  # type: ignore[no-untyped-call]
    for name in names:
        torch.testing.assert_close(ours[name], getattr(network, name).grad, rtol=1e-8, atol=1e-9, msg=name)


def test_only_the_fixed_variant_trains_what_chooses_a_pair() -> None:
    bodies = torch.randint(0, 2 * R, (12, 3), generator=generator(2))
    trained = {}
    selectors: tuple[Selector, ...] = ("straight-through", "argmax")
    for selector in selectors:
        network = make(selector, seed=0)
        network(bodies)[1].square().sum().backward()
        gradient = network.window_weight.grad
        trained[selector] = gradient is not None and bool(gradient.abs().sum() > 0)
        others = [p.grad for name, p in network.named_parameters() if name != "window_weight"]
        assert all(g is not None and bool(g.isfinite().all()) for g in others)
    assert trained == {"straight-through": True, "argmax": False}


def choice_of(model: NCRL) -> Choice:
    assert model.learned_.choice is not None
    return model.learned_.choice


def weighed_by(model: NCRL) -> tuple[str, str]:
    aggregation = choice_of(model).aggregation
    return aggregation.name, aggregation.by


def test_faithful_does_as_the_published_code() -> None:
    faithful = NCRL(variant="faithful", **SMALL).fit(WORLD.graph, WORLD.valid)
    assert {rule.rule.length for rule in faithful.rules} <= {2, 3}
    assert weighed_by(faithful) == ("count", "score")
    assert choice_of(faithful).judged == 0
    fixed = NCRL(**SMALL).fit(WORLD.graph, WORLD.valid)
    assert {rule.rule.length for rule in fixed.rules} == {1, 2, 3}
    assert choice_of(fixed).chosen_on == "the validation facts"
    assert fixed.learned_.course is not None
    assert len(fixed.learned_.course.steps) == 3 * STEPS  # one length after the other
    asked = NCRL(variant="faithful", aggregation="max_plus", **SMALL).fit(WORLD.graph)
    assert weighed_by(asked) == ("max_plus", "confidence")


def test_the_same_seed_gives_the_same_rules_and_a_kept_model_the_same_answers(tmp_path: Path) -> None:
    model = NCRL(**SMALL, aggregation="max_plus").fit(WORLD.graph)
    torch.manual_seed(5)
    assert NCRL(**SMALL, aggregation="max_plus").fit(WORLD.graph).rules == model.rules
    assert NCRL(**SMALL, aggregation="max_plus", seed=1).fit(WORLD.graph).rules != model.rules
    model.save(tmp_path / "m")
    taken_up = load_model(tmp_path / "m")
    query = [(WORLD.vocabulary.entity_name(0), WORLD.vocabulary.relation_name(0))]
    assert list(taken_up.answer(query, graph=WORLD.graph)) == list(model.answer(query))


def test_a_graph_without_walks_has_no_rules() -> None:
    loop = Dataset.from_names("loop", train=[("a", "r", "a")]).graph
    assert len(NCRL(**SMALL).fit(loop).rules) == 0
    assert len(NCRL(variant="faithful", **SMALL).fit(loop).rules) == 0
    assert NCRL(**SMALL).plan_lines(loop)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("variant", "new"),
        ("training.size", 0),
        ("training.steps", 0),
        ("training.batch_size", 0),
        ("training.learning_rate", 0.0),
        ("max_length", 9),
    ],
)
def test_bad_options_are_named(option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=option):
        NCRL.with_options(SMALL | {option: value}).fit(WORLD.graph)


def test_faithful_needs_two_steps() -> None:
    with pytest.raises(OptionError, match="max_length"):
        NCRL(variant="faithful", max_length=1).fit(WORLD.graph)
