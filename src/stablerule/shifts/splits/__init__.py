"""Split a dataset again, at random or with a known shift between training and test facts."""

from stablerule.shifts.splits.at_random import split_random
from stablerule.shifts.splits.bias import BiasedExamples, bias_examples
from stablerule.shifts.splits.by_groups import split_test_side, split_train_side
from stablerule.shifts.splits.by_time import split_by_time
from stablerule.shifts.splits.inductive import split_inductive
from stablerule.shifts.splits.saving import Split, check_split_place, read_examples

__all__ = [
    "BiasedExamples",
    "Split",
    "bias_examples",
    "check_split_place",
    "read_examples",
    "split_by_time",
    "split_inductive",
    "split_random",
    "split_test_side",
    "split_train_side",
]
