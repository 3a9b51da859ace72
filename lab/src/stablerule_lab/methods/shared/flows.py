"""Aggregate messages by receiver: sums and extremes of rows, with gradients that neither sort nor copy.

A receiver aggregates some rows of a table of messages, and a message may go to many receivers. `torch.sparse.mm`
reduces the rows of each receiver in place, without a copy for every edge. Its own gradient would transpose the table of
receivers each time; here a flow is stored in both directions.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.autograd import Function

if TYPE_CHECKING:
    from torch import Tensor

# A float32 as a float64 leaves 29 bits free, which hold the index of its message.
NUMBER_BITS = (1 << 29) - 1
ALMOST_NOTHING = 1e-300  # replaces 0, whose bits must stay a normal number; as a float32 it is 0 again


@dataclass(frozen=True, eq=False)
class Flow:
    """K deliveries of Z messages to T receivers.

    offsets, messages: (T + 1,), (K,): the messages of each receiver, receiver by receiver.
    back_offsets, receivers: (Z + 1,), (K,): the same, message by message.

    >>> flow = Flow(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]))
    >>> total(torch.tensor([[1.0], [2.0]]), flow).tolist()
    [[2.0], [3.0]]
    """

    offsets: Tensor
    messages: Tensor
    back_offsets: Tensor
    receivers: Tensor

    @property
    def arrived(self) -> Tensor:
        """The number of messages of each receiver (T,)."""
        return self.offsets.diff()


def offsets_of(counts: Tensor) -> Tensor:
    """Return the offsets (n + 1,) of counts (n,)."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def total(values: Tensor, flow: Flow) -> Tensor:
    """Return the sum of the messages (Z, d) of each receiver (T, d), 0 without any."""
    summed: Tensor = _Total.apply(values, flow)  # type: ignore[no-untyped-call]
    return summed


def extremes(values: Tensor, flow: Flow) -> tuple[Tensor, Tensor]:
    """Return the largest and the smallest message of each receiver, (T, d) each, 0 without any.

    The gradient of each number goes to one message, an arbitrary one of equals.
    """
    found: tuple[Tensor, Tensor] = _Extremes.apply(values, flow)  # type: ignore[no-untyped-call]
    return found


class _Total(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, flow: Flow) -> Tensor:
        ctx.flow = flow
        return _reduced(values, flow.offsets, flow.messages, "sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _reduced(gradient.contiguous(), ctx.flow.back_offsets, ctx.flow.receivers, "sum"), None


class _Extremes(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, flow: Flow) -> tuple[Tensor, Tensor]:
        find = _packed_extreme if values.dtype == torch.float32 and values.device.type == "cpu" else _plain_extreme
        largest, largest_at = find(values, flow, "amax")
        smallest, smallest_at = find(values, flow, "amin")
        ctx.save_for_backward(largest_at, smallest_at, flow.arrived[:, None] > 0)
        ctx.n_messages = len(values)
        return largest, smallest

    @staticmethod
    def backward(ctx: Any, by_largest: Tensor, by_smallest: Tensor) -> tuple[Tensor, None]:
        largest_at, smallest_at, any_arrived = ctx.saved_tensors
        gradient = by_largest.new_zeros(ctx.n_messages, by_largest.shape[1])
        if ctx.n_messages:
            gradient.scatter_add_(0, largest_at, by_largest * any_arrived)
            gradient.scatter_add_(0, smallest_at, by_smallest * any_arrived)
        return gradient, None


def _packed_extreme(values: Tensor, flow: Flow, kind: Literal["amax", "amin"]) -> tuple[Tensor, Tensor]:
    """Return the extremes and the messages they come from, by one reduction with the index in the lowest bits.

    It is ten times as fast as torch's reduction with indices.
    """
    wide = torch.where(values == 0, ALMOST_NOTHING, values.double())
    numbers = torch.arange(len(values))[:, None]
    packed = ((wide.view(torch.int64) & ~NUMBER_BITS) | numbers).view(torch.float64)
    bits = _reduced(packed, flow.offsets, flow.messages, kind).view(torch.int64)
    return (bits & ~NUMBER_BITS).view(torch.float64).float(), bits & NUMBER_BITS


def _plain_extreme(values: Tensor, flow: Flow, kind: Literal["amax", "amin"]) -> tuple[Tensor, Tensor]:
    """Do the same on any device and for any numbers, with a copy for every delivery."""
    shape = (len(flow.offsets) - 1, values.shape[1])
    rows = _owners(flow.offsets)[:, None].expand(-1, shape[1])
    arriving = values[flow.messages]
    found = values.new_zeros(shape).scatter_reduce(0, rows, arriving, kind, include_self=False)
    at = flow.messages[:, None].expand_as(rows)
    is_it = arriving == found.gather(0, rows)
    places = flow.messages.new_zeros(shape).scatter_reduce(0, rows, torch.where(is_it, at, -1), "amax")
    return found, places


def _reduced(values: Tensor, offsets: Tensor, rows: Tensor, kind: Literal["sum", "amax", "amin"]) -> Tensor:
    """Return rows of values (Z, d) reduced by receiver (T, d)."""
    if values.device.type == "cpu":
        shape = (len(offsets) - 1, len(values))
        with warnings.catch_warnings():  # torch warns once in a process that the layout is in beta
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support", category=UserWarning)
            ones = values.new_ones(len(rows))
            matrix = torch.sparse_csr_tensor(offsets, rows, ones, shape, check_invariants=False)
        return torch.sparse.mm(matrix, values, kind)  # type: ignore[no-any-return]
    return values.new_zeros(len(offsets) - 1, values.shape[1]).index_add_(0, _owners(offsets), values[rows])


def _owners(offsets: Tensor) -> Tensor:
    return torch.repeat_interleave(offsets.diff())
