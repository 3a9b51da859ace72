"""Where torch computes."""

from __future__ import annotations

import torch

from stablerule.errors import OptionError


def check_device(device: str) -> None:
    """Refuse a device that torch does not have."""
    try:
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(f"Argument 'device' is {device!r}, but torch has no such device here. Use 'cpu'.") from error
