"""Numbers below 1e-38 are zero while a network learns, and only then."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from stablerule.learning.network import (
    RuleNetwork,
    Tables,
    are_denormals_zero,
    denormals_as_zero,
    predict_head_probabilities,
)


@pytest.fixture(autouse=True)
def as_usual() -> Iterator[None]:
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor can't take them as zero")
    yield
    torch.set_flush_denormal(False)


def left_of_many() -> int:
    """How many of so many numbers that all threads work on them are not zero."""
    return int((torch.full((2_000_000,), 1e-39) * 0.5 != 0).sum())


def test_all_threads_take_them_as_zero_inside_and_not_after() -> None:
    assert left_of_many() == 2_000_000
    with denormals_as_zero():
        assert left_of_many() == 0
    assert left_of_many() == 2_000_000


def test_what_was_set_before_is_kept_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), denormals_as_zero():
        raise ZeroDivisionError
    assert not are_denormals_zero()
    torch.set_flush_denormal(True)
    with denormals_as_zero():
        pass
    assert are_denormals_zero()


def test_a_network_scores_with_them_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    network = RuleNetwork(2, 4, generator=torch.Generator().manual_seed(0))
    tables = network.compute_tables

    def look() -> Tables:
        seen.append(are_denormals_zero())
        return tables()

    monkeypatch.setattr(network, "compute_tables", look)
    predict_head_probabilities(network, np.array([[0, 1, 2]]))
    assert seen == [True]
    assert not are_denormals_zero()
