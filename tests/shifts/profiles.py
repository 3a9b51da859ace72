"""Profiles made by hand: two kinds of queries, of which one is easy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stablerule.shifts import QuerySet
from stablerule.shifts.profile import Profile

EASY, HARD = 0.9, 0.3


def made_profile(
    n: int, easy: float, rng: np.random.Generator, *, silent: float = 0.0, relations: int = 2
) -> tuple[Profile, NDArray[np.float64]]:
    """n queries, a share of them easy, and their reciprocal ranks. Easy ones fire body 0, hard ones body 1.

    A share of them is silent: no body fires, and there is no candidate; their reciprocal rank is 0.2.
    """
    is_easy, is_silent = rng.random(n) < easy, rng.random(n) < silent
    ids = np.arange(n, dtype=np.int32)
    queries = QuerySet(ids, rng.integers(relations, size=n).astype(np.int32), np.full(n, -1, np.int32))
    fires = np.zeros((n, 3))
    fires[~is_silent & is_easy, 0] = 1
    fires[~is_silent & ~is_easy, 1] = 1
    fires[~is_silent, 2] = rng.random(int((~is_silent).sum())) < 0.5
    ranks = np.clip(np.where(is_easy, EASY, HARD) + rng.normal(0, 0.1, n), 0, 1)
    ranks[is_silent] = 0.2
    best = np.where(is_silent, 0, rng.random(n))
    profile = Profile(
        queries,
        rng.integers(1, 30, size=n),
        sparse.csr_matrix(fires),
        np.where(is_silent, 0, rng.integers(1, 50, size=n)),
        best,
        best * rng.random(n),
    )
    return profile, ranks


class Words:
    """Stands in for a Profiler where only names are asked for."""

    def __init__(self, vocabulary: Any, bodies: list[tuple[int, ...]], body_relations: list[int]) -> None:
        width = max(map(len, bodies))
        self.graph = type("Graph", (), {"vocabulary": vocabulary})
        self.bodies = np.array([[*body, *[-1] * (width - len(body))] for body in bodies])
        self.body_relations = np.array(body_relations)
        self.trust = np.arange(len(bodies), 0, -1) / 10

    def body_name(self, body: int) -> str:
        return f"body {body}"
