"""The factored network against the plain recursion: the same numbers, values and gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from stablerule.errors import InputError, OptionError
from stablerule.learning.network import RuleNetwork, Selector

R, D = 3, 5
SELECTORS: tuple[Selector, ...] = ("straight-through", "argmax")


class Plain(nn.Module):
    """The paper's section 4.3 word for word: an LSTM over every window of every body, one body at a time."""

    def __init__(self, network: RuleNetwork) -> None:
        super().__init__()
        self.straight_through = network.selector == "straight-through"
        self.lstm = nn.LSTM(network.size, network.size, batch_first=True).double()
        self.relations = nn.Parameter(network.relations.detach().clone())
        self.negative = nn.Parameter(network.negative.detach().clone())
        self.window_weight = nn.Parameter(network.window_weight.detach().clone())
        self.query_weight = nn.Parameter(network.query_weight.detach().clone())
        self.key_weight = nn.Parameter(network.key_weight.detach().clone())
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

    def attention(self, vector: Tensor, table: Tensor) -> Tensor:
        scale = math.sqrt(self.relations.shape[1])
        return (vector @ self.query_weight) @ (table @ self.key_weight).T / scale

    def read(self, items: Tensor) -> Tensor:
        """Merge a sequence (n, d) to one vector (d,)."""
        n = len(items)
        if n <= 2:
            return self.window(items)
        omega = torch.stack([self.window(items[k : k + 2]) for k in range(n - 1)])
        q = (omega @ self.window_weight).softmax(0)
        choice = nn.functional.one_hot(q.argmax(), n - 1).to(q)
        if self.straight_through:
            choice = choice + q - q.detach()
        merged = self.attention(omega, self.relations).softmax(1) @ (self.relations @ self.key_weight)
        after = [torch.cat([items[:k], merged[k : k + 1], items[k + 2 :]]) for k in range(n - 1)]
        if n == 3:
            return torch.stack([choice[k] * self.read(after[k]) for k in range(2)]).sum(0)
        return self.read(torch.stack([choice[k] * after[k] for k in range(n - 1)]).sum(0))

    def forward(self, bodies: Tensor) -> tuple[Tensor, Tensor]:
        Z = torch.stack([self.read(self.relations[body]) for body in bodies])
        return Z, self.attention(Z, torch.cat([self.relations, self.negative]))

    def gradients(self) -> dict[str, Tensor | None]:
        mine = {name: p.grad for name, p in self.named_parameters()}
        renamed = {"weight_ih_l0": "input_weight", "weight_hh_l0": "state_weight", "bias_ih_l0": "bias"}
        mine |= {new: mine.pop(f"lstm.{old}") for old, new in renamed.items()}
        mine.pop("lstm.bias_hh_l0")
        return mine


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small matrices gain nothing from threads, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(selector: Selector = "straight-through", seed: int = 0) -> RuleNetwork:
    network = RuleNetwork(R, D, selector=selector, generator=generator(seed)).double()
    with torch.no_grad():  # a livelier network than at the start: attention and choices far from uniform
        network.bias.copy_(torch.randn(4 * D, generator=generator(seed + 1), dtype=torch.float64))
        network.query_weight.mul_(3)
        network.window_weight.mul_(3)
    return network


def make_bodies(length: int, count: int = 24, seed: int = 2) -> Tensor:
    return torch.randint(0, 2 * R, (count, length), generator=generator(seed))


def push_back(network: nn.Module, bodies: Tensor) -> tuple[Tensor, Tensor]:
    """Run forward and backward through a loss that looks at every part of the output."""
    Z, logits = network(bodies)
    y = torch.randint(0, logits.shape[1], (len(bodies),), generator=generator(3))
    mix = torch.randn(Z.shape, generator=generator(4), dtype=Z.dtype)
    loss = nn.functional.cross_entropy(logits, y, reduction="sum") + (mix * Z.square()).sum() + (mix * Z).sum()
    loss.backward()
    return Z.detach(), logits.detach()


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_equals_the_plain_recursion_in_values_and_gradients(length: int, selector: Selector) -> None:
    for seed in range(2):
        network, bodies = make(selector, seed=10 * seed), make_bodies(length, seed=seed)
        plain = Plain(network)
        for ours, theirs in zip(push_back(network, bodies), push_back(plain, bodies), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)
        expected = plain.gradients()
        assert expected.keys() == dict(network.named_parameters()).keys()
        for name, parameter in network.named_parameters():
            theirs_or_zero = expected[name]
            if parameter.grad is None:
                assert theirs_or_zero is None or not theirs_or_zero.any(), name
            else:
                assert theirs_or_zero is not None, name
                torch.testing.assert_close(parameter.grad, theirs_or_zero, rtol=1e-9, atol=1e-10, msg=name)


