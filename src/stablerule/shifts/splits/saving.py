"""A split with its manifest, and how it is saved: as ordinary data folders, completely or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError, OptionError, ReadError
from stablerule.io import check_output_folder, read_dataset, write_folder_beside
from stablerule.io.files import split_suffixes
from stablerule.io.reading import find_split_of_file
from stablerule.io.writing import write_dataset_into, write_triples_into
from stablerule.reasoning.model_folder import list_installed_versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from stablerule.graph import Dataset, Names, Triples, Vocabulary

FORMAT = 1
# The name of the only part of a split into one dataset, which is saved in the folder itself.
WHOLE = "."
# Reasons why facts of the source are not in any part of a split.
REPEATED, CROSSING, NOT_DRAWN = "repeated", "crossing parts", "not drawn"
MANIFEST, EXAMPLES = "manifest.json", "examples"
# Not RDF, which has no times and needs IRIs as names.
TABLES = (".tsv", ".txt", ".csv", ".parquet")


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """One or several datasets made from another, and a manifest that describes them.

    parts: the datasets, by the names of the folders that `save` makes for them; the name of a single dataset is ".".
    examples: in a train-side split, the training facts that may be used as targets. manifest: the content of
    `manifest.json`.
    """

    parts: Mapping[str, Dataset]
    manifest: Mapping[str, Any]
    examples: Triples | None = None

    @property
    def dataset(self) -> Dataset:
        """The dataset, if there is only one."""
        if WHOLE not in self.parts:
            kind, names = self.manifest["kind"], ", ".join(map(repr, self.parts))
            raise InputError(f"A {kind} split has several datasets. Pass one of {names} to parts[...].")
        return self.parts[WHOLE]

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False, suffix: str = ".tsv") -> None:
        """Write ordinary data folders and the manifest, completely or not at all.

        overwrite: replace a folder that contains only a saved split. suffix: see `write_dataset`.
        """
        save_split(self.parts, self.manifest, self.examples, folder, overwrite=overwrite, suffix=suffix)

    def __repr__(self) -> str:
        parts = self.parts[WHOLE] if WHOLE in self.parts else ", ".join(self.parts)
        lost = count_lost_facts(self.manifest)
        return f"Split({self.manifest['kind']} of {self.manifest['source']['name']!r}: {parts}; {lost:,} facts lost)"


def make_split_manifest(
    kind: str,
    source: Dataset,
    parts: Mapping[str, Dataset],
    *,
    parameters: Mapping[str, Any],
    seed: int | None = None,
    lost: Mapping[str, Triples] | None = None,
    found: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the content of `manifest.json`.

    lost: by reason, the facts of the source (with its ids) that are not in any part. found: figures specific to this
    kind of split. notes: the same as sentences.
    """
    return {
        "format": FORMAT,
        "kind": kind,
        "stablerule": list_installed_versions().get("stablerule"),
        "source": {"name": source.name, **_describe_split_part(source)},
        "seed": seed,
        "parameters": dict(parameters),
        "parts": {name: _describe_split_part(part) for name, part in parts.items()},
        "lost": {
            "facts": {
                r: _count_lost_by_relation(facts, source.vocabulary) for r, facts in (lost or {}).items() if len(facts)
            },
            **_find_names_lost_in_split(source, parts),
        },
        "found": dict(found or {}),
        "notes": list(notes),
    }


def count_lost_facts(manifest: Mapping[str, Any]) -> int:
    """Return how many facts of the source are not in any part."""
    return sum(reason["facts"] for reason in manifest["lost"]["facts"].values())


def _describe_split_part(dataset: Dataset) -> dict[str, Any]:
    return {
        "sha256": dataset.sha256,
        "entities": len(dataset.vocabulary.entities),
        "relations": len(dataset.vocabulary.relations),
        **{split: len(facts) for split, facts in dataset.splits.items()},
    }


