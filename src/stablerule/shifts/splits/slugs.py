"""Folder names that every file system takes."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 60


def folder_names(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Give each of several distinct names a folder of its own, whatever characters it has.

    >>> folder_names(["paths 0 (fewest)", "Åland", "../aland", "日本"], "group-")
    {'paths 0 (fewest)': 'group-paths-0-fewest', 'Åland': 'group-aland', '../aland': 'group-aland-2', '日本': 'group-x'}
    """
    taken: dict[str, str] = {}
    for name in names:
        slug = _slug(name)
        folder, count = f"{prefix}{slug}", 1
        while folder in taken.values():
            count += 1
            folder = f"{prefix}{slug}-{count}"
        taken[name] = folder
    return taken


def _slug(name: str) -> str:
    """Keep small letters and digits; two names that differ in something else only are told apart by a number."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", ascii_only)[:LONGEST].strip("-") or "x"
