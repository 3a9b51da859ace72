"""Split by groups: divide test by group, which is the shift of the paper, or favour one group in training."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets.arguments import check_number
from stablerule.errors import InputError
from stablerule.shifts.splits.bias import BiasedExamples, bias_examples
from stablerule.shifts.splits.saving import NOT_DRAWN, WHOLE, Split, make_split_manifest
from stablerule.shifts.splits.source import check_split_labels, check_split_source, narrow_to_split

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Dataset, Triples

LONGEST_FOLDER_NAME = 60


def split_test_side(dataset: Dataset, groups: Sequence[str]) -> Split:
    """Make a dataset for each group, with the same training and validation facts, and the facts of the group as test.

    groups: a name for each row of test. Folders are named after the groups, in characters that every file system
    allows; the manifest has both names.

    >>> from stablerule.datasets import newsroom
    >>> world = newsroom(people=100, seed=0)
    >>> for folder, part in split_test_side(world.dataset, world.groups).parts.items():
    ...     print(folder, len(part.test))
    group-footballer 16
    group-journalist 4
    """
    test = check_split_source(dataset).test
    if not len(test):
        raise InputError(f"Dataset {dataset.name!r} has no test facts to divide.")
    labels = _check_split_group_names(groups, test)
    names, sizes = np.unique(labels, return_counts=True)
    folders = name_group_folders(names.tolist(), "group-")
    parts = {
        folder: narrow_to_split(
            dataset, f"{dataset.name}/{folder}", dataset.train, dataset.valid, test.take(labels == name)
        )
        for name, folder in folders.items()
    }
    described = [
        {"name": name, "folder": folder, "test": size}
        for (name, folder), size in zip(folders.items(), sizes.tolist(), strict=True)
    ]
    manifest = make_split_manifest(
        "test-side", dataset, parts, parameters={"groups": len(folders)}, found={"groups": described}
    )
    return Split(parts, manifest)


def split_train_side(
    dataset: Dataset,
    groups_of_train: Sequence[Any] | NDArray[Any],
    groups_of_valid: Sequence[Any] | NDArray[Any] | None = None,
    *,
    bias: float,
    seed: int = 0,
    thinning: bool = False,
) -> Split:
    """Favour one group among the examples of each relation, as `bias_examples` does; test stays whole.

    groups_of_train: the group of each row of train. groups_of_valid: the same for valid, which is sampled with the same
    favoured groups; without it valid stays whole. The training facts that may be used as targets are in `examples`, and
    train stays whole. thinning: remove the other facts from train as well; then there are no `examples`, because every
    training fact is one.

    >>> from stablerule.datasets import households
    >>> dataset = households(families=3, seed=0).dataset
    >>> groups = np.arange(len(dataset.train)) % 2
    >>> split = split_train_side(dataset, groups, bias=0.8, seed=0)
    >>> len(split.dataset.train) == len(dataset.train), len(split.examples) < len(dataset.train)
    (True, True)
    """
    train, valid = check_split_source(dataset).train, dataset.valid
    labels = check_split_labels("groups_of_train", groups_of_train, train, " of the training split")
    drawn = bias_examples(train, labels, bias, seed=seed)
    kept = np.ones(len(valid), bool)
    if groups_of_valid is not None:
        kept = _draw_valid_examples(valid, groups_of_valid, labels, bias, seed).mask
    lost = {f"{NOT_DRAWN} for valid": valid.take(~kept)}
    if thinning:
        lost[f"{NOT_DRAWN} for train"] = train.take(~drawn.mask)
    made = narrow_to_split(
        dataset, dataset.name, train.take(drawn.mask) if thinning else train, valid.take(kept), dataset.test
    )
    parts = {WHOLE: made}
    found = _describe_examples(dataset, labels, drawn)
    if thinning:
        found["entities_without_facts_in_train"] = _count_entities_without_facts(train, drawn.mask)
    manifest = make_split_manifest(
        "train-side",
        dataset,
        parts,
        parameters={"bias": float(check_number("bias", bias, 0, 1)), "thinning": thinning},
        seed=seed,
        lost=lost,
        found=found,
        notes=_note_examples(found),
    )
    # The rows of train keep their order, even if their ids change.
    return Split(parts, manifest, None if thinning else made.train.take(drawn.mask))


def _check_split_group_names(groups: Sequence[str], test: Triples) -> NDArray[Any]:
    names = groups if isinstance(groups, str) else list(groups)
    for row, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"Argument 'groups' must be names, got {name!r} for fact {row} of test.")
    labels = check_split_labels("groups", names, test, " of the test split")
    first: dict[tuple[int, ...], int] = {}
    for row, fact in enumerate(map(tuple, test.rows.tolist())):
        original = first.setdefault(fact, row)
        if labels[row] != labels[original]:
            raise InputError(
                f"A repeated fact must have one group: facts {original} and {row} of test are equal, but have groups "
                f"{str(labels[original])!r} and {str(labels[row])!r}."
            )
    return labels


def name_group_folders(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return a folder name for each of several distinct names, whatever characters they have.

    >>> name_group_folders(["paths 0 (fewest)", "Åland", "../aland", "日本"], "group-")
    {'paths 0 (fewest)': 'group-paths-0-fewest', 'Åland': 'group-aland', '../aland': 'group-aland-2', '日本': 'group-x'}
    """
    taken: dict[str, str] = {}
    for name in names:
        slug = _spell_folder_name(name)
        folder, count = f"{prefix}{slug}", 1
        while folder in taken.values():
            count += 1
            folder = f"{prefix}{slug}-{count}"
        taken[name] = folder
    return taken


def _spell_folder_name(name: str) -> str:
    """Keep lower-case letters and digits; the caller numbers names that become equal."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", ascii_only)[:LONGEST_FOLDER_NAME].strip("-") or "x"


def _draw_valid_examples(
    valid: Triples, groups: Sequence[Any] | NDArray[Any], of_train: NDArray[Any], bias: float, seed: int
) -> BiasedExamples:
    labels = check_split_labels("groups_of_valid", groups, valid, " of the validation split")
    unknown = np.setdiff1d(labels, of_train)
    if len(unknown):
        raise InputError(f"Argument 'groups_of_valid' has the group {unknown[0].item()!r}, which no training fact has.")
    return bias_examples(valid, labels, bias, seed=seed, among=of_train)


def _describe_examples(dataset: Dataset, labels: NDArray[Any], drawn: BiasedExamples) -> dict[str, Any]:
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


def _count_entities_without_facts(train: Triples, kept: NDArray[np.bool_]) -> int:
    before, after = (np.unique(rows[:, [0, 2]]) for rows in (train.rows, train.rows[kept]))
    return len(before) - len(after)


def _note_examples(found: dict[str, Any]) -> list[str]:
    notes = []
    if found["left_whole"]:
        notes.append(
            f"{len(found['left_whole']):,} relations have no facts in some group, so all their "
            f"{sum(found['left_whole'].values()):,} facts are examples at every bias."
        )
    if found.get("entities_without_facts_in_train"):
        notes.append(f"{found['entities_without_facts_in_train']:,} entities no longer have facts in train.")
    return notes
