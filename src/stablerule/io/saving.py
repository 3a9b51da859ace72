"""A graph kept on disk, to be mapped into memory by any number of processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.graph import Graph
from stablerule.io.files import folder_beside

if TYPE_CHECKING:
    from os import PathLike


def save_graph(graph: Graph, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a graph as a folder of arrays, whole or not at all."""
    with folder_beside(Path(folder), overwrite=overwrite) as temporary:
        graph.write_into(temporary)


def open_graph(folder: str | PathLike[str]) -> Graph:
    """Map a saved graph into memory. It opens at once whatever its size, and processes share its pages."""
    return Graph.open(Path(folder))
