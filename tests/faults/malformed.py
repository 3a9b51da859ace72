"""Reads many damaged files, and counts how that ends: read all the same, refused by an error of ours, or a fault.

Run by `python -m tests.faults.malformed COUNT SEED`, which prints a JSON object.
"""

from __future__ import annotations

import json
import logging
import random
import signal
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.errors import StableRuleError
from tests.faults.readers import Reader, make_readers
from tests.faults.saved_readers import make_saved_readers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS = 20
# Longer than anybody reads.
LONGEST_MESSAGE = 1000


@dataclass
class Malformed:
    """How reading ended, by reader; and each fault in words that allow to make it again."""

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return self.read.total() + self.refused.total() + len(self.faults)


class TooSlow(BaseException):
    """Reading a small file takes longer than it ever should."""


def read_damaged(readers: Sequence[Reader], count: int, seed: int) -> Malformed:
    """Damage the file of each reader in turn, and read it; `seed` and the number in a fault make it again."""
    found, whole = Malformed(), {reader.file: reader.file.read_bytes() for reader in readers}
    logging.getLogger("stablerule").addFilter(_drop)
    try:
        for number in range(count):
            reader = readers[number % len(readers)]
            chance = random.Random(f"{seed} {number}")
            damage = chance.choice(reader.damages)
            reader.file.write_bytes(damage(whole[reader.file], chance))
            try:
                with _alarm():
                    reader.read()
                found.read[reader.name] += 1
            except StableRuleError as error:
                found.refused[reader.name] += 1
                if len(str(error)) > LONGEST_MESSAGE:
                    found.faults.append(f"{reader.name} {number}: a message of {len(str(error)):,} characters")
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # a panic of Rust is no Exception
                found.faults.append(f"{reader.name} {number}: {type(error).__name__}: {str(error)[:300]}")
            finally:
                reader.file.write_bytes(whole[reader.file])
    finally:
        logging.getLogger("stablerule").removeFilter(_drop)
    return found


def _drop(_: logging.LogRecord) -> bool:
    return False


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooSlow(f"{SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Print what was found as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        users = make_readers(Path(folder))  # their files more often than ours, which have checksums
        readers = [*users, *users, *make_saved_readers(Path(folder))]
        found = read_damaged(readers, int(sys.argv[1]), int(sys.argv[2]))
    names = {reader.name: (found.read[reader.name], found.refused[reader.name]) for reader in readers}
    result = {
        "inputs": found.inputs,
        "read": found.read.total(),
        "refused": found.refused.total(),
        "by_reader": {name: {"read": read, "refused": refused} for name, (read, refused) in names.items()},
        "faults": found.faults,
    }
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
