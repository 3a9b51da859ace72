"""Arguments that several kinds of split take, each checked in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.graph import SPLITS, Dataset
from stablerule.graph.packing import sort_distinct

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Triples

Shares = tuple[float, float, float]


def check_dataset(dataset: object) -> Dataset:
    """Return a dataset that is one."""
    if not isinstance(dataset, Dataset):
        raise InputError(f"A Dataset was expected, got {type(dataset).__name__}. Open one with open_dataset(...).")
    return dataset


def check_shares(shares: object, needed: Collection[str] = ("train",)) -> Shares:
    """Return three shares that add up to 1; those of `needed` must be above 0.

    >>> check_shares((0, 0.5, 0.5))
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'shares' must leave something for train, got (0, 0.5, 0.5).
    """
    sensible = (
        isinstance(shares, tuple | list)
        and len(shares) == 3
        and all(isinstance(s, int | float) and not isinstance(s, bool) and 0 <= s <= 1 for s in shares)
        and abs(sum(shares) - 1) <= 1e-6
    )
    if not sensible:
        raise OptionError(
            f"Argument 'shares' must be three shares for train, valid and test that add up to 1 "
            f"(such as 0.8, 0.1, 0.1), got {shares!r}."
        )
    train, valid, test = map(float, shares)  # type: ignore[call-overload]
    empty = [name for name, share in zip(SPLITS, (train, valid, test), strict=True) if name in needed and not share]
    if empty:
        raise OptionError(f"Argument 'shares' must leave something for {' and '.join(empty)}, got {shares!r}.")
    return train, valid, test


def check_labels(argument: str, groups: Sequence[Any] | NDArray[Any], facts: Triples, where: str = "") -> NDArray[Any]:
    """Return the group of each fact, as an array of names or of whole numbers; `where` the facts are is for messages.

    >>> from stablerule.graph import Triples
    >>> check_labels("groups", ["a", "b"], Triples(np.array([[0, 0, 1]])), " of test")
    Traceback (most recent call last):
    ...
    stablerule.errors.InputError: Argument 'groups' must have a group for each of 1 facts of test, got 2.
    """
    try:
        labels = np.asarray(groups if isinstance(groups, np.ndarray | str) else list(groups))
    except (TypeError, ValueError) as error:
        raise InputError(f"Argument {argument!r} must have a group for each fact{where} ({error}).") from error
    if labels.shape != (len(facts),):
        found = f"{len(labels):,}" if labels.ndim == 1 else repr(groups)
        raise InputError(
            f"Argument {argument!r} must have a group for each of {len(facts):,} facts{where}, got {found}."
        )
    if not len(labels):
        return np.empty(0, np.int64)
    if labels.dtype.kind not in "iuU":
        raise InputError(f"Argument {argument!r} must hold names or whole numbers, got {labels[0]!r}.")
    return labels


def first_rows(facts: Triples) -> NDArray[np.bool_]:
    """Mark the first row of each fact; the others are repetitions."""
    first = np.zeros(len(facts), bool)
    first[sort_distinct(facts.heads, facts.relations, facts.tails).first] = True
    return first
