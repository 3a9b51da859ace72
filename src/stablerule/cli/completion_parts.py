"""What `stablerule complete` found so far, kept so that a killed run can go on."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import OptionError, ReadError, WriteError
from stablerule.io import write_beside
from stablerule.io.atomic import make_write_error

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = "completion.json"


class Parts:
    """What was found so far, one Parquet file for each finished relation, in a folder beside the output."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.folder = output.with_name(output.name + ".partial")

    def check_place(self, *, overwrite: bool, resume: bool) -> bool:
        """Look before the work, not after it, whether its result has a place; tells whether a run was begun."""
        begun = os.path.lexists(self.folder)
        if os.path.lexists(self.output) and not (overwrite or (resume and begun)):
            nothing = f" There is nothing to resume: no {self.folder}." if resume else ""
            raise WriteError(f"{self.output}: already exists. Choose another place, or --overwrite it.{nothing}")
        with suppress(_OnlyLooking), write_beside(self.output):
            raise _OnlyLooking
        if not begun:
            return False
        if not self.folder.is_dir() or any(not _is_ours(name) for name in os.listdir(self.folder)):
            raise WriteError(f"{self.folder}: is needed for the work, and holds something else. Move it away.")
        if not (resume or overwrite):
            raise WriteError(
                f"{self.folder}: an earlier run was not finished. Go on with --resume, or begin again with --overwrite."
            )
        return True

    def begin(self, identity: dict[str, Any], *, resume: bool) -> None:
        """Make the folder; one that is there goes on if it was begun for the same work."""
        if resume and (self.folder / IDENTITY).is_file():
            self._check_identity(identity)
            return
        self.remove()
        try:
            self.folder.mkdir()
        except OSError as error:
            raise make_write_error(self.folder, error) from error
        with write_beside(self.folder / IDENTITY) as temporary:
            temporary.write_text(json.dumps(identity, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def _check_identity(self, identity: dict[str, Any]) -> None:
        try:
            kept = json.loads((self.folder / IDENTITY).read_text(encoding="utf-8"))
            differing = [name for name in identity if kept.get(name) != identity[name]]
        except (OSError, ValueError, AttributeError) as error:
            raise ReadError("is damaged. Begin again with --overwrite.", path=self.folder / IDENTITY) from error
        if differing:
            name = differing[0]
            was = f" (then {kept.get(name)!r}, now {identity[name]!r})" if name not in ("model", "data") else ""
            raise OptionError(
                f"--resume: {self.folder} was begun with another {name}{was}. Pass the same again, or begin again with "
                "--overwrite."
            )

    def has(self, relation: int) -> bool:
        """Tell whether a relation is finished."""
        return self._file(relation).is_file()

    def add(self, relation: int, frame: pl.DataFrame) -> None:
        """Keep the facts of a relation."""
        with write_beside(self._file(relation)) as temporary:
            frame.write_parquet(temporary)

    def read(self, relation: int) -> pl.DataFrame:
        """Return the facts of a finished relation."""
        path = self._file(relation)
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise ReadError("is damaged. Remove it, and go on with --resume.", path=path) from error

    def remove(self) -> None:
        """Remove what we wrote, and nothing else."""
        if not self.folder.is_dir():
            return
        for name in sorted(os.listdir(self.folder), key=lambda name: name == IDENTITY):
            if _is_ours(name):
                (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _file(self, relation: int) -> Path:
        return self.folder / f"{relation:06}.parquet"


def _is_ours(name: str) -> bool:
    # A run that was killed while it wrote leaves a hidden file that ends in .part.
    return name == IDENTITY or re.fullmatch(r"\d{6,}\.parquet|\..*\.part", name) is not None


class _OnlyLooking(Exception):
    """Ends a writing that was only tried."""
