"""Check the dataset and the arguments of a split, and make datasets from some of its facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError, OptionError
from stablerule.graph import SPLITS, Dataset, Names, Triples, Vocabulary
from stablerule.graph.triples import sort_distinct_triples
from stablerule.graph.vocabulary import Renumbering

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids

Shares = tuple[float, float, float]


def check_split_source(dataset: object) -> Dataset:
    """Return a dataset; anything else is an error."""
    if not isinstance(dataset, Dataset):
        raise InputError(f"A Dataset was expected, got {type(dataset).__name__}. Open one with open_dataset(...).")
    return dataset


def check_split_shares(shares: object, needed: Collection[str] = ("train",)) -> Shares:
    """Return three shares that add up to 1; those of `needed` must be above 0.

    >>> check_split_shares((0, 0.5, 0.5))
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'shares' must be above 0 for train, got (0, 0.5, 0.5).
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
        raise OptionError(f"Argument 'shares' must be above 0 for {' and '.join(empty)}, got {shares!r}.")
    return train, valid, test


def check_split_labels(
    argument: str, groups: Sequence[Any] | NDArray[Any], facts: Triples, where: str = ""
) -> NDArray[Any]:
    """Return the group of each fact, as an array of names or of whole numbers; `where` is for messages.

    >>> from stablerule.graph import Triples
    >>> check_split_labels("groups", ["a", "b"], Triples(np.array([[0, 0, 1]])), " of the test split")
    Traceback (most recent call last):
    ...
    stablerule.errors.InputError: Argument 'groups' must have a group for each of 1 facts of the test split, got 2.
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
        raise InputError(f"Argument {argument!r} must be names or whole numbers, got {labels[0]!r}.")
    return labels


def mark_first_facts(facts: Triples) -> NDArray[np.bool_]:
    """Mark the first row of each fact; other rows repeat it."""
    first = np.zeros(len(facts), bool)
    first[sort_distinct_triples(facts.heads, facts.relations, facts.tails).first] = True
    return first


def narrow_to_split(
    dataset: Dataset, name: str, train: Triples, valid: Triples | None = None, test: Triples | None = None
) -> Dataset:
    """Make a dataset of some facts, given with the ids of `dataset`, as if they had been written and read back.

    Entities without facts are dropped, because otherwise they would be candidates for every query.

    >>> towns = Dataset.from_names("towns", train=[("Bonn", "in", "Germany"), ("Lyon", "in", "France")])
    >>> narrow_to_split(towns, "one", towns.train.take(np.array([1])))
    Dataset('one', 2 entities, 1 relations, train 1, valid 0, test 0)
    """
    parts = [part if part is not None else Triples.empty() for part in (train, valid, test)]
    vocabulary = dataset.vocabulary
    tables = (vocabulary.entities, vocabulary.relations, vocabulary.sources)
    ids = (
        [column for part in parts for column in (part.heads, part.tails)],
        [part.relations for part in parts],
        [part.source for part in parts if part.source is not None],
    )
    used = [_mark_split_ids(len(table), columns) for table, columns in zip(tables, ids, strict=True)]
    if not all(mask.all() for mask in used):
        names = [Names.from_sorted(t.table.filter(pl.Series(mask))) for t, mask in zip(tables, used, strict=True)]
        vocabulary = Vocabulary(*names)
        renumbering = Renumbering(*map(_number_split_ids, used))
        parts = [renumbering.apply(part) for part in parts]
    final_train, final_valid, final_test = parts
    return Dataset(name, vocabulary, final_train, final_valid, final_test, prefixes=dataset.prefixes)


def _mark_split_ids(size: int, columns: list[Ids]) -> NDArray[np.bool_]:
    mask = np.zeros(size, bool)
    for ids in columns:
        mask[ids] = True
    return mask


def _number_split_ids(used: NDArray[np.bool_]) -> Ids:
    """Number the used ids from 0; names keep their order, so they stay sorted."""
    return np.cumsum(used, dtype=np.int32) - np.int32(1)
