"""Whatever a user brings becomes a Dataset."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import polars as pl

from stablerule.errors import InputError, OptionError, ReadError
from stablerule.graph import SPLITS, Dataset, Interner, Triples, split_triples
from stablerule.io.files import COMPRESSIONS, split_suffixes
from stablerule.io.frames import is_pandas, read_frame, read_pandas, read_parquet, read_tuples
from stablerule.io.options import Columns, ReadOptions
from stablerule.io.rdf import FORMATS as RDF_FORMATS
from stablerule.io.rdf import RdfReader, Shortening
from stablerule.io.tables import TableReader

log = logging.getLogger("stablerule")

Source: TypeAlias = str | PathLike[str] | Any  # frames of two libraries and any iterable of triples
TABLE_SUFFIXES = (".tsv", ".txt", ".csv", "")
SUFFIXES = (".tsv", ".txt", ".csv", ".parquet", *RDF_FORMATS)
SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "validation", "dev"), "test": ("test",)}


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
    split: shares of train, valid and test for a single source, chosen by `seed`. Without it, all of it is train.
    The other options are those of `ReadOptions`.

    >>> dataset = read_dataset([("Paris", "capital_of", "France"), ("Berlin", "capital_of", "Germany")])
    >>> dataset.graph
    Graph('triples', 4 entities, 1 relations, 2 facts)
    """
    options = ReadOptions(columns, header, separator, comment, encoding, literals, prefixes or {}, base)
    sources, found_name = _by_split(source)
    if split is not None and set(sources) != {"train"}:
        raise OptionError(f"Argument 'split' is for a single source; this one has {', '.join(sources)} already.")
    reading = _Reading(options)
    parts = {part: reading.read(one) for part, one in sources.items()}
    return reading.finish(parts, name or found_name, split=split, seed=seed)


def read_streams(streams: Mapping[str, tuple[str, IO[bytes]]], *, name: str) -> Dataset:
    """Read TSV splits from open streams, each with the path for messages: members of an archive, for instance."""
    reading = _Reading(ReadOptions(comment=None))
    parts = {part: reading.read_table(path, stream) for part, (path, stream) in streams.items()}
    return reading.finish(parts, name)


def find_splits(folder: Path) -> dict[str, Path]:
    """Find the files for train, valid and test in a folder."""
    if not folder.is_dir():
        raise ReadError("no such file or folder.", path=folder)
    found: dict[str, Path] = {}
    for part, stems in SPLIT_NAMES.items():
        files = [p for p in sorted(folder.iterdir()) if p.is_file() and _is_split(p, stems)]
        if len(files) > 1:
            raise ReadError(f"two files for {part}: {', '.join(p.name for p in files)}. Leave one.", path=folder)
        if files:
            found[part] = files[0]
    if "train" not in found:
        names = sorted(p.name for p in folder.iterdir())
        seen = f"found {', '.join(map(repr, names[:8]))}{', ...' if len(names) > 8 else ''}" if names else "it is empty"
        raise ReadError(
            f"no training facts: expected a file such as train.tsv, train.csv, train.parquet or train.nt, {seen}.",
            path=folder,
        )
    return found


def _is_split(path: Path, stems: Sequence[str]) -> bool:
    stem, suffix, _ = split_suffixes(path)
    return stem.lower() in stems and suffix in SUFFIXES and not path.name.startswith(".")


def _by_split(source: Source) -> tuple[dict[str, Source], str]:
    if isinstance(source, Mapping):
        unknown = set(source) - set(SPLITS)
        if unknown or "train" not in source:
            raise OptionError(
                f"A mapping of sources must have 'train' and may have 'valid' and 'test', got {list(source)}."
            )
        return {part: source[part] for part in SPLITS if source.get(part) is not None}, "triples"
    if isinstance(source, str | PathLike):
        path = Path(source)
        if path.is_dir() or not path.exists():
            return dict(find_splits(path)), path.resolve().name
        return {"train": path}, split_suffixes(path)[0]
    return {"train": source}, "triples"


@dataclass
class _Reading:
    """One vocabulary over several sources."""

    options: ReadOptions
    interner: Interner = field(default_factory=Interner)
    notes: list[str] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    has_rdf: bool = False

    def read(self, source: Source) -> Triples:
        if isinstance(source, pl.DataFrame):
            return self._join([read_frame(source, self.options)], "polars frame")
        if is_pandas(source):
            return self._join([read_pandas(source, self.options)], "pandas frame")
        if isinstance(source, str | PathLike):
            return self._read_file(Path(source))
        if isinstance(source, Iterable):
            return self._join([read_tuples(source)], "list of triples")
        raise InputError(f"A source must be a path, a frame or a list of triples, got {type(source).__name__}.")

    def read_table(self, path: str, stream: IO[bytes]) -> Triples:
        return self._join(TableReader(path, self.options).read_stream(stream), path)

    def _read_file(self, path: Path) -> Triples:
        _, suffix, _ = split_suffixes(path)
        if suffix == ".parquet":
            return self._join(read_parquet(path, self.options), path)
        if suffix in RDF_FORMATS:
            rdf = RdfReader(path, suffix, self.options)
            triples = self._join(rdf.read(), path)
            self.has_rdf = True
            self.notes += rdf.notes
            for prefix, namespace in rdf.prefixes.items():
                self.prefixes.setdefault(prefix, namespace)
            return triples
        if suffix not in TABLE_SUFFIXES:
            raise ReadError(
                f"unknown format {suffix!r}: expected {', '.join(s for s in SUFFIXES)}, "
                f"with {', '.join(COMPRESSIONS)} behind it where compressed.",
                path=path,
            )
        table = TableReader(path, self.options)
        triples = self._join(table.read(), path)
        self.notes += table.notes
        return triples

    def _join(self, frames: Iterable[pl.DataFrame], where: str | Path) -> Triples:
        parts = [self.interner.add(frame) for frame in frames]
        _same_time_type(parts, where)
        return Triples.concat(*parts)

    def finish(
        self,
        parts: Mapping[str, Triples],
        name: str,
        *,
        split: tuple[float, float, float] | None = None,
        seed: int = 0,
    ) -> Dataset:
        _same_time_type(list(parts.values()), name)
        prefixes = self.prefixes | dict(self.options.prefixes)
        shortening = None
        if self.has_rdf:
            shortening = Shortening(prefixes, self.options.base).without_clashes(self.interner.names())
        vocabulary, renumbering = self.interner.finish(shortening.shorten if shortening else None)
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

    def _note_split(self, read: int, final: Mapping[str, Triples], split: tuple[float, float, float]) -> None:
        distinct = sum(len(triples) for triples in final.values())
        if distinct < read:
            self.notes.append(f"{read - distinct:,} repeated facts were left out before splitting.")
        asked = distinct - round(split[0] * distinct)
        got = len(final["valid"]) + len(final["test"])
        if got < asked:
            self.notes.append(
                f"valid and test have {got:,} facts instead of {asked:,}: train needs the others to know every entity."
            )


def _same_time_type(parts: Sequence[Triples], where: str | Path) -> None:
    kinds = {str(part.time.dtype) for part in parts if part.time is not None}
    if len(kinds) > 1:
        raise ReadError(f"time must be of one kind throughout, found {' and '.join(sorted(kinds))}.", path=where)
