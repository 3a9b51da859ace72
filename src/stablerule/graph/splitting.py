"""Split one set of facts into train, valid and test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Triples


def split_triples(
    triples: Triples,
    ratios: tuple[float, float, float],
    seed: int | np.random.Generator = 0,
    *,
    relation: int | None = None,
) -> tuple[Triples, Triples, Triples]:
    """Split distinct facts by ratio, so that train has every entity and every relation.

    The facts that train needs for this are assigned first, and the rest at random. So valid and test can be smaller
    than their ratio. Repeated facts count once, so no fact is in two parts.

    relation: split only the facts of this relation; all others stay in train.

    >>> from stablerule.graph import Triples
    >>> rows = np.array([[i, 0, j] for i in range(10) for j in range(10)])
    >>> [len(part) for part in split_triples(Triples(rows), (0.8, 0.1, 0.1))]
    [80, 10, 10]
    """
    _check_split_ratios(ratios)
    facts = triples.distinct()
    order = _make_split_generator(seed).permutation(len(facts))
    fixed = np.zeros(len(facts), bool) if relation is None else facts.relations != relation
    order = order[np.argsort(~fixed[order], kind="stable")]  # entities in these facts need no other fact in train
    needed = _mark_facts_that_train_needs(facts, order)
    dealt = order[~(needed | fixed)[order]]
    splittable = len(facts) - int(fixed.sum())
    held_out = min(len(dealt), splittable - round(ratios[0] * splittable))
    share = ratios[2] / (ratios[1] + ratios[2]) if held_out else 0
    n_test = round(held_out * share)
    which = np.zeros(len(facts), np.int8)
    which[dealt[:n_test]] = 2
    which[dealt[n_test:held_out]] = 1
    train, valid, test = (facts.take(which == part) for part in range(3))
    return train, valid, test


def _check_split_ratios(ratios: object) -> None:
    sensible = (
        isinstance(ratios, tuple | list)
        and len(ratios) == 3
        and all(isinstance(r, int | float) and 0 <= r <= 1 for r in ratios)
        and abs(sum(ratios) - 1) <= 1e-6
        and ratios[0] > 0
    )
    if not sensible:
        raise OptionError(
            f"Argument 'split' must be three shares for train, valid and test that add up to 1 "
            f"(such as 0.8, 0.1, 0.1), got {ratios!r}."
        )


def _make_split_generator(seed: object) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"Argument 'seed' must be a whole number of at least 0, got {seed!r}.")
    return np.random.default_rng(seed)


def _mark_facts_that_train_needs(facts: Triples, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark, in a random order, the first fact in which each entity and each relation occurs."""
    needed = np.zeros(len(facts), bool)
    for ids in (np.stack([facts.heads, facts.tails], 1)[order].ravel(), np.repeat(facts.relations[order], 2)):
        _, first = np.unique(ids, return_index=True)
        needed[order[first // 2]] = True
    return needed
