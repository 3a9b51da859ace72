"""What every run of tests begins with, for the library and for the laboratory."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.contract.learners import APART


def prepare_session() -> None:
    """Set what all tests rely on, before any of them is imported."""
    # Several workers with several threads each would wait for one another at every sum.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Tests don't measure time, and a busy machine is no failure.
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    pytest.register_assert_rewrite("tests.contract.contract")


def parametrize_methods(metafunc: pytest.Metafunc) -> None:
    """Run the tests of the contract for the methods that their module names."""
    if metafunc.definition.get_closest_marker("every_method"):
        metafunc.parametrize("method", sorted(set(metafunc.module.TESTED) - APART))
