"""The graph stays, and which of its facts serve as examples is biased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets.making import check_number
from stablerule.errors import InputError
from stablerule.shifts.splits.bias import BiasedExamples, bias_examples
from stablerule.shifts.splits.checks import check_dataset, check_labels
from stablerule.shifts.splits.manifest import NOT_DRAWN, WHOLE, make_manifest
from stablerule.shifts.splits.narrowing import narrow
from stablerule.shifts.splits.split import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Dataset, Triples


def split_train_side(
    dataset: Dataset,
    groups_of_train: Sequence[Any] | NDArray[Any],
    groups_of_valid: Sequence[Any] | NDArray[Any] | None = None,
    *,
    bias: float,
    seed: int = 0,
    thinning: bool = False,
) -> Split:
    """Favour one group among the examples of each relation, as `bias_examples` does, and ask about all of test.

    groups_of_train: the group of each row of train; groups_of_valid: the same for valid, from which facts are drawn
    with the same groups favoured. Without it valid stays as it is. The facts of train that may be examples stand in
    `examples`, and train itself is whole. thinning: leave the other facts out of train as well; then there are no
    `examples`, because all of train is.

    >>> from stablerule.datasets import households
    >>> dataset = households(families=3, seed=0).dataset
    >>> groups = np.arange(len(dataset.train)) % 2
    >>> split = split_train_side(dataset, groups, bias=0.8, seed=0)
    >>> len(split.dataset.train) == len(dataset.train), len(split.examples) < len(dataset.train)
    (True, True)
    """
    train, valid = check_dataset(dataset).train, dataset.valid
    labels = check_labels("groups_of_train", groups_of_train, train, " of train")
    drawn = bias_examples(train, labels, bias, seed=seed)
    kept = np.ones(len(valid), bool)
    if groups_of_valid is not None:
        kept = _draw_valid(valid, groups_of_valid, labels, bias, seed).mask
    lost = {f"{NOT_DRAWN} for valid": valid.take(~kept)}
    if thinning:
        lost[f"{NOT_DRAWN} for train"] = train.take(~drawn.mask)
    made = narrow(dataset, dataset.name, train.take(drawn.mask) if thinning else train, valid.take(kept), dataset.test)
    parts = {WHOLE: made}
    found = _found(dataset, labels, drawn)
    if thinning:
        found["entities_without_facts_in_train"] = _without_facts(train, drawn.mask)
    manifest = make_manifest(
        "train-side",
        dataset,
        parts,
        parameters={"bias": float(check_number("bias", bias, 0, 1)), "thinning": thinning},
        seed=seed,
        lost=lost,
        found=found,
        notes=_notes(found),
    )
    # The rows of train keep their order, whatever ids they have now.
    return Split(parts, manifest, None if thinning else made.train.take(drawn.mask))


def _draw_valid(
    valid: Triples, groups: Sequence[Any] | NDArray[Any], of_train: NDArray[Any], bias: float, seed: int
) -> BiasedExamples:
    labels = check_labels("groups_of_valid", groups, valid, " of valid")
    unknown = np.setdiff1d(labels, of_train)
    if len(unknown):
        raise InputError(f"Argument 'groups_of_valid' has the group {unknown[0].item()!r}, which no fact of train has.")
    return bias_examples(valid, labels, bias, seed=seed, among=of_train)


def _found(dataset: Dataset, labels: NDArray[Any], drawn: BiasedExamples) -> dict[str, Any]:
    relation_name = dataset.vocabulary.relation_name
    return {
        "groups": np.unique(labels).tolist(),
        "examples": int(drawn.mask.sum()),
        "favoured": {relation_name(relation): group for relation, group in drawn.favoured.items()},
        "left_whole": {
            relation_name(relation): int((drawn.mask & (dataset.train.relations == relation)).sum())
            for relation in drawn.left_whole
        },
    }


def _without_facts(train: Triples, kept: NDArray[np.bool_]) -> int:
    before, after = (np.unique(rows[:, [0, 2]]) for rows in (train.rows, train.rows[kept]))
    return len(before) - len(after)


def _notes(found: dict[str, Any]) -> list[str]:
    notes = []
    if found["left_whole"]:
        notes.append(
            f"{len(found['left_whole']):,} relations have no facts in some group: all their "
            f"{sum(found['left_whole'].values()):,} facts are examples at every bias."
        )
    if found.get("entities_without_facts_in_train"):
        notes.append(f"{found['entities_without_facts_in_train']:,} entities have no facts in train any more.")
    return notes
