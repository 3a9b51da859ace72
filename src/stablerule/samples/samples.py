"""Counted samples: how often each body was closed by each relation, and how often by none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids


@dataclass(frozen=True, eq=False, repr=False)
class RuleSamples:
    """A multiset of (body, head relation) pairs, kept as counts.

    bodies: (U, L) relation ids, sorted, short ones filled with -1 at the end. The cells of the sparse count matrix
    bodies x (2R + 1) are `cell_bodies`, `cell_heads`, `cell_counts`, sorted by body; head relation 2R is NEG.
    """

    n_relations: int
    bodies: Ids
    cell_bodies: Ids
    cell_heads: Ids
    cell_counts: NDArray[np.int64]

    @property
    def negative(self) -> int:
        """NEG, the head of a path that no relation closes."""
        return 2 * self.n_relations

    @property
    def n_bodies(self) -> int:
        """U: different bodies."""
        return len(self.bodies)

    @property
    def n_samples(self) -> int:
        """How many samples were counted."""
        return int(self.cell_counts.sum())

    @property
    def max_length(self) -> int:
        """L."""
        return int(self.bodies.shape[1])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(U,): the length of each body."""
        lengths: NDArray[np.int64] = (self.bodies >= 0).sum(1)
        return lengths

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """(U,): how often each body was walked."""
        return np.bincount(self.cell_bodies, self.cell_counts, self.n_bodies).astype(np.int64)

    def counts(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, 2R): how often each relation closed each of some bodies, given by their rows."""
        low, high = np.searchsorted(self.cell_bodies, rows), np.searchsorted(self.cell_bodies, rows, side="right")
        place = np.repeat(np.arange(len(rows)), high - low)
        cells = np.arange(len(place)) + np.repeat(low - np.cumsum(high - low) + (high - low), high - low)
        found = np.zeros((len(rows), self.negative + 1))
        found[place, self.cell_heads[cells]] = self.cell_counts[cells]
        return found[:, : self.negative]

    @cached_property
    def closed(self) -> NDArray[np.bool_]:
        """(U,): whether any relation ever closed the body. One that was never closed can't be a rule."""
        found = np.zeros(self.n_bodies, bool)
        found[self.cell_bodies[self.cell_heads != self.negative]] = True
        return found

    def split(self, share: float, seed: int) -> tuple[RuleSamples, RuleSamples]:
        """Deal each single sample to the second part with probability `share`; both keep all bodies and cells."""
        rng = np.random.default_rng([seed, 7])
        second = rng.binomial(self.cell_counts, share)
        return self._with(self.cell_counts - second), self._with(second)

    def of_length(self, length: int) -> NDArray[np.bool_]:
        """(cells,): mark the cells whose body has this length."""
        mask: NDArray[np.bool_] = (self.lengths == length)[self.cell_bodies]
        return mask

    def _with(self, counts: NDArray[np.int64]) -> RuleSamples:
        return RuleSamples(self.n_relations, self.bodies, self.cell_bodies, self.cell_heads, counts)

    def __repr__(self) -> str:
        return f"RuleSamples({self.n_samples:,} samples, {self.n_bodies:,} bodies up to length {self.max_length})"
