"""Which files of a folder are train, valid and test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stablerule.errors import ReadError
from stablerule.io.files import find_path_kind, make_read_error, split_suffixes
from stablerule.io.rdf import FORMATS as RDF_FORMATS

SUFFIXES = (".tsv", ".txt", ".csv", ".parquet", *RDF_FORMATS)
# A table may have no suffix at all: train, valid, test.
TABLE_SUFFIXES = (".tsv", ".txt", ".csv", "")
SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "validation", "val", "dev"), "test": ("test",)}
STEMS = {stem: part for part, stems in SPLIT_NAMES.items() for stem in stems}


@dataclass(frozen=True)
class SplitFiles:
    """The file of each split, and the data files beside them that are none."""

    files: dict[str, Path]
    unused: tuple[Path, ...] = ()


def find_splits(folder: Path) -> dict[str, Path]:
    """Find the files for train, valid and test in a folder."""
    return look_for_splits(folder).files


def look_for_splits(folder: Path) -> SplitFiles:
    """Do the same, and return the other data files as well: somebody may miss their facts."""
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
            raise ReadError(f"two files for {part}: {', '.join(p.name for p in files)}. Leave one.", path=folder)
    if not by_split["train"]:
        names = [p.name for p in everything]
        seen = f"found {', '.join(map(repr, names[:8]))}{', ...' if len(names) > 8 else ''}" if names else "it is empty"
        raise ReadError(
            f"no training facts: expected a file such as train.tsv, train.csv, train.parquet or train.nt, {seen}.",
            path=folder,
        )
    return SplitFiles({part: files[0] for part, files in by_split.items() if files}, tuple(unused))


def find_split_of_file(name: str) -> str | None:
    """Tell the split from the name of a file, None where it is no split.

    >>> find_split_of_file("Train.tsv.gz"), find_split_of_file("val"), find_split_of_file("train.docx")
    ('train', 'valid', None)
    """
    stem, suffix, _ = split_suffixes(Path(name))
    return STEMS.get(stem.lower()) if suffix in ("", *SUFFIXES) else None
