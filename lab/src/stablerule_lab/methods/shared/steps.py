"""A number of Adam steps, which the time budget or Ctrl-C may end early."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn


def run_steps(
    what: str,
    network: nn.Module,
    loss_of: Callable[[int], Tensor],
    *,
    steps: int,
    learning_rate: float,
    decay: bool,
    stopped: Callable[[], bool],
) -> list[float]:
    """Train in place, and return the loss of each step.

    loss_of: the loss of a step by its number. decay: let the learning rate fall to 0 over the steps. stopped: checked
    before each step except the first.
    """
    losses: list[float] = []
    adam = torch.optim.Adam(network.parameters(), lr=learning_rate)
    network.train()
    with progress_bar(what, steps) as advance:
        for step in range(steps):
            adam.param_groups[0]["lr"] = learning_rate * (1 - decay * step / steps)
            loss = loss_of(step)
            adam.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            losses.append(float(loss.detach()))
            advance(1, f"loss {losses[-1]:.3f}")
            if step + 1 < steps and stopped():
                break
    network.eval()
    return losses
