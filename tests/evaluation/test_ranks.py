"""Ranks: columns that fit together, and the three forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stablerule.errors import InputError, OptionError
from stablerule.evaluation import Ranks

GOOD: dict[str, Any] = {"best": [1, 2], "worst": [1, 5], "covered": [True, False], "candidates": [1, 0]}


def test_three_forms() -> None:
    ranks = Ranks(**GOOD)
    assert len(ranks) == 2
    assert ranks.form("optimistic").tolist() == [1.0, 2.0]
    assert ranks.form("realistic").tolist() == [1.0, 3.5]
    assert ranks.form("pessimistic").tolist() == [1.0, 5.0]
    with pytest.raises(OptionError, match="must be one of realistic, optimistic, pessimistic, got 'average'"):
        ranks.form("average")  # type: ignore[arg-type]


def test_columns_are_copied_and_closed() -> None:
    best = np.array([1, 2], np.int32)
    ranks = Ranks(**(GOOD | {"best": best}))
    best[0] = 7
    assert ranks.best.tolist() == [1, 2]
    assert ranks.best.dtype == np.int64
    assert ranks.covered.dtype == bool
    with pytest.raises(ValueError, match="read-only"):
        ranks.best[0] = 3


def test_concat_and_take() -> None:
    ranks = Ranks(**GOOD)
    both = Ranks.concat(ranks, Ranks.empty(), ranks)
    assert both.worst.tolist() == [1, 5, 1, 5]
    assert both.take(np.array([3, 0])).worst.tolist() == [5, 1]
    assert both.take(both.covered).candidates.tolist() == [1, 1]
    assert len(Ranks.concat()) == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"best": [1, 2, 3]}, "one length"),
        ({"covered": [[True, False]]}, "one length"),
        ({"best": 1, "worst": 1}, "one length"),
        ({"best": [1.0, 2.0]}, "'best' of Ranks must be whole numbers, got float64"),
        ({"covered": [1, 0]}, "'covered' of Ranks must be True or False"),
        ({"best": [0, 2]}, "row 0 has best 0"),
        ({"worst": [1, 1]}, "row 1 has best 2, worst 1"),
        ({"candidates": [0, 0]}, "covered answers need a candidate; row 0"),
        ({"candidates": [1, -1]}, "row 1"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Ranks(**(GOOD | changed))
