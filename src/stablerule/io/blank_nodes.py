"""Names for blank nodes that have none.

The parser gives them random ones, so the same file would be another dataset each time it is read. Here they are
numbered in the order in which they appear, over all files of a dataset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

# What the parser makes up, and what a file would have to say to have such a label itself.
RANDOM = re.compile(r"[0-9a-f]{1,32}\Z")
LABELS = re.compile(rb"_:([0-9a-f]{1,32})")
LONGEST_LABEL = 40
# A character that no label may have: these names can't meet one of a file, until `final` knows all names.
MARK = "_:\ue000"


@dataclass
class BlankNodes:
    """Numbers nameless blank nodes; labels that stand in a file are kept."""

    _labels: set[str] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)

    def watch(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Pass text on, and remember the labels in it that look like random ones."""
        before = b""
        for piece in pieces:
            seen = before + piece
            self._labels.update(found.decode() for found in LABELS.findall(seen))
            before = seen[-LONGEST_LABEL:]
            yield piece

    def name(self, label: str) -> str:
        """Return the name of a node: its label, or a number that `final` spells out."""
        if label in self._labels or not RANDOM.match(label):
            return f"_:{label}"
        return f"{MARK}{self._numbers.setdefault(label, len(self._numbers) + 1)}"

    def final(self, names: pl.Series, known: pl.Series) -> pl.Series:
        """Spell the numbers, as `_:anon1` or so: with a word that no label begins with."""
        if not self._numbers:
            return names
        word = "_:anon"
        while known.str.starts_with(word).any():
            word += "_"
        return names.str.replace(MARK, word, literal=True)
