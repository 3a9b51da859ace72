"""Parquet and Arrow files that may be damaged."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import polars as pl

from stablerule.errors import ReadError
from stablerule.io.files import shorten_file_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Some damage is an error to the parser of polars, and some makes it panic, which is no Exception.
POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
STDERR = 2


@contextmanager
def expect_damage(path: Path) -> Iterator[None]:
    """Turn what polars makes of a damaged file in the block into a ReadError, without the report of a panic."""
    with _hold_back_stderr() as forget:
        try:
            yield
        except (*POLARS_ERRORS, OSError) as error:
            forget()
            what = shorten_file_error(error) if isinstance(error, Exception) else "its data make no sense"
            raise ReadError(f"a damaged Parquet file ({what}). Copy or make it again.", path=path) from error


@contextmanager
def _hold_back_stderr() -> Iterator[Callable[[], object]]:
    """Keep what is written to standard error in the block, and write it at its end; what is yielded forgets it.

    Rust reports a panic there by itself, before anybody can catch it.
    """
    try:
        before = os.dup(STDERR)
    except OSError:  # it is closed
        yield lambda: None
        return
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), STDERR)
        try:
            yield held_back.truncate
        finally:
            os.dup2(before, STDERR)
            os.close(before)
            held_back.seek(0)
            with suppress(OSError):
                os.write(STDERR, held_back.read())
