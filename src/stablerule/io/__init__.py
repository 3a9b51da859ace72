"""Read and write data: tables, frames, RDF, compressed or not; outputs are written completely or not at all."""

from stablerule.io.atomic import write_beside
from stablerule.io.folders import check_output_folder, write_folder_beside
from stablerule.io.options import ReadOptions
from stablerule.io.reading import find_split_files, open_graph, read_dataset
from stablerule.io.writing import save_graph, to_pandas, write_dataset, write_triples

__all__ = [
    "ReadOptions",
    "check_output_folder",
    "find_split_files",
    "open_graph",
    "read_dataset",
    "save_graph",
    "to_pandas",
    "write_beside",
    "write_dataset",
    "write_folder_beside",
    "write_triples",
]
