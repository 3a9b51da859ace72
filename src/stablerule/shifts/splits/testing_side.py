"""Train stays, and test is divided: the shift of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError
from stablerule.shifts.splits.checks import check_dataset, check_labels
from stablerule.shifts.splits.manifest import make_manifest
from stablerule.shifts.splits.narrowing import narrow
from stablerule.shifts.splits.slugs import folder_names
from stablerule.shifts.splits.split import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Dataset, Triples


def split_test_side(dataset: Dataset, groups: Sequence[str]) -> Split:
    """Make a dataset for each group: train and valid as they are, and the facts of the group as test.

    groups: a name for each row of test. Each group's folder has its name, as far as a file system takes it; the
    manifest has both.

    >>> from stablerule.datasets import newsroom
    >>> world = newsroom(people=100, seed=0)
    >>> for folder, part in split_test_side(world.dataset, world.groups).parts.items():
    ...     print(folder, len(part.test))
    group-footballer 16
    group-journalist 4
    """
    test = check_dataset(dataset).test
    if not len(test):
        raise InputError(f"Dataset {dataset.name!r} has nothing in test: there is nothing to divide.")
    labels = _check_names(groups, test)
    names, sizes = np.unique(labels, return_counts=True)
    folders = folder_names(names.tolist(), "group-")
    parts = {
        folder: narrow(dataset, f"{dataset.name}/{folder}", dataset.train, dataset.valid, test.take(labels == name))
        for name, folder in folders.items()
    }
    described = [
        {"name": name, "folder": folder, "test": size}
        for (name, folder), size in zip(folders.items(), sizes.tolist(), strict=True)
    ]
    manifest = make_manifest(
        "test-side", dataset, parts, parameters={"groups": len(folders)}, found={"groups": described}
    )
    return Split(parts, manifest)


def _check_names(groups: Sequence[str], test: Triples) -> NDArray[Any]:
    names = groups if isinstance(groups, str) else list(groups)
    for row, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"Argument 'groups' must hold names, got {name!r} for fact {row} of test.")
    labels = check_labels("groups", names, test, " of test")
    first: dict[tuple[int, ...], int] = {}
    for row, fact in enumerate(map(tuple, test.rows.tolist())):
        original = first.setdefault(fact, row)
        if labels[row] != labels[original]:
            raise InputError(
                f"A fact that is repeated must be of one group: facts {original} and {row} of test are the same, and "
                f"their groups are {str(labels[original])!r} and {str(labels[row])!r}."
            )
    return labels
