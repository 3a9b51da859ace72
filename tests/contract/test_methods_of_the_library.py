"""The contract of every method, for those of the library."""

from stablerule.registry import OWN_METHODS
from tests.contract.contract import *  # noqa: F403

TESTED = tuple(OWN_METHODS)
