"""Made-up worlds with their true rules."""

from stablerule.datasets.worlds.households import households
from stablerule.datasets.worlds.making import World
from stablerule.datasets.worlds.newsroom import newsroom

__all__ = ["World", "households", "newsroom"]
