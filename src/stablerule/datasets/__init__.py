"""Known graphs: a catalog, the embedded graph, and made-up worlds with their true rules."""

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from stablerule.datasets.catalog import CATALOG, Counts, Entry
    from stablerule.datasets.description import Description, describe
    from stablerule.datasets.loading import find_dataset_cache, load, open_dataset
    from stablerule.datasets.worlds.households import households
    from stablerule.datasets.worlds.making import World
    from stablerule.datasets.worlds.newsroom import newsroom

__all__ = [
    "CATALOG",
    "Counts",
    "Description",
    "Entry",
    "World",
    "describe",
    "find_dataset_cache",
    "households",
    "load",
    "newsroom",
    "open_dataset",
]

if not TYPE_CHECKING:
    from stablerule.importing import import_when_used

    __getattr__, __dir__ = import_when_used(
        __name__,
        {
            "catalog": ("CATALOG", "Counts", "Entry"),
            "description": ("Description", "describe"),
            "loading": ("find_dataset_cache", "load", "open_dataset"),
            "worlds.households": ("households",),
            "worlds.making": ("World",),
            "worlds.newsroom": ("newsroom",),
        },
    )
