"""People and venues by id where there is one, else by name; and names that can be read and are still unique."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def tidy(name: str) -> str:
    r"""Spell a name as an entity: one word, composed accents; a slash is kept for what stands before and behind names.

    >>> tidy("  Ann\tLee "), tidy("AC/DC")
    ('Ann_Lee', 'AC_DC')
    """
    if name.isascii():
        if name.isalnum():  # most ids
            return name
    else:
        # JSON may hold halves of characters, which no file can.
        name = unicodedata.normalize("NFC", name.encode(errors="replace").decode())
    return "_".join(name.replace("/", " ").split())


class Identities:
    """Gives each person, or each venue, a number: those with the same id are one, and those without, by name.

    >>> authors = Identities("author")
    >>> [authors.number("Wei Wang", "a1"), authors.number("Wei Wang", "b2"), authors.number("W. Wang", "a1")]
    [0, 1, 0]
    >>> authors.number("Ann Lee", "c3"), authors.number("", "")
    (2, None)
    >>> import numpy
    >>> authors.readable(numpy.array([True, True, True])).to_list()
    ['author/Wei_Wang/a1', 'author/Wei_Wang/b2', 'author/Ann_Lee']
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._ids: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def number(self, name: str, key: str) -> int | None:
        """Return the number of who is meant, None where there is neither name nor id. The first spelling stays."""
        name, key = tidy(name), tidy(key)
        if not name and not key:
            return None
        found = self._numbers.setdefault(f"/{key}" if key else name, len(self._names))
        if found == len(self._names):
            self._names.append(name or key)
            self._ids.append(key)
        return found

    def readable(self, used: NDArray[np.bool_]) -> pl.Series:
        """Name each; where several of those in use share a name, those with an id have it behind their name."""
        counts = Counter(name for name, wanted in zip(self._names, used.tolist(), strict=True) if wanted)
        return pl.Series(
            [
                f"{self.kind}/{name}/{key}" if key and counts[name] > 1 else f"{self.kind}/{name}"
                for name, key in zip(self._names, self._ids, strict=True)
            ],
            dtype=pl.String,
        )
