"""The library's arithmetic of complex rows, which its own ComplEx embeddings are made of."""

from stablerule.learning.embedding import measure_moduli, multiply_rows

__all__ = ["measure_moduli", "multiply_rows"]
