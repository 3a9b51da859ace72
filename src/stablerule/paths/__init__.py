"""The graph walked along relations, by compiled kernels."""

from stablerule.paths.distances import count_pairs_within, measure_pair_distances

__all__ = ["count_pairs_within", "measure_pair_distances"]
