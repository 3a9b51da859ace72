"""The graph walked along relations, by compiled kernels."""

from stablerule.paths.distances import count_within, pair_distances

__all__ = ["count_within", "pair_distances"]
