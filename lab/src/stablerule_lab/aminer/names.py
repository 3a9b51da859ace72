"""Identify people and venues by id, or by name without one, and give them readable unique names."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def tidy(name: str) -> str:
    r"""Spell a name as an entity: one word, composed accents, no slash, since slashes separate the parts of an entity.

    >>> tidy("  Ann\tLee "), tidy("AC/DC")
    ('Ann_Lee', 'AC_DC')
    """
    if name.isascii():
        if name.isalnum():  # true of most ids
            return name
    else:
        # JSON may contain lone surrogates, which can't be written to a file.
        name = unicodedata.normalize("NFC", name.encode(errors="replace").decode())
    return "_".join(name.replace("/", " ").split())


class Identities:
    """Numbers people or venues: by id, or by name without an id.

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
        """Return the number of a person or venue, or None without name and id. The first spelling is kept."""
        name, key = tidy(name), tidy(key)
        if not name and not key:
            return None
        found = self._numbers.setdefault(f"/{key}" if key else name, len(self._names))
        if found == len(self._names):
            self._names.append(name or key)
            self._ids.append(key)
        return found

    def readable(self, used: NDArray[np.bool_]) -> pl.Series:
        """Return readable names; if several share one, the id follows the name."""
        counts = Counter(name for name, wanted in zip(self._names, used.tolist(), strict=True) if wanted)
        return pl.Series(
            [
                f"{self.kind}/{name}/{key}" if key and counts[name] > 1 else f"{self.kind}/{name}"
                for name, key in zip(self._names, self._ids, strict=True)
            ],
            dtype=pl.String,
        )
