"""Sort and search inside compiled code, because the versions of numba take seconds to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stablerule.paths.compiling import ZERO, compiled_leaf, compiled_leaf_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids


FIRST_GAP = 40  # then 13, 4, 1


@compiled_leaf
def find_first_at_least(values: Ids, low: int, high: int, wanted: int) -> int:
    """Return the position of the first of the sorted values[low:high] that is at least `wanted`, or `high`."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled_leaf
def sort_with_items(keys: NDArray[Any], items: Ids, low: int, high: int) -> None:
    """Sort keys[low:high] in ascending order, and items[low:high] with them, in place (heap sort)."""
    n = high - low
    for start in range(n // 2 - 1, -1, -1):
        _sink_item(keys, items, low, start, n)
    for end in range(n - 1, 0, -1):
        _swap_items(keys, items, low, low + end)
        _sink_item(keys, items, low, ZERO, end)


@compiled_leaf
def sort_keys(keys: NDArray[Any], low: int, high: int) -> None:
    """Sort keys[low:high], the least first, in place (shell sort: most lists have a handful of keys)."""
    gap = FIRST_GAP
    while gap > 0:
        for i in range(low + gap, high):
            key, at = keys[i], i
            while at >= low + gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap = gap // 3


@compiled_leaf
def bring_least_to_front(keys: NDArray[Any], items: Ids, n: int, k: int) -> None:
    """Bring the k least of keys[:n] to the front, in no order, and their items with them (quickselect)."""
    low, high = ZERO, n - 1
    while low < high:
        middle = (low + high) >> 1
        pivot = max(min(keys[low], keys[middle]), min(max(keys[low], keys[middle]), keys[high]))  # of the three
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                _swap_items(keys, items, i, j)
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@compiled_leaf_part
def _swap_items(keys: NDArray[Any], items: Ids, i: int, j: int) -> None:
    keys[i], keys[j] = keys[j], keys[i]
    items[i], items[j] = items[j], items[i]


@compiled_leaf_part
def _sink_item(keys: NDArray[Any], items: Ids, low: int, at: int, n: int) -> None:
    """Move the key at a position of a heap down until no key below it is larger."""
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and keys[low + child] < keys[low + child + 1]:
            child += 1
        if keys[low + at] >= keys[low + child]:
            return
        _swap_items(keys, items, low + at, low + child)
        at = child
