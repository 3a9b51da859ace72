"""A split on disk: ordinary data folders and a manifest, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablerule.errors import OptionError, ReadError, WriteError
from stablerule.io import check_place, folder_beside, read_dataset, write_dataset, write_triples
from stablerule.io.files import NOT_WRITTEN, make_beside, split_suffixes, unwritable
from stablerule.io.folders import OwnFolder
from stablerule.io.splits import split_of
from stablerule.shifts.splits.manifest import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from stablerule.graph import Dataset, Triples

MANIFEST, EXAMPLES = "manifest.json", "examples"
# Not RDF, which has no place for times and needs names that are IRIs.
TABLES = (".tsv", ".txt", ".csv", ".parquet")
# Where no split was saved before, whatever stands there is somebody else's.
NOTHING = OwnFolder(ours=lambda _: False)


def save_split(
    parts: Mapping[str, Dataset],
    manifest: Mapping[str, Any],
    examples: Triples | None,
    folder: str | PathLike[str],
    *,
    overwrite: bool = False,
    suffix: str = ".tsv",
) -> None:
    """Write the datasets of a split each to its folder, examples beside the dataset they are from, and the manifest."""
    folder = Path(folder)
    if split_suffixes(Path(f"train{suffix}"))[1] not in TABLES:
        raise OptionError(f"A split can't be written as {suffix!r}: formats are {', '.join(TABLES)}.")
    with _split_beside(folder, overwrite=overwrite) as temporary:
        try:
            for name, dataset in parts.items():
                write_dataset(dataset, temporary / name, suffix=suffix)
                if examples is not None:
                    write_triples(dataset.vocabulary.decode(examples), temporary / name / f"{EXAMPLES}{suffix}")
        except (OptionError, WriteError) as error:
            # Not the path of the temporary folder, which is gone when somebody reads this.
            raise type(error)(str(error).replace(str(temporary), str(folder))) from error
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (temporary / MANIFEST).write_text(text, encoding="utf-8")


def read_examples(folder: str | PathLike[str], dataset: Dataset) -> Triples:
    """Read the examples of a train-side split, with the ids of the dataset that stands in the same folder.

    >>> import tempfile, numpy
    >>> from stablerule.datasets import households
    >>> from stablerule.shifts.splits import split_train_side
    >>> dataset = households(families=3, seed=0).dataset
    >>> split = split_train_side(dataset, numpy.arange(len(dataset.train)) % 2, bias=0.8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     split.save(folder)
    ...     read_examples(folder, split.dataset) == split.examples
    True
    """
    folder = Path(folder)
    found = sorted(path for path in folder.glob(f"{EXAMPLES}.*") if _is_examples(path.name))
    if not found:
        raise ReadError("no examples in it: only a train-side split without thinning has them.", path=folder)
    if len(found) > 1:
        raise ReadError(f"two files of examples: {', '.join(path.name for path in found)}. Leave one.", path=folder)
    frame = read_dataset(found[0]).frame("train")
    examples = dataset.vocabulary.encode(frame)
    unknown = ~dataset.graph.contains(examples)
    if unknown.any():
        fact = " ".join(frame.row(int(unknown.argmax()))[:3])
        raise ReadError(f"{int(unknown.sum()):,} examples are no facts of train, such as {fact!r}.", path=found[0])
    return examples


def check_split_place(folder: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse what `Split.save` would refuse, before the work whose result goes there."""
    folder = Path(folder)
    if not (overwrite and _saved_parts(folder)):
        check_place(folder, overwrite=overwrite, replaces=NOTHING)
        return
    foreign = sorted(_foreign(folder))
    if foreign:
        shown = ", ".join(map(repr, foreign[:5])) + (", ..." if len(foreign) > 5 else "")
        raise WriteError(
            f"{folder}: holds more than a split, and is not replaced: {shown}. "
            "Choose another place, or move these away."
        )


@contextmanager
def _split_beside(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary folder as `folder_beside` does; but a split that is replaced may have folders of ours in it."""
    check_split_place(folder, overwrite=overwrite)
    if not (overwrite and _saved_parts(folder)):
        with folder_beside(folder) as temporary:
            yield temporary
        return
    place = Path(os.path.realpath(folder))  # a link stays a link: what it leads to is replaced
    _, hidden = make_beside(place, lambda **kw: (0, tempfile.mkdtemp(**kw)))
    try:
        (hidden / "new").mkdir()
        yield hidden / "new"
        check_split_place(folder, overwrite=True)  # something may have been put there
        place.rename(hidden / "old")
        try:
            (hidden / "new").rename(place)
        except OSError:
            (hidden / "old").rename(place)
            raise
    except NOT_WRITTEN as error:
        raise unwritable(folder, error) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _saved_parts(folder: Path) -> list[str]:
    """Names of the parts of the split that was saved here; none where none was."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return list(manifest["parts"]) if manifest["stablerule"] and manifest["kind"] else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _foreign(folder: Path) -> Iterator[str]:
    """Names of all that saving a split has not put into its folder."""
    parts = _saved_parts(folder)
    for entry in os.scandir(folder):
        if entry.name in parts and entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{inner.name}" for inner in os.scandir(entry) if not _is_data(inner))
        elif entry.name != MANIFEST and not (WHOLE in parts and _is_data(entry)):
            yield entry.name


def _is_data(entry: os.DirEntry[str]) -> bool:
    is_file = entry.is_file(follow_symlinks=False)
    return is_file and (split_of(entry.name) is not None or _is_examples(entry.name))


def _is_examples(name: str) -> bool:
    stem, suffix, _ = split_suffixes(Path(name))
    return stem == EXAMPLES and suffix in TABLES
