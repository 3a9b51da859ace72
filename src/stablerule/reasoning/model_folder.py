"""A model on disk: rules as Parquet, options as JSON, tensors as safetensors, names as Arrow, the graph as .npy.

`model.json` is the index: what the model is, and a checksum of every other file. Nothing in the folder is a path that
is opened, and nothing is a pickle. Each JSON file is read by the declared types of a dataclass
(see `io.checked_folder`).
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
HELD_OUT = ("valid", "test")  # the splits that are not in the graph; rows of ids in NAME.npy
PACKAGES = ("stablerule", "numpy", "numba", "polars", "torch")
CURE = "Learn it again."


@dataclass(frozen=True)
class Reading:
    """The options of `read_dataset` that a model remembers, so that another file is read as its own was."""

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
    """Which graph a model learned from.

    `source` is what the user called it, a name of the catalog or a path: text for people, which nothing opens.
    `reading` is how it was read, as the options of `read_dataset`.
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
    """What stands in the folder beside the graph: facts of valid and test, and the prefixes of RDF names."""

    valid: int
    test: int
    prefixes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """What `model.json` says. rules: how many; kept: None where the graph was left out.

    Formats 1 and 2 had neither a graph nor checksums, and named the source of the data to open it again.
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
    """What stands in a model's folder; `files` leads to what is only read when it is needed.

    dataset: the graph that the model answers on and the other facts that are known; None where it was left out.
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
        """Write the folder, whole or not at all."""
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
        """Return the tensors that stand in the folder, None where there are none."""
        if self.files is None or not os.path.lexists(self.files.path / NETWORK):
            return None
        return read_tensors(self.files, NETWORK)

    def check_tensors(self, tensors: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse tensors of the folder that a network does not have, by name or by shape."""
        if self.files is not None:
            check_tensors(tensors, shapes, self.files, NETWORK)


def read_model_folder(folder: Path) -> SavedModel:
    """Read a model's folder; one that is truncated, foreign or from the future is an error that says so."""
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
            ABOUT, f"field 'data' is about other names: there are {sizes[0]:,} and {sizes[1]:,}"
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
    """Read the graph, mapped into memory, and the facts of valid and test."""
    assert about.kept is not None  # noqa: S101  # the caller looked
    graph = read_graph(files)
    if (graph.sha256, graph.n_facts) != (about.data.sha256, about.data.facts):
        raise files.make_damage_error(INDEX, "it is not the graph that the model learned from")
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
        raise files.make_damage_error(file, "it holds ids that the graph does not have")
    return Triples(rows)


def _describe_kept_data(dataset: Dataset) -> KeptData:
    return KeptData(len(dataset.valid), len(dataset.test), dict(dataset.prefixes))


def _convert_first_format(saved: dict[str, Any]) -> dict[str, Any]:
    """Turn what format 1 had into what is read now: there, the course of training lay open among the rest."""
    course = {f.name: saved[f.name] for f in fields(Course) if f.name in saved}
    if isinstance(saved.get("losses"), list):
        course["steps"] = [{"loss": loss} for loss in saved["losses"]]
    if saved.get("interrupted"):
        course["ended_by"] = "interrupt"
    return {name: value for name, value in saved.items() if name not in course} | {"course": course or None}


def _describe_missing_model(place: Path) -> str:
    if place.is_file():
        if (place.parent / ABOUT).is_file():
            return f"a file of a model, which is a folder. Pass that: {place.parent}"
        return "a file, and a model is a folder. Pass that, as stablerule learn DATA -o FOLDER made it."
    what = f"not the folder of a model: there is no {ABOUT} in it" if place.exists() else "no such folder"
    return f"{what}. Make one with: stablerule learn DATA -o {'MODEL' if place.exists() else shlex.quote(str(place))}"


def list_installed_versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _write_model_json(value: Any, path: Path) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
