"""A model on disk: rules as Parquet, options as JSON, tensors as safetensors, names as Arrow. Never a pickle."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import ReadError
from stablerule.graph import Vocabulary
from stablerule.io import folder_beside
from stablerule.io.files import umask
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
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
    rules: RuleSet | None  # None: the method learns none
    vocabulary: Vocabulary
    learned: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def write(self, folder: Path, *, overwrite: bool = False, tensors: dict[str, Any] | None = None) -> None:
        """Write the folder, whole or not at all."""
        about = {
            "format": FORMAT,
            "method": self.method,
            "options": self.options,
            "data": asdict(self.data),
            "versions": installed_versions(),
            "rules": None if self.rules is None else len(self.rules),
        }
        with folder_beside(folder, overwrite=overwrite) as temporary:
            (temporary / "learned.json").write_text(_json(self.learned), encoding="utf-8")
            if self.rules is not None:
                self.rules.to_frame().write_parquet(temporary / RULES)
            self.vocabulary.write_into(temporary)
            if tensors:
                from safetensors.numpy import save_file  # noqa: PLC0415  # only learners that have tensors need it

                save_file(tensors, temporary / NETWORK)
                os.chmod(temporary / NETWORK, 0o666 & ~umask())  # it makes private files, unlike all others
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
            rules=rules,
            vocabulary=Vocabulary.load(folder),
            learned=json.loads((folder / "learned.json").read_text(encoding="utf-8")),
            versions=about["versions"],
            folder=folder,
        )
    except ReadError as error:
        raise error if error.path == folder else _damaged(folder, error) from error
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise _damaged(folder, error) from error


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
