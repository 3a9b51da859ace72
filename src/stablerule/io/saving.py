"""A graph kept on disk, to be mapped into memory by any number of processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.graph import Graph
from stablerule.graph.graph import FILES, INDEX
from stablerule.io.folders import OwnFolder, folder_beside

if TYPE_CHECKING:
    from os import PathLike

SAVED_GRAPH = OwnFolder(ours=FILES.__contains__, marks=frozenset({INDEX}))


def save_graph(graph: Graph, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a graph as a folder of arrays, whole or not at all. Only a saved graph is overwritten."""
    with folder_beside(Path(folder), overwrite=overwrite, replaces=SAVED_GRAPH) as temporary:
        graph.write_into(temporary)


def open_graph(folder: str | PathLike[str]) -> Graph:
    """Map a saved graph into memory, and share its pages with other processes; each reads the names for itself."""
    return Graph.open(Path(folder))
