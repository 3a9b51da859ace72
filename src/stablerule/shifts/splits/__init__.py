"""Datasets made from a dataset, so that train and test differ in a known way."""

from stablerule.shifts.splits.bias import BiasedExamples, bias_examples
from stablerule.shifts.splits.by_time import split_by_time
from stablerule.shifts.splits.inductive import split_inductive
from stablerule.shifts.splits.saving import check_split_place, read_examples
from stablerule.shifts.splits.split import Split
from stablerule.shifts.splits.testing_side import split_test_side
from stablerule.shifts.splits.training_side import split_train_side
from stablerule.shifts.splits.transductive import split_random

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
