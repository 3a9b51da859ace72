"""All errors that the package raises on purpose, in one tree.

::

    StableRuleError
    ├── InputError            an input can't be used
    │   ├── ReadError         a file or frame can't be read: where, and what was expected
    │   ├── UnknownName       a name is unknown: the closest known names
    │   │   ├── UnknownEntity
    │   │   ├── UnknownRelation
    │   │   └── UnknownDataset
    │   └── OptionError       an argument has an invalid value
    ├── WriteError            a result can't be written
    │   └── OutputExists      the output exists already
    ├── FetchError            a download is incomplete, or not the expected file
    ├── MissingExtra          an optional package is not installed: the command that installs it
    ├── MissingDistribution   a method or command needs another distribution: how to install it
    └── NameConflict          two distributions define the same name

Each message has the problem, where it is, the value found, and what to do.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


LONGEST = 1000  # characters of a message


class StableRuleError(Exception):
    """The base class of all errors that the package raises on purpose."""

    def __str__(self) -> str:
        """Shorten a message with a very long name in the middle: the advice is at the end."""
        text = super().__str__()
        return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 3 :]}"


class InputError(StableRuleError):
    """An input can't be used."""


class ReadError(InputError):
    """A file or frame can't be read.

    >>> str(ReadError("expected 3 columns, found 2", path="facts.tsv", line=7))
    'facts.tsv, line 7: expected 3 columns, found 2'
    """

    def __init__(self, problem: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        where = ", ".join(
            part for part in (str(path) if path else "", f"line {line:,}" if line is not None else "") if part
        )
        super().__init__(f"{where}: {problem}" if where else problem)


class UnknownName(InputError):
    """A name is unknown; the message has the closest known names."""


class UnknownEntity(UnknownName):
    """An entity that the graph does not have."""


class UnknownRelation(UnknownName):
    """A relation that the graph does not have."""


class UnknownDataset(UnknownName):
    """A name is neither in the catalog nor a path."""


class OptionError(InputError):
    """An argument has an invalid value."""


class WriteError(StableRuleError):
    """A result can't be written; the existing file is unchanged."""


class OutputExists(WriteError):
    """The output exists already, and replacing it was not asked for."""


class FetchError(StableRuleError):
    """A download is incomplete, or not the expected file; nothing was saved."""


class MissingExtra(StableRuleError):
    """An optional package is not installed.

    >>> str(MissingExtra("Reading RDF", package="pyoxigraph", extra="rdf"))
    "Reading RDF needs the package 'pyoxigraph'. Install it with: pip install 'stablerule[rdf]'"
    """

    def __init__(self, what: str, *, package: str, extra: str, distribution: str = "stablerule") -> None:
        cure = f"pip install '{distribution}[{extra}]'"
        super().__init__(f"{what} needs the package {package!r}. Install it with: {cure}")


class MissingDistribution(StableRuleError):
    """A method or command is part of a distribution that is not installed.

    >>> str(MissingDistribution("rotate", "stablerule-lab", "pip install ./lab"))
    '`rotate` is part of stablerule-lab. Install it with: pip install ./lab'
    """

    def __init__(self, name: str, distribution: str, cure: str, *, path: Path | None = None) -> None:
        where = "" if path is None else f"{path}: "
        super().__init__(f"{where}`{name}` is part of {distribution}. Install it with: {cure}")


class NameConflict(StableRuleError):
    """Two distributions define a method or command with the same name.

    >>> str(NameConflict("method", "rotate", "stablerule-lab", "my-methods"))
    "Both stablerule-lab and my-methods define a method named 'rotate'. Uninstall one of them."
    """

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(f"Both {first} and {second} define a {kind} named {name!r}. Uninstall one of them.")


def spell_closest(name: str, names: Iterable[str], count: int = 3) -> str:
    """Spell the known names nearest to a mistyped one, as the end of an error message.

    >>> spell_closest("Pariss", ["Paris", "Berlin"])
    " Closest: 'Paris'."
    >>> spell_closest("zzz", ["Paris", "Berlin"])
    ''
    """
    names = list(names)
    found = [n for n in names if n.casefold() == name.casefold()]
    found += [n for n in get_close_matches(name, names, n=count, cutoff=0.6) if n not in found]
    return f" Closest: {', '.join(map(repr, found[:count]))}." if found else ""


def spell_names(names: Iterable[str], most: int | None = 10, begin: str = "They are:") -> str:
    """Spell the known names, as the end of an error message when none is close.

    >>> spell_names(["capital_of", "city_in"]), spell_names(["Paris", "Berlin", "Rome"], most=1)
    (" They are: 'capital_of', 'city_in'.", " They are: 'Paris' and 2 others.")
    """
    names = list(names)
    shown = names[:most]
    more = len(names) - len(shown)
    rest = f" and {more:,} other{'' if more == 1 else 's'}" if more else ""
    return f" {begin} {', '.join(map(repr, shown))}{rest}." if shown else " There are none."


def spell_count(count: int, what: str) -> str:
    """Spell a number of things, with the plural where needed.

    >>> spell_count(1, "rule"), spell_count(1200, "rule")
    ('1 rule', '1,200 rules')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def shorten_system_error(error: Exception) -> str:
    """Say in a few words what the system or polars said in many.

    >>> shorten_system_error(ValueError("embedded null byte.\\nin a name"))
    'embedded null byte'
    """
    said = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return str(said).rstrip(".")
