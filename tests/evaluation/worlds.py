"""Small datasets with scores that tie."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from stablerule.evaluation import ByScores
from stablerule.graph import Dataset, Names, Triples, Vocabulary


def dataset_of(entities: int, relations: int, **splits: Any) -> Dataset:
    """A dataset from ids, so that entities without a fact are possible."""
    words = Vocabulary(
        Names([f"e{i:04}" for i in range(entities)]),
        Names([f"r{i:04}" for i in range(relations)]),
    )
    train, valid, test = (Triples(np.array(splits.get(name, []), int)) for name in ("train", "valid", "test"))
    return Dataset("made", words, train, valid, test)


def table_model(scores: NDArray[Any], floor: float | None = None, batch_size: int | None = None) -> ByScores:
    """scores: (E, 2R, E)."""
    return ByScores(lambda heads, relations: scores[heads, relations], floor=floor, batch_size=batch_size, name="table")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Dataset, NDArray[np.float64]]:
    """A dataset of a few entities and scores of a few levels."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    entities, relations = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    sizes = [draw(st.integers(least, 12)) for least in (1, 0, 1)]
    splits = {
        name: np.stack([rng.integers(n, size=size) for n in (entities, relations, entities)], 1)
        for name, size in zip(("train", "valid", "test"), sizes, strict=True)
    }
    levels = np.array([-np.inf, -1.5, 0.0, 0.0, 0.25, 3.0, np.inf])
    scores = levels[rng.integers(len(levels), size=(entities, 2 * relations, entities))]
    return dataset_of(entities, relations, **splits), scores
