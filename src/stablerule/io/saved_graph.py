"""Save and open a graph as a folder: arrays as .npy, names as Arrow, and an index with their checksums.

Kernels don't check the arrays, so opening a graph checks that `Graph.build` could have made them. This is one pass,
which takes a second for ten million facts. Every offset and id must be in its range, and every run sorted and without
repetition. Sums of hashes show that both lists of edges have each fact and its inverse.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError, ReadError
from stablerule.graph import Graph, Names, Vocabulary
from stablerule.io.checked_folder import CheckedFolder, sum_files
from stablerule.io.frames import expect_damage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids, Offsets

    Hash = Callable[[Ids, Ids, Ids], NDArray[np.uint64]]

# The types that kernels are compiled for.
DTYPES: Mapping[str, type[np.signedinteger[Any]]] = {
    "offsets": np.int64,
    "edge_relations": np.int32,
    "edge_tails": np.int32,
    "link_tails": np.int32,
    "link_relations": np.int32,
    "fact_offsets": np.int64,
    "fact_heads": np.int32,
    "fact_tails": np.int32,
}
CHUNK = 1 << 15  # rows whose hashes fit into the cache of a core
# Odd numbers without a pattern, for hashes of triples whose sum identifies a set of triples.
FIRST, SECOND, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(32)
FORMAT = 2
INDEX = "graph.json"
TABLES = ("entities", "relations", "sources")
NAME_FILES = tuple(f"{table}.arrow" for table in TABLES)
ARRAY_FILES = tuple(f"{name}.npy" for name in DTYPES)
FILES = frozenset({INDEX, *NAME_FILES, *ARRAY_FILES})


@dataclass(frozen=True)
class GraphIndex:
    """The index of a saved graph. Format 1 had neither checksums nor a hash of the facts."""

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
    """Map a saved graph into memory, after checking every file and every value.

    The arrays are not copied, and processes share them; the names are read into the memory of each process.
    """
    index = read_index(files)
    files = files.with_checksums({**files.checksums, **index.checksums})
    words = read_names(files)
    entities, relations = len(words.entities), len(words.relations)
    lengths = compute_array_lengths(entities, relations, index.arrays.get("fact_heads", 0))
    if index.arrays != lengths:
        raise files.make_damage_error(INDEX, f"field 'arrays' does not match the names ({entities:,} entities)")
    arrays = {name: files.map_array(f"{name}.npy", kind, (lengths[name],)) for name, kind in DTYPES.items()}
    unsound = find_unsound_array(arrays, entities, relations)
    if unsound is not None:
        raise files.make_damage_error(f"{unsound[0]}.npy", f"its values {unsound[1]}")
    graph = Graph(vocabulary=words, name=index.name, **arrays)
    if index.sha256 is not None and index.checksums:
        vars(graph)["sha256"] = (
            index.sha256
        )  # the files are unchanged; computing it takes a second for millions of facts
    return graph


def read_index(files: CheckedFolder) -> GraphIndex:
    """Read the index of a saved graph; a newer format is an error."""
    if not (files.path / INDEX).exists():
        raise ReadError(f"not a saved graph: the folder has no {INDEX}.", path=files.path)
    found = files.read_json(INDEX)
    check_format(found, FORMAT, files.path)
    return files.make_record(GraphIndex, found, INDEX)


def check_format(found: Any, newest: int, path: Path, by: str = "a newer version") -> None:
    """Raise an error for a newer format, before any other check."""
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
        with (folder / f"{table}.arrow").open("wb") as stream:  # polars needs paths in valid Unicode
            getattr(words, table).table.to_frame().write_ipc(stream, compression="uncompressed")


def read_names(files: CheckedFolder) -> Vocabulary:
    """Read the names that `write_names` wrote."""
    tables = [_read_name_table(files, name) for name in NAME_FILES]
    try:
        return Vocabulary(*tables)
    except InputError as error:
        raise files.make_damage_error("relations.arrow", str(error)) from error


def _read_name_table(files: CheckedFolder, name: str) -> Names:
    raw = files.read_bytes(name)
    try:
        with expect_damage(files.path / name):
            table = pl.read_ipc(io.BytesIO(raw))["name"]
            sound = table.dtype == pl.String and not table.null_count() and bool((table[1:] > table[:-1]).all())
    except ReadError as error:
        raise files.make_damage_error(name, "it has no names") from error
    if not sound:
        raise files.make_damage_error(name, "its names must be sorted and distinct")
    return Names.from_sorted(table)


def compute_array_lengths(entities: int, relations: int, facts: int) -> dict[str, int]:
    """Return the length of each array of a graph."""
    sizes = {"offsets": entities + 1, "fact_offsets": relations + 1, "fact_heads": facts, "fact_tails": facts}
    return {name: sizes.get(name, 2 * facts) for name in DTYPES}


def find_unsound_array(arrays: Mapping[str, NDArray[Any]], entities: int, relations: int) -> tuple[str, str] | None:
    """Return the name of an invalid array and the condition that it violates; None if all are valid.

    Types and lengths must be checked before, see `compute_array_lengths`.
    """
    facts = len(arrays["fact_heads"])
    for name, end in (("offsets", 2 * facts), ("fact_offsets", facts)):
        steps = arrays[name]
        # Compared, not subtracted, because differences of damaged numbers may overflow.
        if steps[0] != 0 or steps[-1] != end or (steps[1:] < steps[:-1]).any():
            return name, f"must rise from 0 to {end:,}"
    bounds = {"tails": entities, "heads": entities, "relations": 2 * relations}
    for name, ids in arrays.items():
        bound = bounds.get(name.rpartition("_")[2])
        if bound is not None and len(ids) and (ids.min() < 0 or ids.max() >= bound):
            return name, f"must be ids in 0..{bound - 1:,}"
    # By relation, head, tail; by head, relation, tail; and by head, tail, relation.
    lists = {
        "fact_heads": ("fact_offsets", "fact_tails", _make_hash_of_saved_relations(relations)),
        "edge_relations": ("offsets", "edge_tails", _hash_saved_edges),
        "link_tails": ("offsets", "link_relations", _hash_saved_edges_by_tail),
    }
    found = {
        name: _check_saved_runs(arrays[offsets], arrays[name], arrays[second], hashed)
        for name, (offsets, second, hashed) in lists.items()
    }
    for name, total in found.items():
        if total is None:
            return name, "must be sorted, without repetition"
        if total != found["fact_heads"]:
            return name, "must have each fact and its inverse"
    return None


def _check_saved_runs(offsets: Offsets, first: Ids, second: Ids, hashed: Hash) -> int | None:
    """Return the sum of the hashes of all rows (owner, first, second); None if the rows of an owner are not sorted."""
    owners, total = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)), 0
    for begin in range(0, len(first), CHUNK):
        rows = slice(max(begin - 1, 0), begin + CHUNK)  # with the row before, for comparison
        whose, a, b = owners[rows], first[rows], second[rows]
        pairs = _pack_saved_edges(a, b)
        if ((pairs[1:] <= pairs[:-1]) & (whose[1:] == whose[:-1])).any():
            return None
        new = slice(begin - rows.start, None)
        total += int(hashed(whose[new], a[new], b[new]).sum())
    return total % 2**64


def _pack_saved_edges(a: Ids, b: Ids) -> NDArray[np.uint64]:
    """Pack two ids into one number, which sorts like the pair."""
    packed = a.astype(np.uint64)
    packed <<= HALF
    packed |= b.view(np.uint32)
    return packed


def _hash_saved_edges(heads: Ids, relations: Ids, tails: Ids) -> NDArray[np.uint64]:
    mixed = _pack_saved_edges(relations, tails)
    mixed *= FIRST
    mixed += _pack_saved_edges(heads, heads)
    mixed ^= mixed >> HALF
    mixed *= SECOND
    mixed ^= mixed >> HALF
    return mixed


def _hash_saved_edges_by_tail(heads: Ids, tails: Ids, relations: Ids) -> NDArray[np.uint64]:
    return _hash_saved_edges(heads, relations, tails)


def _make_hash_of_saved_relations(n_relations: int) -> Hash:
    """Return a function that hashes each fact and its inverse."""

    def hashed(relations: Ids, heads: Ids, tails: Ids) -> NDArray[np.uint64]:
        return _hash_saved_edges(heads, relations, tails) + _hash_saved_edges(
            tails, relations + np.int32(n_relations), heads
        )

    return hashed
