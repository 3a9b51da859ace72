"""Groups by paths, of the test facts or of all splits, cached on disk because they take a while."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.graph import Triples
from stablerule.shifts import by_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.extending import Align
    from stablerule.graph import Dataset

ALIGNMENTS: tuple[Align, ...] = ("density", "arbitrary")


def groups_of_test(dataset: Dataset, folder: Path, *, seed: int = 0) -> dict[str, list[str]]:
    """Return the group name of each test fact, for both ways to number clusters: the paper's synthetic shift."""

    def make() -> dict[str, NDArray[Any]]:
        facts = dataset.test.distinct()  # the evaluator asks each fact once
        made = {how: by_paths(facts, dataset.graph, align=how, seed=seed, measure=False) for how in ALIGNMENTS}
        return {how: np.array(grouping.names)[grouping.labels] for how, grouping in made.items()}

    kept = _kept(folder / f"test groups,{dataset.name},{dataset.sha256[:12]},{seed}.npz", make)
    return {how: kept[how].tolist() for how in ALIGNMENTS}


def shared_groups(dataset: Dataset, folder: Path, *, groups: int = 5, seed: int = 0) -> dict[str, NDArray[np.int64]]:
    """Cluster the facts of all splits together, by their paths in the training graph.

    So a group of test facts is comparable to the same group of training facts.
    """

    def make() -> dict[str, NDArray[Any]]:
        everything = Triples.concat(dataset.train, dataset.valid, dataset.test)
        labels = by_paths(everything, dataset.graph, groups=groups, seed=seed, measure=False).labels
        cuts = np.cumsum([len(dataset.train), len(dataset.valid)])
        return dict(zip(("train", "valid", "test"), np.split(labels, cuts), strict=True))

    return _kept(folder / f"groups,{dataset.name},{dataset.sha256[:12]},{groups},{seed}.npz", make)


def _kept(path: Path, make: Callable[[], dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Read arrays from a file, or make and write them; two processes at once write the same arrays."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.part.npz")
        np.savez_compressed(temporary, **make())  # type: ignore[arg-type]
        temporary.replace(path)
    with np.load(path) as kept:
        return dict(kept)
