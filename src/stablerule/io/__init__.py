"""How data comes in and goes out: tables, frames, RDF; compressed or not; whole or not at all."""

from stablerule.io.files import write_beside
from stablerule.io.folders import check_place, folder_beside
from stablerule.io.options import ReadOptions
from stablerule.io.reading import read_dataset
from stablerule.io.saving import open_graph, save_graph
from stablerule.io.splits import find_splits
from stablerule.io.writing import to_pandas, write_dataset, write_triples

__all__ = [
    "ReadOptions",
    "check_place",
    "find_splits",
    "folder_beside",
    "open_graph",
    "read_dataset",
    "save_graph",
    "to_pandas",
    "write_beside",
    "write_dataset",
    "write_triples",
]
