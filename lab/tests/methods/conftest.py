"""Networks that tests build have the same weights always, whichever tests ran before."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    torch.manual_seed(0)
