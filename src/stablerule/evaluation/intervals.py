"""How far a mean would move with other queries of the same kind: the bootstrap."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Queries drawn at once, over all resamples of a block.
DRAWN_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Resampling:
    """How the bootstrap is done: so many resamples of the queries, and the share of them that an interval holds."""

    seed: int = 0
    resamples: int = 1000
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("resamples", 2)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise OptionError(f"Argument {name!r} must be a whole number of at least {least}, got {value!r}.")
            object.__setattr__(self, name, int(value))
        if not isinstance(self.confidence, int | float) or not 0 < self.confidence < 1:
            raise OptionError(f"Argument 'confidence' must be between 0 and 1, got {self.confidence!r}.")

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of resampled queries: values (n, m) -> (resamples, m). The same seed gives the same means."""
        rng, n = np.random.default_rng(self.seed), len(values)
        counts = np.empty((min(self.resamples, max(1, DRAWN_AT_ONCE // n)), n))
        found = np.empty((self.resamples, values.shape[1]))
        for begin in range(0, self.resamples, len(counts)):
            block = counts[: self.resamples - begin]
            for row in block:
                # How often each query was drawn: then a mean is a product of matrices, for all metrics at once.
                row[:] = np.bincount(rng.integers(n, size=n), minlength=n)
            found[begin : begin + len(block)] = block @ values / n
        return found

    def interval(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return low and high for each column, (2, m): the middle `confidence` of the resampled means."""
        tail = (1 - self.confidence) / 2
        bounds: NDArray[np.float64] = np.quantile(means, [tail, 1 - tail], axis=0)
        return bounds

    def to_json(self) -> dict[str, Any]:
        """Return the options as they were."""
        return asdict(self)
