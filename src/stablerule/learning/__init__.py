"""The learners: Tabular counts (no torch), StableRule trains a network (torch, imported by `fit`)."""

from stablerule.learning.given import GivenRules
from stablerule.learning.options import Decorrelation, Mining, Training
from stablerule.learning.popularity import Popularity
from stablerule.learning.stablerule import StableRule
from stablerule.learning.tabular import Tabular

__all__ = ["Decorrelation", "GivenRules", "Mining", "Popularity", "StableRule", "Tabular", "Training"]
