"""Methods by name: those of the library, and those that other distributions bring.

A distribution names its methods in its entry points, in the group `stablerule.methods`. Each entry point is a list of
`Method` records, in a module without torch. They are read once, when somebody asks for a method that the library does
not have, or for all of them. The group `stablerule.commands` is for commands, which `stablerule.cli` reads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from stablerule.errors import (
    MissingDistribution,
    MissingExtra,
    NameConflict,
    OptionError,
    ReadError,
    StableRuleError,
    spell_closest,
)

if TYPE_CHECKING:
    from os import PathLike

    from stablerule.reasoning import Reasoner

T = TypeVar("T")
METHODS_GROUP, COMMANDS_GROUP = "stablerule.methods", "stablerule.commands"
LIBRARY = "stablerule"
NOTES = logging.getLogger(__name__)


def find_no_settings(graph: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return no options: the defaults of the method."""
    return {}


@dataclass(frozen=True)
class Method:
    """A learner, as far as one can know it without importing it: some need torch, which takes seconds.

    place: module and class; inductive: answers about entities that it has not seen; explains: learns rules, and says
    which of them lead to an answer; settings: from the name of a graph and the options that a user chose to options
    that suit the graph.
    """

    name: str
    kind: Literal["rules", "embedding", "graph network", "control"]
    about: str
    place: str
    inductive: bool
    explains: bool
    settings: Callable[[str, Mapping[str, Any]], dict[str, Any]] = find_no_settings

    def load_class(self) -> type[Reasoner]:
        """Import the class of the learner."""
        module, _, class_name = self.place.partition(":")
        try:
            found: type[Reasoner] = getattr(import_module(module), class_name)
        except ImportError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            raise MissingExtra(f"Learning with {self.name}", package=error.name, extra="learn") from error
        return found


def _make_rule_methods(name: str, place: str, about: str) -> Method:
    return Method(name, "rules", about, f"stablerule.learning.{place}", inductive=True, explains=True)


OWN_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _make_rule_methods(
            "stablerule", "stablerule:StableRule", "a network over sampled paths, decorrelating weights"
        ),
        _make_rule_methods("tabular", "tabular:Tabular", "the counts of sampled paths, no network"),
        _make_rule_methods("given", "given:GivenRules", "rules from a file, of AnyBURL, AMIE or your own"),
        Method(
            "popularity",
            "control",
            "the most frequent answers of the relation",
            "stablerule.learning.popularity:Popularity",
            inductive=True,
            explains=False,
        ),
    )
}

# What the laboratory adds. The library knows its names, to say where to get it, and what its commands are about.
LABORATORY, INSTALL_LABORATORY = "stablerule-lab", "pip install ./lab"
LABORATORY_METHODS = (
    *("ncrl", "rlogic", "rnnlogic", "neural-lp", "drum"),
    *("transe", "distmult", "complex", "rotate", "pykeen"),
    *("compgcn", "nbfnet", "astarnet"),
)
LABORATORY_COMMANDS = {
    "experiment": "Run an experiment's missing cells and print its tables.",
    "tune": "Tune a method's settings on the validation facts.",
    "data.aminer": "Make a graph of papers, authors and venues from AMiner's DBLP dump.",
}


class _Methods(Mapping[str, Method]):
    """All methods. Those of the library are found without a look at other distributions."""

    def __getitem__(self, name: str) -> Method:
        return OWN_METHODS[name] if name in OWN_METHODS else self._brought[name]

    def __iter__(self) -> Iterator[str]:
        yield from OWN_METHODS
        yield from self._brought

    def __len__(self) -> int:
        return len(OWN_METHODS) + len(self._brought)

    @cached_property
    def _brought(self) -> dict[str, Method]:
        return read_methods()


class _Models(Mapping[str, "type[Reasoner]"]):
    """The classes by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> type[Reasoner]:
        return find_method(name).load_class()

    def __contains__(self, name: object) -> bool:
        return name in METHODS

    def __iter__(self) -> Iterator[str]:
        return iter(METHODS)

    def __len__(self) -> int:
        return len(METHODS)


METHODS: Mapping[str, Method] = _Methods()
MODELS: Mapping[str, type[Reasoner]] = _Models()


def find_method(name: str) -> Method:
    """Return a method by its name, or say where to get it, or which there are."""
    if name in METHODS:
        return METHODS[name]
    if name in LABORATORY_METHODS:
        raise make_missing_laboratory_error(name)
    raise OptionError(f"There is no method {name!r}.{spell_closest(name, METHODS)} They are: {', '.join(METHODS)}.")


def load_model(folder: str | PathLike[str]) -> Reasoner:
    """Load a model from its folder."""
    from stablerule.reasoning.model_folder import read_model_folder  # noqa: PLC0415  # names of methods need no kernels

    path = Path(folder)
    saved = read_model_folder(path)
    if saved.method not in METHODS:
        if saved.method in LABORATORY_METHODS:
            raise make_missing_laboratory_error(saved.method, path)
        raise ReadError(f"made by an unknown method {saved.method!r}.{spell_closest(saved.method, METHODS)}", path=path)
    try:
        return MODELS[saved.method].from_saved(saved)
    except OptionError as error:
        raise ReadError(f"its options do not fit this version: {error}", path=path) from error


def make_missing_laboratory_error(name: str, path: Path | None = None) -> StableRuleError:
    """Make the error for a method or a command of the laboratory; path: of a model that was made by it."""
    return MissingDistribution(name, LABORATORY, INSTALL_LABORATORY, path=path)


def read_methods() -> dict[str, Method]:
    """Read the methods that other distributions bring; one that can't be imported is a note."""
    found: dict[str, Method] = {}
    owners = dict.fromkeys(OWN_METHODS, LIBRARY)
    for entry in metadata.entry_points(group=METHODS_GROUP):
        owner = find_distribution(entry)
        for method in load_entry_point(entry, _check_method_records) or ():
            if method.name in owners:
                raise NameConflict("method", method.name, owners[method.name], owner)
            found[method.name], owners[method.name] = method, owner
    return found


def read_command_names(place: str, taken: Iterable[str]) -> dict[str, metadata.EntryPoint]:
    """Read which commands other distributions bring, without importing them.

    place: "" for `stablerule NAME`, "data." for `stablerule data NAME`. taken: the names of the library's own.
    """
    found: dict[str, metadata.EntryPoint] = {}
    owners = dict.fromkeys(taken, LIBRARY)
    for entry in metadata.entry_points(group=COMMANDS_GROUP):
        if not entry.name.startswith(place) or "." in entry.name[len(place) :]:
            continue
        name, owner = entry.name[len(place) :], find_distribution(entry)
        if name in owners:
            raise NameConflict("command", name, owners[name], owner)
        found[name], owners[name] = entry, owner
    return found


def load_entry_point(entry: metadata.EntryPoint, make: Callable[[Any], T]) -> T | None:
    """Import what an entry point names and make something of it; a failure is a note, and None."""
    try:
        return make(entry.load())
    except Exception as error:  # it is somebody else's code: what it raises must not end what has no need of it
        what = f"{type(error).__name__}: {error}"
        NOTES.warning("%s of %s can't be used: %s", entry.value, find_distribution(entry), what)
        return None


def find_distribution(entry: metadata.EntryPoint) -> str:
    """Return the name of the distribution that an entry point is from."""
    return entry.dist.name if entry.dist is not None else entry.value.partition(".")[0]


def _check_method_records(given: Any) -> list[Method]:
    records = list(given)
    for record in records:
        if not isinstance(record, Method):
            raise TypeError(f"expected records of methods, got {record!r}")
    return records