def test_bodies_merge_at_every_place() -> None:
    """The comparison above would prove little if the same window always won."""
    network = make()
    chosen = set()
    for body in make_bodies(5):
        pairs = torch.stack([body[:-1], body[1:]], 1)
        omega = network._list_windows(network.compute_tables().gates, pairs)
        chosen.add(int((omega @ network.window_weight).argmax()))
    assert chosen == {0, 1, 2, 3}


@pytest.mark.parametrize("length", [3, 4, 5])
def test_scorer_learns_by_straight_through_only(length: int) -> None:
    network = make("straight-through")
    push_back(network, make_bodies(length))
    assert network.window_weight.grad is not None
    assert network.window_weight.grad.abs().max() > 1e-6
    literal = make("argmax")
    push_back(literal, make_bodies(length))
    assert literal.window_weight.grad is None


@pytest.mark.parametrize("length", [3, 4, 5])
def test_selectors_agree_in_the_forward_pass(length: int) -> None:
    bodies = make_bodies(length)
    for ours, theirs in zip(make("straight-through")(bodies), make("argmax")(bodies), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_order_of_bodies_and_their_company_do_not_matter(length: int, selector: Selector) -> None:
    network, bodies = make(selector), make_bodies(length)
    order = torch.randperm(len(bodies), generator=generator(5))
    Z, logits = network(bodies)
    Z_moved, logits_moved = network(bodies[order])
    torch.testing.assert_close(Z_moved, Z[order], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(logits_moved, logits[order], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(network(bodies[:1])[0], Z[:1], rtol=1e-12, atol=1e-12)


def test_mixed_lengths_equal_each_length_alone() -> None:
    network = make()
    parts = [make_bodies(length, count=4, seed=length) for length in (3, 1, 4, 2)]
    padded = torch.cat([nn.functional.pad(part, (0, 4 - part.shape[1]), value=-1) for part in parts])
    order = torch.randperm(len(padded), generator=generator(6))
    Z, logits = network.forward_mixed(padded[order])
    alone = [network(part) for part in parts]
    torch.testing.assert_close(Z, torch.cat([z for z, _ in alone])[order], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(logits, torch.cat([x for _, x in alone])[order], rtol=1e-12, atol=1e-12)


def test_narrow_integers_give_the_same_numbers() -> None:
    for length in (1, 2, 3, 4):
        bodies = make_bodies(length)
        for selector in SELECTORS:
            network = make(selector)
            assert torch.equal(network(bodies)[1], network(bodies.int())[1])


def test_float32_is_near_float64() -> None:
    bodies = make_bodies(3)
    exact = make()
    torch.testing.assert_close(make().float()(bodies)[1].double(), exact(bodies)[1], rtol=1e-4, atol=1e-5)


def test_start_depends_on_the_generator_alone() -> None:
    before = torch.get_rng_state()
    first, again, other = (RuleNetwork(R, D, generator=generator(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    assert not torch.equal(first.relations, other.relations)


def test_no_pair_is_merged_into_neg() -> None:
    network, bodies = make(), make_bodies(3)
    Z, logits = network(bodies)
    with torch.no_grad():
        network.negative.add_(1.0)
    Z_after, logits_after = network(bodies)
    assert torch.equal(Z, Z_after)
    assert torch.equal(logits[:, :-1], logits_after[:, :-1])
    assert not torch.equal(logits[:, -1], logits_after[:, -1])


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_an_empty_batch_has_an_empty_answer(length: int) -> None:
    Z, logits = make()(torch.empty(0, length, dtype=torch.int64))
    assert Z.shape == (0, D)
    assert logits.shape == (0, 2 * R + 1)


def test_bad_bodies_and_options_say_what_is_wrong() -> None:
    network = make()
    with pytest.raises(InputError, match=r"must be in 0\.\.5, got 0\.\.6"):
        network(torch.tensor([[0, 6]]))
    with pytest.raises(InputError, match=r"must be in 0\.\.5"):
        network(torch.tensor([[0, -1]]))
    with pytest.raises(InputError, match=r"integers \(U, L\), got torch.float32"):
        network(torch.zeros(2, 2))
    with pytest.raises(InputError, match=r"integers \(U, L\)"):
        network(torch.zeros(2, 0, dtype=torch.int64))
    with pytest.raises(InputError, match="may only pad the end"):
        network.forward_mixed(torch.tensor([[0, 1], [-1, 1]]))
    with pytest.raises(OptionError, match="selector must be"):
        RuleNetwork(R, D, selector=cast("Selector", "best"), generator=generator())
    with pytest.raises(OptionError, match="at least 1"):
        RuleNetwork(0, D, generator=generator())
