"""What every kind of split returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError
from stablerule.shifts.splits.manifest import WHOLE, count_lost
from stablerule.shifts.splits.saving import save_split

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from stablerule.graph import Dataset, Triples


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """One or several datasets made from another, and a manifest that says how.

    parts: the datasets, by the names of the folders that `save` makes for them; a split that is a single dataset has
    it at ".". examples: of a train-side split, the facts of train that may serve as examples. manifest: what
    `manifest.json` will hold.
    """

    parts: Mapping[str, Dataset]
    manifest: Mapping[str, Any]
    examples: Triples | None = None

    @property
    def dataset(self) -> Dataset:
        """The dataset, where it is a single one."""
        if WHOLE not in self.parts:
            kind, names = self.manifest["kind"], ", ".join(map(repr, self.parts))
            raise InputError(f"A split of the kind {kind} has several datasets: parts[...] of {names}.")
        return self.parts[WHOLE]

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False, suffix: str = ".tsv") -> None:
        """Write ordinary data folders and the manifest, whole or not at all.

        overwrite: replace a folder that holds a saved split and nothing else; suffix: see `write_dataset`.
        """
        save_split(self.parts, self.manifest, self.examples, folder, overwrite=overwrite, suffix=suffix)

    def __repr__(self) -> str:
        parts = self.parts[WHOLE] if WHOLE in self.parts else ", ".join(self.parts)
        lost = count_lost(self.manifest)
        return f"Split({self.manifest['kind']} of {self.manifest['source']['name']!r}: {parts}; {lost:,} facts lost)"
