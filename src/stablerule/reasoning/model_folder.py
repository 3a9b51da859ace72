"""Save and load a model: rules as Parquet, options as JSON, tensors as safetensors, names as Arrow, the graph as .npy.

`model.json` is the index: it describes the model and has a checksum of every other file. No path in the folder is ever
opened, and no file is a pickle. JSON files are checked against the types of a dataclass (see `io.checked_folder`).
"""

from __future__ import annotations

import io
import json
import os
import platform
import shlex
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from stablerule.errors import ReadError
from stablerule.graph import Dataset, Graph, Triples, Vocabulary
from stablerule.io import write_folder_beside
from stablerule.io.atomic import restore_folder
from stablerule.io.checked_folder import CheckedFolder, sum_files
from stablerule.io.frames import expect_damage
from stablerule.io.saved_graph import FILES as GRAPH_FILES
from stablerule.io.saved_graph import (
    INDEX,
    check_format,
    read_graph,
    read_names,
    write_graph_files,
    write_names,
)
from stablerule.io.tensors import check_tensors, read_tensors, write_tensors
from stablerule.reasoning.calibration import EARLIER
from stablerule.reasoning.learned import Course, Learned, LearnedRecord
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

FORMAT = 3
ABOUT, LEARNED, RULES, NETWORK = "model.json", "learned.json", "rules.parquet", "network.safetensors"
HELD_OUT = ("valid", "test")  # the splits outside the graph; rows of ids in NAME.npy
PACKAGES = ("stablerule", "numpy", "numba", "polars", "torch")
CURE = "Train the model again."


@dataclass(frozen=True)
class Reading:
    """The options of `read_dataset` saved with a model, so that other files are read in the same way."""

    columns: list[str | int] | dict[str, str | int] | None = None
    header: bool | None = None
    separator: str | None = None
    comment: str | None = None
    encoding: str | None = None
    literals: Literal["drop", "keep"] | None = None
    prefixes: dict[str, str] | None = None
    base: str | None = None
    name: str | None = None
    split: list[float] | None = None
    seed: int | None = None


