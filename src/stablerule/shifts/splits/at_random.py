"""Random split: the facts of all splits are redistributed, with every entity in train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stablerule.datasets.arguments import check_count
from stablerule.errors import InputError
from stablerule.graph import SPLITS, split_triples
from stablerule.shifts.splits.saving import REPEATED, WHOLE, Split, make_split_manifest
from stablerule.shifts.splits.source import (
    Shares,
    check_split_shares,
    check_split_source,
    mark_first_facts,
    narrow_to_split,
)

if TYPE_CHECKING:
    from stablerule.graph import Dataset


def split_random(dataset: Dataset, shares: Shares = (0.8, 0.1, 0.1), *, seed: int = 0) -> Split:
    """Redistribute the facts of all splits at random, so that train has every entity and every relation.

    This is the split without a shift, for comparison with the others.

    >>> from stablerule.datasets import load
    >>> split_random(load("geography"), (0.6, 0.2, 0.2), seed=1).dataset
    Dataset('geography', 4,627 entities, 10 relations, train 8,061, valid 2,687, test 2,687)
    """
    facts = check_split_source(dataset).everything
    checked = check_split_shares(shares)
    dealt = split_triples(facts, checked, check_count("seed", seed, least=0))
    for name, share, part in zip(SPLITS, checked, dealt, strict=True):
        if share and not len(part):
            raise InputError(
                f"Dataset {dataset.name!r} has too few facts ({len(facts):,}) for a {name} split: train needs a fact "
                f"of every entity and every relation. Use a larger share for {name}, or 0."
            )
    parts = {WHOLE: narrow_to_split(dataset, dataset.name, *dealt)}
    lost = {REPEATED: facts.take(~mark_first_facts(facts))}
    manifest = make_split_manifest("random", dataset, parts, parameters={"shares": checked}, seed=seed, lost=lost)
    return Split(parts, manifest)
