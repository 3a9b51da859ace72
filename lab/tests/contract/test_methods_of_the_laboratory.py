"""The contract of every method, for those of the laboratory."""

from stablerule import registry
from stablerule_lab.methods import records
from tests.contract.contract import *  # noqa: F403
from tests.contract.learners import APART, SMALL

TESTED = tuple(method.name for method in records.METHODS)


def test_the_library_knows_which_methods_the_laboratory_has() -> None:
    assert set(TESTED) == set(registry.LABORATORY_METHODS)


def test_small_options_are_of_methods_that_there_are() -> None:
    assert set(SMALL) | APART == set(registry.METHODS)