@dataclass(frozen=True)
class DataMark:
    """The graph that a model was trained on.

    source: the catalog name or path that the user gave; for people only, never opened.
    reading: the options of `read_dataset` that it was read with.
    """

    name: str
    sha256: str
    entities: int
    relations: int
    facts: int
    source: str | None = None
    reading: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptData:
    """The data in the folder besides the graph: numbers of validation and test facts, and prefixes of RDF names."""

    valid: int
    test: int
    prefixes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """The content of `model.json`. rules: how many; kept: None if the model was saved without its graph.

    Formats 1 and 2 had neither a graph nor checksums, and opened the data from its source again.
    """

    format: int
    method: str
    options: dict[str, Any]
    data: DataMark
    versions: dict[str, str]
    rules: int | None = None
    kept: KeptData | None = None
    checksums: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SavedModel:
    """The content of a model's folder; `files` reads the rest when it is needed.

    dataset: the graph that the model answers from, and the other known facts; None if saved without.
    """

    method: str
    options: dict[str, Any]
    data: DataMark
    vocabulary: Vocabulary
    learned: Learned
    versions: dict[str, str] = field(default_factory=dict)
    dataset: Dataset | None = None
    files: CheckedFolder | None = None

    def write(self, folder: Path, *, overwrite: bool = False, tensors: Mapping[str, Any] | None = None) -> None:
        """Write the folder, completely or not at all."""
        with write_folder_beside(folder, overwrite=overwrite) as temporary:
            self._write_files(temporary, tensors)
            of_graph = GRAPH_FILES - {INDEX} if self.dataset is not None else set()  # the index has their checksums
            about = About(
                format=FORMAT,
                method=self.method,
                options=self.options,
                data=self.data,
                versions=list_installed_versions(),
                rules=None if self.learned.rules is None else len(self.learned.rules),
                kept=None if self.dataset is None else _describe_kept_data(self.dataset),
                checksums=sum_files(temporary, set(os.listdir(temporary)) - of_graph),
            )
            _write_model_json(asdict(about), temporary / ABOUT)

    def _write_files(self, folder: Path, tensors: Mapping[str, Any] | None) -> None:
        _write_model_json(self.learned.to_json(), folder / LEARNED)
        if self.learned.rules is not None:
            with (folder / RULES).open("wb") as stream:
                self.learned.rules.to_frame().write_parquet(stream)
        if self.dataset is None:
            write_names(self.vocabulary, folder)
        else:
            write_graph_files(self.dataset.graph, folder)
            for name in HELD_OUT:
                np.save(folder / f"{name}.npy", self.dataset.split(name).rows.astype("<i4", copy=False))
        if tensors:
            write_tensors(tensors, folder / NETWORK)

    def read_tensors(self) -> dict[str, NDArray[Any]] | None:
        """Return the tensors in the folder, None if there are none."""
        if self.files is None or not os.path.lexists(self.files.path / NETWORK):
            return None
        return read_tensors(self.files, NETWORK)

    def check_tensors(self, tensors: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise an error if the folder's tensors do not fit a network, by name or by shape."""
        if self.files is not None:
            check_tensors(tensors, shapes, self.files, NETWORK)


def read_model_folder(folder: Path) -> SavedModel:
    """Read a model's folder; a damaged one, another kind of folder or a newer format is an error."""
    restore_folder(folder)
    files = CheckedFolder(folder, CURE)
    if not (folder / ABOUT).exists():
        raise ReadError(_describe_missing_model(folder), path=folder)
    about = _read_model_index(files)
    files = files.with_checksums(about.checksums)
    learned = _read_learned_of_model(files, about)
    if about.kept is None:
        words, dataset = read_names(files), None
    else:
        dataset = _read_dataset_of_model(files, about)
        words = dataset.vocabulary
    sizes = len(words.entities), len(words.relations)
    if sizes != (about.data.entities, about.data.relations):
        raise files.make_damage_error(
            ABOUT, f"field 'data' does not match the {sizes[0]:,} entities and {sizes[1]:,} relations"
        )
    return SavedModel(about.method, about.options, about.data, words, learned, about.versions, dataset, files)


def _read_model_index(files: CheckedFolder) -> About:
    found = files.read_json(ABOUT)
    newer = found.get("versions") if isinstance(found, dict) else None
    by = newer.get("stablerule", "?") if isinstance(newer, dict) else "?"
    check_format(found, FORMAT, files.path, by=f"stablerule {by}")
    about = files.make_record(About, found, ABOUT)
    reading = files.make_record(Reading, about.data.reading, ABOUT)
    given = {f.name: getattr(reading, f.name) for f in fields(reading) if f.name in about.data.reading}
    return replace(about, data=replace(about.data, reading=given))


def _read_learned_of_model(files: CheckedFolder, about: About) -> Learned:
    rules = None if about.rules is None else _read_rules_of_model(files, about.rules)
    found = files.read_json(LEARNED)
    if about.format == 1 and isinstance(found, dict):
        found = _convert_first_format(found)
    if isinstance(found, dict) and _is_earlier_calibration(found.get("calibration")):
        found["calibration"] = {"none_because": EARLIER}
    return files.make_record(LearnedRecord, found, LEARNED).make_learned(rules)


def _is_earlier_calibration(saved: Any) -> bool:
    return isinstance(saved, dict) and "curves" in saved and "reads" not in saved


def _read_rules_of_model(files: CheckedFolder, count: int) -> RuleSet:
    raw = files.read_bytes(RULES)
    try:
        with expect_damage(files.path / RULES):
            frame = pl.read_parquet(io.BytesIO(raw))
        rules = RuleSet.from_frame(frame)
    except ReadError as error:
        raise files.make_damage_error(RULES, error.problem) from error
    if len(rules) != count:
        raise files.make_damage_error(RULES, f"{len(rules):,} rules instead of {count:,}")
    return rules


def _read_dataset_of_model(files: CheckedFolder, about: About) -> Dataset:
    """Read the graph, memory-mapped, and the validation and test facts."""
    assert about.kept is not None  # noqa: S101  # the caller looked
    graph = read_graph(files)
    if (graph.sha256, graph.n_facts) != (about.data.sha256, about.data.facts):
        raise files.make_damage_error(INDEX, "it is not the graph that the model was trained on")
    sizes = {"valid": about.kept.valid, "test": about.kept.test}
    held_out = {name: _read_facts_of_model(files, name, graph, sizes[name]) for name in HELD_OUT}
    return Dataset.of_graph(graph, **held_out, prefixes=about.kept.prefixes, source=about.data.source)


def _read_facts_of_model(files: CheckedFolder, name: str, graph: Graph, count: int) -> Triples:
    file = f"{name}.npy"
    if count < 0:
        raise files.make_damage_error(ABOUT, f"field 'kept.{name}' must be 0 or more, found {count}")
    rows = files.map_array(file, np.int32, (count, 3))
    bounds = np.array([graph.n_entities, graph.n_relations, graph.n_entities])
    if ((rows < 0) | (rows >= bounds)).any():
        raise files.make_damage_error(file, "it has ids that are not in the graph")
    return Triples(rows)


def _describe_kept_data(dataset: Dataset) -> KeptData:
    return KeptData(len(dataset.valid), len(dataset.test), dict(dataset.prefixes))


def _convert_first_format(saved: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, where the fields of the course were not grouped, to the current format."""
    course = {f.name: saved[f.name] for f in fields(Course) if f.name in saved}
    if isinstance(saved.get("losses"), list):
        course["steps"] = [{"loss": loss} for loss in saved["losses"]]
    if saved.get("interrupted"):
        course["ended_by"] = "interrupt"
    return {name: value for name, value in saved.items() if name not in course} | {"course": course or None}


def _describe_missing_model(place: Path) -> str:
    if place.is_file():
        if (place.parent / ABOUT).is_file():
            return f"a file inside a model. Pass its folder: {place.parent}"
        return "a file, but a model is a folder. Pass the one that stablerule learn -o made."
    what = f"not a model: the folder has no {ABOUT}" if place.exists() else "no such folder"
    return f"{what}. Train one with: stablerule learn DATA -o {'MODEL' if place.exists() else shlex.quote(str(place))}"


def list_installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _write_model_json(value: Any, path: Path) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
