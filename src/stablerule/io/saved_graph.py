"""A graph as a folder: its arrays as .npy, its names as Arrow, and an index with the checksums of all of them."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stablerule.errors import InputError, ReadError
from stablerule.graph import Graph, Names, Vocabulary
from stablerule.graph.soundness import DTYPES, array_lengths, find_unsound_array
from stablerule.io.checked_folder import CheckedFolder, sum_files
from stablerule.io.parquet import expect_damage

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

FORMAT = 2
INDEX = "graph.json"
TABLES = ("entities", "relations", "sources")
NAME_FILES = tuple(f"{table}.arrow" for table in TABLES)
ARRAY_FILES = tuple(f"{name}.npy" for name in DTYPES)
FILES = frozenset({INDEX, *NAME_FILES, *ARRAY_FILES})


@dataclass(frozen=True)
class GraphIndex:
    """What the index of a saved graph says. Format 1 had neither checksums nor a hash of the facts."""

    format: int
    name: str
    arrays: dict[str, int]
    checksums: dict[str, str] = field(default_factory=dict)
    sha256: str | None = None


def write_graph_files(graph: Graph, folder: Path) -> None:
    """Write a graph into an existing folder; `save_graph` makes the folder safely."""
    for name, array in graph.arrays.items():
        np.save(folder / f"{name}.npy", array.astype(array.dtype.newbyteorder("<"), copy=False))
    write_names(graph.vocabulary, folder)
    lengths = {name: len(array) for name, array in graph.arrays.items()}
    sums = sum_files(folder, (*NAME_FILES, *ARRAY_FILES))
    index = GraphIndex(FORMAT, graph.name, lengths, sums, graph.sha256)
    (folder / INDEX).write_text(json.dumps(asdict(index), indent=2) + "\n", encoding="utf-8")


def read_graph(files: CheckedFolder) -> Graph:
    """Map a saved graph into memory, when every file and every value of it is as it must be.

    The arrays are not copied, and processes share their pages; the names are read by each process for itself.
    """
    index = read_index(files)
    files = files.with_checksums({**files.checksums, **index.checksums})
    words = read_names(files)
    entities, relations = len(words.entities), len(words.relations)
    lengths = array_lengths(entities, relations, index.arrays.get("fact_heads", 0))
    if index.arrays != lengths:
        raise files.damaged(INDEX, f"field 'arrays' and the names do not fit together ({entities:,} entities)")
    arrays = {name: files.map_array(f"{name}.npy", kind, (lengths[name],)) for name, kind in DTYPES.items()}
    unsound = find_unsound_array(arrays, entities, relations)
    if unsound is not None:
        raise files.damaged(f"{unsound[0]}.npy", f"its values {unsound[1]}, and do not")
    graph = Graph(vocabulary=words, name=index.name, **arrays)
    if index.sha256 is not None and index.checksums:
        vars(graph)["sha256"] = index.sha256  # of files that are as they were; it takes a second for millions of facts
    return graph


def read_index(files: CheckedFolder) -> GraphIndex:
    """Read the index of a saved graph; one of a later version is an error that says so."""
    if not (files.path / INDEX).exists():
        raise ReadError(f"not a saved graph: there is no {INDEX} in it.", path=files.path)
    found = files.read_json(INDEX)
    check_format(found, FORMAT, files.path)
    return files.make_record(GraphIndex, found, INDEX)


def check_format(found: Any, newest: int, path: Path, by: str = "a newer version") -> None:
    """Refuse what was written by a later version, before anything else in it can look wrong."""
    written = found.get("format") if isinstance(found, dict) else None
    if isinstance(written, int) and written > newest:
        raise ReadError(
            f"written by {by} in format {written}; this version reads up to {newest}. "
            "Upgrade with: pip install -U stablerule",
            path=path,
        )


def write_names(words: Vocabulary, folder: Path) -> None:
    """Write the names of a vocabulary into an existing folder, one Arrow file for each table."""
    for table in TABLES:
        with (folder / f"{table}.arrow").open("wb") as stream:  # polars takes no path that is not Unicode text
            getattr(words, table).table.to_frame().write_ipc(stream, compression="uncompressed")


def read_names(files: CheckedFolder) -> Vocabulary:
    """Read what `write_names` wrote, into the memory of this process."""
    tables = [_read_name_table(files, name) for name in NAME_FILES]
    try:
        return Vocabulary(*tables)
    except InputError as error:
        raise files.damaged("relations.arrow", str(error)) from error


def _read_name_table(files: CheckedFolder, name: str) -> Names:
    raw = files.read_bytes(name)
    try:
        with expect_damage(files.path / name):
            table = pl.read_ipc(io.BytesIO(raw))["name"]
            sound = table.dtype == pl.String and not table.null_count() and bool((table[1:] > table[:-1]).all())
    except ReadError as error:
        raise files.damaged(name, "it holds no names") from error
    if not sound:
        raise files.damaged(name, "its names must be sorted, each there once")
    return Names.from_sorted(table)
