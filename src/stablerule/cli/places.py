"""Where results go."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from stablerule.errors import OptionError
from stablerule.io import write_beside

if TYPE_CHECKING:
    from pathlib import Path


class _OnlyLooking(Exception):
    """Ends a writing that was only tried."""


def check_file(path: Path, option: str) -> None:
    """Look before the work, not after it, whether its result has a place."""
    if not path.name:
        raise OptionError(f"{option} must be a file, got {str(path)!r}.")
    with suppress(_OnlyLooking), write_beside(path):
        raise _OnlyLooking
