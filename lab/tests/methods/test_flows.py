"""Sums and extremes of messages against loops, and their gradients against differences."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from stablerule_lab.methods.shared.flows import Flow, extremes, offsets_of, total


def flow_of(messages: Tensor, receivers: Tensor, n_messages: int, n_receivers: int) -> Flow:
    """The flow of deliveries in any order, both (K,)."""
    by_receiver, by_message = torch.argsort(receivers, stable=True), torch.argsort(messages, stable=True)
    return Flow(
        offsets_of(torch.bincount(receivers, minlength=n_receivers)),
        messages[by_receiver],
        offsets_of(torch.bincount(messages, minlength=n_messages)),
        receivers[by_message],
    )


def random_flow(seed: int, messages: int = 7, receivers: int = 5, count: int = 20) -> tuple[Flow, list[list[int]]]:
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.randint(messages * (receivers - 1), (count,), generator=generator)
    pairs = torch.unique(pairs)  # the last receiver gets nothing
    flow = flow_of(pairs % messages, pairs // messages, messages, receivers)
    return flow, [(pairs % messages)[pairs // messages == t].tolist() for t in range(receivers)]


def plain(values: Tensor, lists: list[list[int]]) -> tuple[Tensor, Tensor, Tensor]:
    nothing = torch.zeros_like(values[0])
    rows = [values[some] for some in lists]
    return (
        torch.stack([row.sum(dim=0) for row in rows]),
        torch.stack([row.amax(dim=0) if len(row) else nothing for row in rows]),
        torch.stack([row.amin(dim=0) if len(row) else nothing for row in rows]),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(5))
def test_sums_and_extremes_are_those_of_loops(dtype: torch.dtype, seed: int) -> None:
    flow, lists = random_flow(seed)
    values = torch.randn(7, 3, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    values[values.abs() < 0.3] = 0.0  # many zeros, of either sign
    values[0] = -values[0] * 1e-30
    values.requires_grad_()
    weights = torch.randn(3, 5, 3, dtype=dtype)
    found = (total(values, flow), *extremes(values, flow))
    expected = plain(values, lists)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    gradients = torch.autograd.grad((total(values, flow) * weights[0]).sum(), values)
    torch.testing.assert_close(gradients, torch.autograd.grad((plain(values, lists)[0] * weights[0]).sum(), values))
    # Of equal messages one gets the whole gradient: what all get together is the same.
    mine = torch.autograd.grad((found[1] * weights[1] + found[2] * weights[2]).sum(), values)[0]
    other = torch.autograd.grad((expected[1] * weights[1] + expected[2] * weights[2]).sum(), values)[0]
    torch.testing.assert_close(mine.sum(dim=0), other.sum(dim=0))
    at = values.detach() != 0
    torch.testing.assert_close(mine[at], other[at])


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_differences(seed: int) -> None:
    flow, _ = random_flow(seed)
    values = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: (total(v, flow), *extremes(v, flow)), (values,))


def test_both_ways_to_extremes_send_gradients_to_the_same_messages() -> None:
    flow, _ = random_flow(3, messages=50, receivers=30, count=400)
    values = torch.randn(50, 8)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        cast = values.detach().to(dtype, copy=True).requires_grad_()
        largest, smallest = extremes(cast, flow)
        (2 * largest.sum() - 3 * smallest.sum()).backward()  # type: ignore[no-untyped-call]
        assert cast.grad is not None
        gradients.append(cast.grad.float())
    assert torch.equal(*gradients)


def test_nothing_flows() -> None:
    none = torch.empty(0, dtype=torch.int64)
    for messages, receivers in ((0, 2), (3, 2), (3, 0)):
        values = torch.ones(messages, 4, requires_grad=True)
        flow = flow_of(none, none, messages, receivers)
        found = (total(values, flow), *extremes(values, flow))
        assert all(torch.equal(part, torch.zeros(receivers, 4)) for part in found)
        torch.stack([part.sum() for part in found]).sum().backward()  # type: ignore[no-untyped-call]
        assert values.grad is not None
        assert not values.grad.any()
