"""A dataset made of some facts of another knows the names of these facts, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stablerule.graph import Dataset, Names, Triples, Vocabulary
from stablerule.graph.interning import Renumbering

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids


def narrow(
    dataset: Dataset, name: str, train: Triples, valid: Triples | None = None, test: Triples | None = None
) -> Dataset:
    """Make a dataset of facts with the ids of `dataset`: what one would get by writing them and reading them back.

    Entities of other facts must not stay in it: they would be rivals of every answer.

    >>> towns = Dataset.from_names("towns", train=[("Bonn", "in", "Germany"), ("Lyon", "in", "France")])
    >>> narrow(towns, "one", towns.train.take(np.array([1])))
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
    used = [_used(len(table), columns) for table, columns in zip(tables, ids, strict=True)]
    if not all(mask.all() for mask in used):
        names = [Names.from_sorted(t.table.filter(pl.Series(mask))) for t, mask in zip(tables, used, strict=True)]
        vocabulary = Vocabulary(*names)
        renumbering = Renumbering(*map(_new_ids, used))
        parts = [renumbering.apply(part) for part in parts]
    final_train, final_valid, final_test = parts
    return Dataset(name, vocabulary, final_train, final_valid, final_test, prefixes=dataset.prefixes)


def _used(size: int, columns: list[Ids]) -> NDArray[np.bool_]:
    mask = np.zeros(size, bool)
    for ids in columns:
        mask[ids] = True
    return mask


def _new_ids(used: NDArray[np.bool_]) -> Ids:
    """Number what is used from 0 on; names stay in their order, so they stay sorted."""
    return np.cumsum(used, dtype=np.int32) - np.int32(1)