def _count_lost_by_relation(facts: Triples, vocabulary: Vocabulary) -> dict[str, Any]:
    relations, counts = np.unique(facts.relations, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    names = vocabulary.relations.names_of(relations[order])
    return {"facts": len(facts), "relations": dict(zip(names, counts[order].tolist(), strict=True))}


def _find_names_lost_in_split(source: Dataset, parts: Mapping[str, Dataset]) -> dict[str, Any]:
    """Count the entities that are not in any part, and name the relations."""
    vocabularies = [part.vocabulary for part in parts.values()]
    entities = _find_names_without(source.vocabulary.entities, [v.entities for v in vocabularies])
    relations = _find_names_without(source.vocabulary.relations, [v.relations for v in vocabularies])
    return {"entities": len(entities), "relations": relations.to_list()}


def _find_names_without(names: Names, known: Sequence[Names]) -> pl.Series:
    return names.table.filter(~names.table.is_in(pl.concat(one.table for one in known).implode()))


def save_split(
    parts: Mapping[str, Dataset],
    manifest: Mapping[str, Any],
    examples: Triples | None,
    folder: str | PathLike[str],
    *,
    overwrite: bool = False,
    suffix: str = ".tsv",
) -> None:
    """Write each dataset of a split to its folder, the examples beside their dataset, and the manifest."""
    folder = Path(folder)
    if split_suffixes(Path(f"train{suffix}"))[1] not in TABLES:
        raise OptionError(f"A split can't be written as {suffix!r}. Formats are {', '.join(TABLES)}.")
    with write_folder_beside(folder, overwrite=overwrite, replaces=SAVED_SPLIT) as temporary:
        for name, dataset in parts.items():
            write_dataset_into(temporary / name, dataset, suffix=suffix, path=folder / name)
            if examples is not None:
                file = f"{EXAMPLES}{suffix}"
                frame = dataset.vocabulary.decode(examples)
                write_triples_into(temporary / name / file, frame, path=folder / name / file)
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (temporary / MANIFEST).write_text(text, encoding="utf-8")


def read_examples(folder: str | PathLike[str], dataset: Dataset) -> Triples:
    """Read the examples of a train-side split, with the ids of the dataset in the same folder.

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
    found = sorted(path for path in folder.glob(f"{EXAMPLES}.*") if _is_examples_file(path.name))
    if not found:
        raise ReadError("no examples; only a train-side split without thinning has them.", path=folder)
    if len(found) > 1:
        raise ReadError(
            f"more than one file of examples: {', '.join(path.name for path in found)}. Keep one.", path=folder
        )
    frame = read_dataset(found[0]).frame("train")
    examples = dataset.vocabulary.encode(frame)
    unknown = ~dataset.graph.contains(examples)
    if unknown.any():
        fact = " ".join(frame.row(int(unknown.argmax()))[:3])
        raise ReadError(f"{int(unknown.sum()):,} examples are not training facts, such as {fact!r}.", path=found[0])
    return examples


def check_split_place(folder: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Check, before starting, that `Split.save` can write to a folder."""
    check_output_folder(Path(folder), overwrite=overwrite, replaces=SAVED_SPLIT)


def _is_split_data(entry: os.DirEntry[str]) -> bool:
    is_file = entry.is_file(follow_symlinks=False)
    return is_file and (find_split_of_file(entry.name) is not None or _is_examples_file(entry.name))


def _is_examples_file(name: str) -> bool:
    stem, suffix, _ = split_suffixes(Path(name))
    return stem == EXAMPLES and suffix in TABLES


def _read_saved_parts(folder: Path) -> list[str]:
    """Return the names of the parts of the split saved in a folder, none if there is no split."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return list(manifest["parts"]) if manifest["stablerule"] and manifest["kind"] else []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


class _SavedSplit:
    """The folder of a saved split. Its manifest names the folders of its parts; without one, no file belongs to it."""

    def find_foreign(self, folder: Path) -> list[str]:
        """Return the names of all entries that saving a split did not make."""
        parts, foreign = _read_saved_parts(folder), []
        for entry in os.scandir(folder):
            if entry.name in parts and entry.is_dir(follow_symlinks=False):
                foreign += [f"{entry.name}/{inner.name}" for inner in os.scandir(entry) if not _is_split_data(inner)]
            elif not (parts and entry.name == MANIFEST) and not (WHOLE in parts and _is_split_data(entry)):
                foreign.append(entry.name)
        return foreign


SAVED_SPLIT = _SavedSplit()
