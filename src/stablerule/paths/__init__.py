"""Compiled kernels that follow paths in the graph."""

from stablerule.paths.distances import count_pairs_within, measure_pair_distances

__all__ = ["count_pairs_within", "measure_pair_distances"]
