"""Groups by paths that train, valid and test share, kept on disk because they take a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.graph import Triples
from stablerule.shifts import by_paths

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.graph import Dataset


def shared_groups(dataset: Dataset, folder: Path, *, groups: int = 5, seed: int = 0) -> dict[str, NDArray[np.int64]]:
    """Cluster the facts of all splits together, by the paths that train has between their ends.

    Then a group of test facts looks like the same group of training facts, which groups of test alone would not.
    """
    path = folder / f"groups,{dataset.name},{dataset.sha256[:12]},{groups},{seed}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        everything = Triples.concat(dataset.train, dataset.valid, dataset.test)
        labels = by_paths(everything, dataset.graph, groups=groups, seed=seed, measure=False).labels
        cuts = np.cumsum([len(dataset.train), len(dataset.valid)])
        train, valid, test = np.split(labels, cuts)
        temporary = path.with_suffix(".part.npz")
        np.savez_compressed(temporary, train=train, valid=valid, test=test)
        temporary.replace(path)
    with np.load(path) as kept:
        return {name: kept[name] for name in ("train", "valid", "test")}
