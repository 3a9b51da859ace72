"""Write and read tensors by name, and check them before a network loads them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stablerule.errors import MissingExtra, shorten_system_error
from stablerule.io.atomic import read_umask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from stablerule.io.checked_folder import CheckedFolder

SUFFIX = ".safetensors"


def write_tensors(tensors: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write tensors by name; a full disk is an OSError, as with other files."""
    from safetensors import SafetensorError  # noqa: PLC0415  # only learners with tensors need it
    from safetensors.numpy import save_file  # noqa: PLC0415

    try:
        save_file(dict(tensors), path)
    except SafetensorError as error:
        raise OSError(str(error)) from error
    os.chmod(path, 0o666 & ~read_umask())  # safetensors makes private files, unlike other writers


def read_tensors(files: CheckedFolder, name: str) -> dict[str, NDArray[Any]]:
    """Read the tensors of a file by name."""
    raw = files.read_bytes(name)
    try:
        from safetensors.numpy import load  # noqa: PLC0415  # only learners with tensors need it
    except ImportError as error:
        raise MissingExtra("Reading a network", package="safetensors", extra="learn") from error
    try:
        return dict(load(raw))
    except Exception as error:  # a damaged header causes many kinds of errors
        raise files.make_damage_error(name, f"it has no tensors ({shorten_system_error(error)})") from error


def check_tensors(
    tensors: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], files: CheckedFolder, name: str
) -> None:
    """Raise an error for tensors that do not fit a network, by name, shape or type."""
    for tensor in sorted(set(tensors) ^ set(shapes)):
        what = "is missing" if tensor in shapes else "is not part of this network"
        raise files.make_damage_error(name, f"tensor {tensor!r} {what}")
    for tensor, shape in shapes.items():
        found = tensors[tensor]
        if found.shape != tuple(shape):
            raise files.make_damage_error(name, f"tensor {tensor!r} has shape {found.shape} instead of {tuple(shape)}")
