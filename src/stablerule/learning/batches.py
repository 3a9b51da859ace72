"""Draw batches from counted samples, as unique bodies with their multiplicities."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from stablerule.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.samples import RuleSamples


class Batch(NamedTuple):
    """N samples: U unique bodies, and C distinct (body, head relation) cells."""

    ids: Tensor  # rows of RuleSamples.bodies (U,)
    bodies: Tensor  # relation ids, padded with -1 (U, L)
    counts: Tensor  # how often each body occurs (U,)
    cell_rows: Tensor  # row of the body of each cell, in this batch (C,)
    cell_heads: Tensor  # head relation of each cell (C,)
    cell_counts: Tensor  # how often each cell occurs (C,)


class SamplePool:
    """The samples of some lengths, from which batches are drawn.

    A batch depends only on the seed and the number of the step, so a resumed run draws the same batches.
    """

    def __init__(self, samples: RuleSamples, lengths: tuple[int, ...], device: str | torch.device = "cpu") -> None:
        wanted = np.isin(samples.lengths, lengths)[samples.cell_bodies] & (samples.cell_counts > 0)
        self.cells = np.flatnonzero(wanted)
        self.samples, self.longest, self.device = samples, max(lengths), device
        self.cumulative = np.cumsum(samples.cell_counts[self.cells])

    def __len__(self) -> int:
        return int(self.cumulative[-1]) if len(self.cumulative) else 0

    def draw(self, size: int, seed: tuple[int, ...]) -> Batch:
        """Draw samples with replacement."""
        if not len(self):
            raise InputError("There are no samples to draw from.")
        picked = np.random.default_rng(seed).integers(len(self), size=size)
        cells, counts = np.unique(np.searchsorted(self.cumulative, picked, side="right"), return_counts=True)
        return self._make_batch(self.cells[cells], counts)

    def all(self) -> Batch:
        """Return a batch with every sample once."""
        return self._make_batch(self.cells, self.samples.cell_counts[self.cells])

    def _make_batch(self, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> Batch:
        samples = self.samples
        ids, rows = np.unique(samples.cell_bodies[cells], return_inverse=True)
        body_counts = np.bincount(rows, counts, len(ids))
        arrays = (
            ids.astype(np.int64),
            samples.bodies[ids, : self.longest].astype(np.int64),
            body_counts.astype(np.float32),
            rows,
            samples.cell_heads[cells].astype(np.int64),
            counts.astype(np.float32),
        )
        return Batch(*(torch.from_numpy(array).to(self.device) for array in arrays))
