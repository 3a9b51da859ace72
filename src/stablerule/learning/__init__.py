"""How rules are learned: by counting (no torch), and by StableRule (torch, once it fits)."""

from stablerule.learning.given import GivenRules
from stablerule.learning.stablerule import StableRule
from stablerule.learning.tabular import Tabular

__all__ = ["GivenRules", "StableRule", "Tabular"]
