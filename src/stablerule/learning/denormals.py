"""Numbers below 1e-38 count as zero while a network learns or scores.

A softmax that is sure of something leaves such numbers for all the rest, and a processor multiplies them many times
slower than others. No rule depends on them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Let torch take them as zero, in all of its threads; afterwards as it did before."""
    before = taken_as_zero()
    torch.set_flush_denormal(True)  # nothing happens on a processor that can't
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def taken_as_zero() -> bool:
    """Say whether this thread takes them as zero now."""
    return float(torch.tensor([1e-39]) * 0.5) == 0
