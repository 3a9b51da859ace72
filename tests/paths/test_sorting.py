"""Sorting and searching in compiled code, held against numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablerule.paths.sorting import find_first_at_least, sort_with_items

numbers = st.lists(st.integers(-20, 20), max_size=60)


@given(numbers, st.data())
def test_a_part_is_sorted_and_the_rest_left_alone(values: list[int], data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(values)))
    high = data.draw(st.integers(low, len(values)))
    for kind in (np.int32, np.float64):
        keys, items = np.array(values, kind), np.arange(len(values), dtype=np.int32)
        sort_with_items(keys, items, low, high)
        assert keys.tolist() == [*values[:low], *sorted(values[low:high]), *values[high:]]
        assert sorted(items.tolist()) == list(range(len(values)))
        assert [values[i] for i in items] == keys.tolist()  # each item went with its key


@given(numbers, st.integers(-25, 25), st.data())
def test_the_first_that_is_not_below(values: list[int], wanted: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(values)))
    ordered = np.array([*values[:low], *sorted(values[low:])], np.int32)
    found = find_first_at_least(ordered, low, len(values), wanted)
    assert found == low + np.searchsorted(ordered[low:], wanted)
