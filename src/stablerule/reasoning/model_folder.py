"""A model on disk: rules as Parquet, options as JSON, tensors as safetensors, names as Arrow. Never a pickle."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import ReadError
from stablerule.graph import Vocabulary
from stablerule.io import folder_beside
from stablerule.io.atomic import read_umask
from stablerule.reasoning.learned import Course, Learned
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 2
ABOUT, RULES, NETWORK = "model.json", "rules.parquet", "network.safetensors"
PACKAGES = ("stablerule", "numpy", "numba", "polars", "torch")


@dataclass(frozen=True)
class DataMark:
    """Which graph a model learned from.

    `source` is what the user called it, a name of the catalog or a path; `reading` how it was read, as the options of
    `read_dataset`.
    """

    name: str
    sha256: str
    entities: int
    relations: int
    facts: int
    source: str | None = None
    reading: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SavedModel:
    """What stands in a model's folder; `folder` leads to what is only read when it is needed."""

    method: str
    options: dict[str, Any]
    data: DataMark
    vocabulary: Vocabulary
    learned: Learned
    versions: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def write(self, folder: Path, *, overwrite: bool = False, tensors: dict[str, Any] | None = None) -> None:
        """Write the folder, whole or not at all."""
        rules = self.learned.rules
        about = {
            "format": FORMAT,
            "method": self.method,
            "options": self.options,
            "data": asdict(self.data),
            "versions": installed_versions(),
            "rules": None if rules is None else len(rules),
        }
        with folder_beside(folder, overwrite=overwrite) as temporary:
            (temporary / "learned.json").write_text(_json(self.learned.to_json()), encoding="utf-8")
            if rules is not None:
                rules.to_frame().write_parquet(temporary / RULES)
            self.vocabulary.write_into(temporary)
            if tensors:
                from safetensors.numpy import save_file  # noqa: PLC0415  # only learners that have tensors need it

                save_file(tensors, temporary / NETWORK)
                os.chmod(temporary / NETWORK, 0o666 & ~read_umask())  # it makes private files, unlike all others
                about["network_bytes"] = (temporary / NETWORK).stat().st_size
            (temporary / ABOUT).write_text(_json(about), encoding="utf-8")


def read_model_folder(folder: Path) -> SavedModel:
    """Read a model's folder; one that is truncated, foreign or from the future is an error that says so."""
    about_path = folder / ABOUT
    if not about_path.is_file():
        raise ReadError(_no_model(folder), path=folder)
    try:
        about = json.loads(about_path.read_text(encoding="utf-8"))
        if about["format"] > FORMAT:
            newer = about.get("versions", {}).get("stablerule", "?")
            raise ReadError(
                f"written by stablerule {newer} in format {about['format']}; "
                f"this version reads up to {FORMAT}. Upgrade with: pip install -U stablerule",
                path=folder,
            )
        rules = None if about["rules"] is None else RuleSet.from_frame(pl.read_parquet(folder / RULES))
        if rules is not None and len(rules) != about["rules"]:
            raise ValueError(f"{len(rules):,} rules instead of {about['rules']:,}")
        if "network_bytes" in about and (folder / NETWORK).stat().st_size != about["network_bytes"]:
            raise ValueError(f"{NETWORK} is not as long as it was")
        return SavedModel(
            method=about["method"],
            options=about["options"],
            data=DataMark(**about["data"]),
            vocabulary=Vocabulary.load(folder),
            learned=_read_learned(folder, about["format"], rules),
            versions=about["versions"],
            folder=folder,
        )
    except ReadError as error:
        raise error if error.path == folder else _damaged(folder, error) from error
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise _damaged(folder, error) from error


def _read_learned(folder: Path, written_in: int, rules: RuleSet | None) -> Learned:
    saved = json.loads((folder / "learned.json").read_text(encoding="utf-8"))
    return Learned.from_json(_from_first_format(saved) if written_in == 1 else saved, rules)


def _from_first_format(saved: dict[str, Any]) -> dict[str, Any]:
    """Turn what format 1 had into what is read now: there, the course of training lay open among the rest."""
    course = {f.name: saved[f.name] for f in fields(Course) if f.name in saved}
    if "losses" in saved:
        course["steps"] = [{"loss": loss} for loss in saved["losses"]]
    if saved.get("interrupted"):
        course["ended_by"] = "interrupt"
    return {name: value for name, value in saved.items() if name not in course} | {"course": course or None}


def _no_model(place: Path) -> str:
    if place.is_file():
        if (place.parent / ABOUT).is_file():
            return f"a file of a model, which is a folder. Pass that: {place.parent}"
        return "a file, and a model is a folder. Pass that, as stablerule learn DATA -o FOLDER made it."
    what = f"not the folder of a model: there is no {ABOUT} in it" if place.exists() else "no such folder"
    return f"{what}. Make one with: stablerule learn DATA -o {'MODEL' if place.exists() else place}"


def _damaged(folder: Path, error: Exception) -> ReadError:
    return ReadError(f"a damaged model ({type(error).__name__}: {error}). Learn it again.", path=folder)


def installed_versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
