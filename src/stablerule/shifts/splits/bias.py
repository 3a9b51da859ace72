"""Choose examples with a bias: one group of facts is favoured among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets.arguments import check_count, check_number
from stablerule.errors import InputError
from stablerule.shifts.splits.source import check_split_labels, mark_first_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Triples


@dataclass(frozen=True, eq=False)
class BiasedExamples:
    """The facts chosen as examples, and the favoured group of each relation.

    mask: (n,), the rows that are examples. favoured: the favoured group by relation id. left_whole: ids of relations
    without facts in some group; all their facts are examples.
    """

    mask: NDArray[np.bool_]
    favoured: dict[int, Any]
    left_whole: tuple[int, ...]


def bias_examples(
    facts: Triples,
    groups: Sequence[Any] | NDArray[Any],
    bias: float,
    *,
    seed: int = 0,
    among: Sequence[Any] | NDArray[Any] | None = None,
) -> BiasedExamples:
    """Choose examples so that, for each relation, one of K groups has the share 1/K + bias (1 - 1/K) of them.

    groups: the group of each fact, a name or a number. among: all groups, if some may have none of these facts.

    The seed decides which group is favoured, separately for each relation. With bias 0 all groups have the same share,
    with bias 1 all examples are of the favoured group. The number of examples is the same at every bias: the size of
    the favoured group, or less if another group is too small for its K-th part. A larger bias only exchanges facts: it
    keeps the examples of the favoured group, and replaces some of the others by further facts of it. A repeated fact
    counts once, in the group of its first row.

    >>> from stablerule.graph import Triples
    >>> facts = Triples(np.array([[head, 0, 99] for head in range(20)]))
    >>> groups = np.arange(20) % 2
    >>> for bias in (0, 0.5, 1):
    ...     drawn = bias_examples(facts, groups, bias, seed=0)
    ...     print(drawn.mask.sum(), (groups[drawn.mask] == drawn.favoured[0]).mean())
    10 0.5
    10 0.8
    10 1.0
    """
    check_number("bias", bias, 0, 1)
    check_count("seed", seed, least=0)
    labels = check_split_labels("groups", groups, facts)
    names = np.unique(labels if among is None else np.asarray(among))
    if len(names) < 2:
        raise InputError(f"A bias needs at least 2 groups, got {len(names)}.")
    mask, favoured, left_whole = np.zeros(len(facts), bool), {}, []
    rows = np.flatnonzero(mark_first_facts(facts))
    for relation in np.unique(facts.relations).tolist():
        own = rows[facts.relations[rows] == relation]
        # A generator for each relation, so that the draws of one do not depend on the others.
        rng = np.random.default_rng([seed, relation])
        chosen = int(rng.integers(len(names)))
        by_group = [rng.permutation(own[labels[own] == name]) for name in names]
        if all(len(group) for group in by_group):
            favoured[relation] = names[chosen].item()
            mask[np.concatenate(_draw_biased_examples(by_group, chosen, bias, rng))] = True
        else:
            left_whole.append(relation)
            mask[own] = True
    return BiasedExamples(mask, favoured, tuple(left_whole))


def _draw_biased_examples(
    by_group: list[NDArray[np.int64]], favoured: int, bias: float, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Take the first facts of each group: more of the favoured one and fewer of the others as the bias grows."""
    k = len(by_group)
    others = rng.permutation([group for group in range(k) if group != favoured])
    count = min(len(by_group[favoured]), k * min(len(by_group[group]) for group in others))
    of_favoured = int(count * (1 / k + bias * (1 - 1 / k)) + 0.5)
    each, more = divmod(count - of_favoured, k - 1)
    drawn = [by_group[group][: each + (place < more)] for place, group in enumerate(others)]
    return [by_group[favoured][:of_favoured], *drawn]
