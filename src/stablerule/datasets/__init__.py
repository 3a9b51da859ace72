"""Known graphs: a catalog, the embedded one, and made-up worlds that come with their true rules."""

from stablerule.datasets.catalog import CATALOG, Counts, Entry
from stablerule.datasets.description import Description, describe
from stablerule.datasets.households import households
from stablerule.datasets.loading import cache_folder, load, open_dataset
from stablerule.datasets.newsroom import newsroom
from stablerule.datasets.world import World

__all__ = [
    "CATALOG",
    "Counts",
    "Description",
    "Entry",
    "World",
    "cache_folder",
    "describe",
    "households",
    "load",
    "newsroom",
    "open_dataset",
]
