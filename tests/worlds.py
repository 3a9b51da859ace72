"""Small graphs that several tests use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from stablerule import Dataset

if TYPE_CHECKING:
    from stablerule import Graph

Fact = tuple[str, str, str]

# Few names, so that facts repeat, reverse and loop.
entities = st.sampled_from(["a", "b", "c", "d", "e", "Ünï", "x y", 'q"t'])
relations = st.sampled_from(["r", "s", "t"])
facts = st.tuples(entities, relations, entities)
fact_lists = st.lists(facts, min_size=1, max_size=40)


def random_graph(seed: int, entities: int = 12, relations: int = 3, count: int = 30) -> Graph:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(n, size=count) for n in (entities, relations, entities)], 1)
    names = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows.tolist()]
    return Dataset.from_names("random", train=names).graph
