"""Random numbers inside of kernels: one short stream for each walk, so that threads can't change the result."""

from __future__ import annotations

import numpy as np

from stablerule.paths.compiling import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@compiled
def mix(state: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    z = (state ^ (state >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


@compiled
def below(bits: np.uint64, size: int) -> np.int64:
    """Turn 64 random bits into a number below `size`, by multiplying and not by dividing."""
    return np.int64(((bits >> U32) * np.uint64(size)) >> U32)
