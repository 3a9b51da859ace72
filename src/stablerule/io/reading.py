"""Read a dataset from a folder, a file, a frame or a list."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from stablerule.errors import InputError, OptionError, ReadError
from stablerule.graph import SPLITS, Dataset, Graph, Interner, Triples, split_triples
from stablerule.graph.vocabulary import BadRow
from stablerule.io.atomic import restore_folder
from stablerule.io.checked_folder import CheckedFolder
from stablerule.io.columns import TIME_KINDS
from stablerule.io.files import COMPRESSIONS, find_path_kind, make_read_error, split_suffixes
from stablerule.io.frames import is_pandas_frame, read_frame, read_pandas, read_parquet, read_tuples
from stablerule.io.options import Columns, ReadOptions
from stablerule.io.rdf import FORMATS as RDF_FORMATS
from stablerule.io.rdf import BlankNodes, IriShortening, RdfReader
from stablerule.io.saved_graph import read_graph
from stablerule.io.tables import TableReader
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from stablerule.io.columns import Part

log = logging.getLogger("stablerule")

Source: TypeAlias = str | PathLike[str] | Any  # frames of two libraries and any iterable of triples
SUFFIXES = (".tsv", ".txt", ".csv", ".parquet", *RDF_FORMATS)
# A table may have no suffix: train, valid, test.
TABLE_SUFFIXES = (".tsv", ".txt", ".csv", "")
SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "validation", "val", "dev"), "test": ("test",)}
STEMS = {stem: part for part, stems in SPLIT_NAMES.items() for stem in stems}


def read_dataset(
    source: Source,
    *,
    split: tuple[float, float, float] | None = None,
    seed: int = 0,
    name: str | None = None,
    columns: Columns | None = None,
    header: bool | None = None,
    separator: str | None = None,
    comment: str | None = "#",
    encoding: str = "utf-8",
    literals: Literal["drop", "keep"] = "drop",
    prefixes: Mapping[str, str] | None = None,
    base: str | None = None,
) -> Dataset:
    """Read triples from a folder, a file, a frame or a list.

    source: a folder with train, valid and test files; one file (TSV, CSV, Parquet, N-Triples, Turtle, N-Quads; text
        also as .gz, .xz, .zst or .bz2); a polars or pandas frame; a list of (head, relation, tail); or a mapping
        such as `{"train": ..., "test": ...}` of any of these.
    split: shares of train, valid and test for a single source, split at random by `seed`. Without it, all facts are
        train. The other options are those of `ReadOptions`.

    >>> dataset = read_dataset([("Paris", "capital_of", "France"), ("Berlin", "capital_of", "Germany")])
    >>> dataset.graph
    Graph('triples', 4 entities, 1 relations, 2 facts)
    """
    options = ReadOptions(columns, header, separator, comment, encoding, literals, prefixes or {}, base)
    sources, found_name, notes = _find_split_sources(source)
    if split is not None and set(sources) != {"train"}:
        raise OptionError(f"Argument 'split' is for a single source, but this one already has {', '.join(sources)}.")
    reading = _DatasetReader(options, notes=notes)
    with progress_bar(f"reading {found_name}", None) as advance:
        parts = {}
        for part, one in sources.items():
            advance(0, part)
            parts[part] = reading.read(one)
        return reading.finish(parts, name or found_name, split=split, seed=seed)


def read_streams(streams: Mapping[str, tuple[str, IO[bytes]]], *, name: str) -> Dataset:
    """Read TSV splits from open streams, such as members of an archive, each with a path for messages."""
    reading = _DatasetReader(ReadOptions(comment=None))
    parts = {part: reading.read_table(path, stream) for part, (path, stream) in streams.items()}
    return reading.finish(parts, name)


def open_graph(folder: str | PathLike[str]) -> Graph:
    """Open a saved graph by mapping its arrays into memory, which processes share; only names are read into memory.

    Every file is compared with its checksum and every value is checked, because compiled code uses them unchecked.
    """
    restore_folder(Path(folder))
    return read_graph(CheckedFolder(Path(folder), "Save it again."))


def _find_split_sources(source: Source) -> tuple[dict[str, Source], str, list[str]]:
    """Return the source of each split, a name for the dataset, and notes for the user."""
    if isinstance(source, Mapping):
        unknown = set(source) - set(SPLITS)
        if unknown or source.get("train") is None:
            raise OptionError(
                f"A mapping of sources must have 'train' and may have 'valid' and 'test', got {list(source)}"
                f"{' with train empty' if 'train' in source else ''}."
            )
        return {part: source[part] for part in SPLITS if source.get(part) is not None}, "triples", []
    if isinstance(source, str | PathLike):
        path = Path(source)
        if find_path_kind(path) == "file":
            return {"train": path}, split_suffixes(path)[0], []
        found = look_for_split_files(path)
        return dict(found.files), path.resolve().name, _note_unused_files(path, found.unused)
    return {"train": source}, "triples", []


def _note_unused_files(folder: Path, unused: Sequence[Path]) -> list[str]:
    if not unused:
        return []
    shown = ", ".join(path.name for path in unused[:5]) + (", ..." if len(unused) > 5 else "")
    return [f"{folder}: skipped {shown}; only train, valid and test are read."]


@dataclass
class _DatasetReader:
    """Reads several sources with one vocabulary."""

    options: ReadOptions
    interner: Interner = field(default_factory=Interner)
    notes: list[str] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    blank_nodes: BlankNodes = field(default_factory=BlankNodes)
    has_rdf: bool = False

    def read(self, source: Source) -> Triples:
        if isinstance(source, str | PathLike):
            return self._read_file(Path(source))
        if isinstance(source, pl.DataFrame):
            return self._join_parts([read_frame(source, self.options)], "polars frame")
        if is_pandas_frame(source):
            return self._join_parts([read_pandas(source, self.options)], "pandas frame")
        if isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | memoryview | Dataset):
            return self._join_parts([read_tuples(source, self.options)], "list of triples")
        raise InputError(f"A source must be a path, a frame or a list of triples, got {type(source).__name__}.")

    def read_table(self, path: str, stream: IO[bytes]) -> Triples:
        return self._join_parts(TableReader(path, self.options).read_stream(stream), path)

    def _read_file(self, path: Path) -> Triples:
        _, suffix, _ = split_suffixes(path)
        if suffix == ".parquet":
            return self._join_parts(read_parquet(path, self.options), path)
        if suffix in RDF_FORMATS:
            rdf = RdfReader(path, suffix, self.options, self.blank_nodes)
            triples = self._join_parts(rdf.read(), path)
            self.has_rdf = True
            self.notes += rdf.notes
            for prefix, namespace in rdf.prefixes.items():
                self.prefixes.setdefault(prefix, namespace)
            return triples
        if suffix not in TABLE_SUFFIXES:
            raise ReadError(
                f"unknown format {suffix!r}: expected {', '.join(s for s in SUFFIXES)}, "
                f"and {', '.join(COMPRESSIONS)} for compressed files.",
                path=path,
            )
        table = TableReader(path, self.options)
        triples = self._join_parts(table.read(), path)
        self.notes += table.notes
        return triples

    def _join_parts(self, parts: Iterable[Part], where: str | Path) -> Triples:
        triples = [self._intern_part(part) for part in parts]
        _check_time_types(triples, where)
        return Triples.concat(*triples)

    def _intern_part(self, part: Part) -> Triples:
        try:
            return self.interner.add(part.frame)
        except BadRow as error:
            raise part.place.make_error(error.problem, error.row) from error

    def finish(
        self,
        parts: Mapping[str, Triples],
        name: str,
        *,
        split: tuple[float, float, float] | None = None,
        seed: int = 0,
    ) -> Dataset:
        _check_time_types(list(parts.values()), name)
        prefixes = self.prefixes | dict(self.options.prefixes)
        vocabulary, renumbering = self.interner.finish(self._make_renaming(prefixes) if self.has_rdf else None)
        final = {part: renumbering.apply(triples) for part, triples in parts.items()}
        if split is not None:
            final = dict(zip(SPLITS, split_triples(final["train"], split, seed), strict=True))
            self._note_split(len(parts["train"]), final, split)
        for note in self.notes:
            log.warning(note)
        train, valid, test = (final.get(part, Triples.empty()) for part in SPLITS)
        return Dataset(
            name, vocabulary, train, valid, test, notes=tuple(self.notes), prefixes=prefixes if self.has_rdf else {}
        )

    def _make_renaming(self, prefixes: Mapping[str, str]) -> Callable[[pl.Series], pl.Series]:
        """Shorten IRIs and number unlabelled nodes, once all names are known, to avoid clashes."""
        known = self.interner.names()
        shortening = IriShortening(prefixes, self.options.base).without_clashes(known)
        return lambda names: shortening.shorten(self.blank_nodes.final(names, known))

    def _note_split(self, read: int, final: Mapping[str, Triples], split: tuple[float, float, float]) -> None:
        distinct = sum(len(triples) for triples in final.values())
        if distinct < read:
            self.notes.append(f"skipped {read - distinct:,} repeated facts before splitting.")
        asked = distinct - round(split[0] * distinct)
        got = len(final["valid"]) + len(final["test"])
        if got < asked:
            self.notes.append(
                f"valid and test have {got:,} facts instead of {asked:,}: train needs the others, to have every entity."
            )


def _check_time_types(parts: Sequence[Triples], where: str | Path) -> None:
    kinds = {TIME_KINDS.get(str(part.time.dtype), str(part.time.dtype)) for part in parts if part.time is not None}
    if len(kinds) > 1:
        raise ReadError(f"all times must be of one kind, found {' and '.join(sorted(kinds))}.", path=where)


@dataclass(frozen=True)
class SplitFiles:
    """The file of each split, and other data files in the folder."""

    files: dict[str, Path]
    unused: tuple[Path, ...] = ()


def find_split_files(folder: Path) -> dict[str, Path]:
    """Return the files of train, valid and test in a folder."""
    return look_for_split_files(folder).files


def look_for_split_files(folder: Path) -> SplitFiles:
    """Return the files of train, valid and test in a folder, and the data files that are not read."""
    if find_path_kind(folder) != "folder":
        raise ReadError("no such file or folder.", path=folder)
    try:
        everything = sorted(folder.iterdir())
    except OSError as error:
        raise make_read_error(folder, error) from error
    by_split: dict[str, list[Path]] = {part: [] for part in SPLIT_NAMES}
    unused = []
    for path in everything:
        part = find_split_of_file(path.name)
        if part is not None and find_path_kind(path) == "file":
            by_split[part].append(path)
        elif split_suffixes(path)[1] in SUFFIXES and not path.name.startswith("."):
            unused.append(path)
    for part, files in by_split.items():
        if len(files) > 1:
            raise ReadError(f"two files for {part}: {', '.join(p.name for p in files)}. Keep one.", path=folder)
    if not by_split["train"]:
        names = [p.name for p in everything]
        seen = f"found {', '.join(map(repr, names[:8]))}{', ...' if len(names) > 8 else ''}" if names else "it is empty"
        raise ReadError(
            f"no training facts: expected a file such as train.tsv, train.csv, train.parquet or train.nt, {seen}.",
            path=folder,
        )
    return SplitFiles({part: files[0] for part, files in by_split.items() if files}, tuple(unused))


def find_split_of_file(name: str) -> str | None:
    """Return the split that a file name stands for, None if it is not a split.

    >>> find_split_of_file("Train.tsv.gz"), find_split_of_file("val"), find_split_of_file("train.docx")
    ('train', 'valid', None)
    """
    stem, suffix, _ = split_suffixes(Path(name))
    return STEMS.get(stem.lower()) if suffix in ("", *SUFFIXES) else None
