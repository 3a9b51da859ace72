"""The files of a folder that this package wrote: regular ones only, and held against their checksums.

A folder may come from a stranger. So a link, a device or a FIFO in it is refused, not followed; and no number in it
reaches compiled code unchecked. A checksum tells damage, not intent: whoever makes a file can make its checksum.
"""

from __future__ import annotations

import os
import stat
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from stablerule.errors import ReadError
from stablerule.io.files import make_read_error
from stablerule.io.records import make_record, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

T = TypeVar("T")
NPY_MAGIC = b"\x93NUMPY\x01\x00"  # what np.save writes for plain arrays: its format 1.0
BLOCK = 1 << 22
# Not every system has all of these.
SAFELY = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class CheckedFolder:
    """A folder and the checksums of its files, as far as they are known.

    cure: what a user does about damage, as the end of an error message.
    """

    path: Path
    cure: str
    checksums: Mapping[str, str] = field(default_factory=dict)

    def with_checksums(self, checksums: Mapping[str, str]) -> CheckedFolder:
        """Return the same with what was read from its index."""
        return CheckedFolder(self.path, self.cure, checksums)

    def read_bytes(self, name: str) -> bytes:
        """Return what is in a file."""
        with self._open(name) as stream:
            raw = stream.read()
        self._compare(name, raw)
        return raw

    def read_json(self, name: str) -> Any:
        """Return the value of a JSON file."""
        raw = self.read_bytes(name)
        try:
            return parse_json(raw, self.path / name)
        except ReadError as error:
            raise self.damaged(name, error.problem) from error

    def make_record(self, kind: type[T], value: Any, name: str) -> T:
        """Make a value of a dataclass from what a JSON file holds; the error names the file and the field."""
        try:
            return make_record(kind, value, self.path / name)
        except ReadError as error:
            raise self.damaged(name, error.problem) from error

    def map_array(self, name: str, kind: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
        """Map the array of an .npy file into memory; one of another type or shape is damaged.

        The header is compared, not parsed: nothing in it decides what is read.
        """
        dtype = np.dtype(kind).newbyteorder("<")
        with self._open(name) as stream:
            begin = stream.read(len(NPY_MAGIC) + 2)
            length = int.from_bytes(begin[len(NPY_MAGIC) :], "little")
            header = stream.read(length).decode("latin-1").strip()
            expected = str({"descr": dtype.str, "fortran_order": False, "shape": shape}).replace("}", ", }")
            size = len(begin) + length + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            if not begin.startswith(NPY_MAGIC) or header != expected:
                raise self.damaged(name, f"no array of {_spell_shape(shape)} values of type {dtype.name}")
            if os.fstat(stream.fileno()).st_size != size:
                raise self.damaged(name, f"not as long as {_spell_shape(shape)} values need")
            array = np.memmap(stream, dtype, mode="r", offset=len(begin) + length, shape=shape)
            self._compare(name, np.memmap(stream, np.uint8, mode="r"))
        return np.asarray(array)

    def damaged(self, name: str, problem: str) -> ReadError:
        """Make the error for a file that is not as it was written."""
        return ReadError(f"damaged ({problem.rstrip('.')}). {self.cure}", path=self.path / name)

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        path = self.path / name
        try:
            handle = os.open(path, SAFELY)
        except FileNotFoundError as error:
            raise self.damaged(name, "it is missing") from error
        except (OSError, ValueError) as error:
            raise self._special(name, "a link") if path.is_symlink() else make_read_error(path, error) from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise self._special(name, "no regular file")
        try:
            with os.fdopen(handle, "rb") as stream:
                yield stream
        except OSError as error:
            raise make_read_error(path, error) from error

    def _special(self, name: str, what: str) -> ReadError:
        problem = f"is {what}, and only regular files are read here. Put a copy in its place."
        return ReadError(problem, path=self.path / name)

    def _compare(self, name: str, raw: bytes | NDArray[np.uint8]) -> None:
        wanted = self.checksums.get(name)
        if wanted is not None and _checksum(raw) != wanted:
            raise self.damaged(name, "its checksum is another than when it was written")


def sum_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the checksums of files by name."""
    return {name: _sum_file(folder / name) for name in sorted(names)}


def _sum_file(path: Path) -> str:
    found = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            found = zlib.crc32(block, found)
    return f"{found:08x}"


def _checksum(raw: bytes | NDArray[np.uint8]) -> str:
    """Return the CRC-32, which takes a tenth of a second for 400 MB; SHA-256 takes four times as long."""
    return f"{zlib.crc32(raw):08x}"  # type: ignore[arg-type]  # an array is as good as bytes


def _spell_shape(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{n:,}" for n in shape)
