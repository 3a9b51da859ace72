"""MODELS: all learners by name, each brought in when it is asked for; and models taken up from disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stablerule.errors import MissingExtra, OptionError, ReadError, closest
from stablerule.reasoning import Reasoner, read_model_folder

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True)
class Method:
    """A learner, as far as one can know it without bringing it in: some need torch, which takes seconds.

    place: module and class; inductive: answers about entities that it has not seen; explains: learns rules, and says
    which of them lead to an answer.
    """

    name: str
    kind: Literal["rules", "embedding", "graph network", "control"]
    about: str
    place: str
    inductive: bool
    explains: bool


def _rules(name: str, place: str, about: str) -> Method:
    return Method(name, "rules", about, place, inductive=True, explains=True)


def _embedding(name: str, place: str, about: str) -> Method:
    return Method(name, "embedding", about, place, inductive=False, explains=False)


def _network(name: str, place: str, about: str, *, inductive: bool = True) -> Method:
    return Method(name, "graph network", about, place, inductive=inductive, explains=False)


_LEARNING, _HERE = "stablerule.learning", "stablerule.baselines"
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _rules(
            "stablerule", f"{_LEARNING}.stablerule:StableRule", "a network over sampled paths, decorrelating weights"
        ),
        _rules("tabular", f"{_LEARNING}.tabular:Tabular", "the counts of sampled paths, no network"),
        _rules("ncrl", f"{_HERE}.ncrl:NCRL", "a network that merges bodies pair by pair"),
        _rules("rlogic", f"{_HERE}.rlogic:RLogic", "a network that reads bodies from left to right"),
        _rules("rnnlogic", f"{_HERE}.rnnlogic:RNNLogic", "a generator of rules and a predictor that teaches it"),
        _rules("neural-lp", f"{_HERE}.neural_lp:NeuralLP", "attention over relations, step by step, with a memory"),
        _rules("drum", f"{_HERE}.drum:DRUM", "several chains of attention over relations"),
        _rules("given", f"{_LEARNING}.given:GivenRules", "rules from a file, of AnyBURL, AMIE or your own"),
        _embedding("transe", f"{_HERE}.transe:TransE", "a relation is a step from head to tail"),
        _embedding("distmult", f"{_HERE}.distmult:DistMult", "a relation weighs what two entities share"),
        _embedding("complex", f"{_HERE}.complex:ComplEx", "DistMult with complex numbers, which tell directions apart"),
        _embedding("rotate", f"{_HERE}.rotate:RotatE", "a relation is a rotation of complex numbers"),
        _embedding("pykeen", f"{_HERE}.pykeen_bridge:Pykeen", "any model of the package PyKEEN"),
        _network(
            "compgcn", f"{_HERE}.compgcn:CompGCN", "embeddings that are passed around the graph first", inductive=False
        ),
        _network("nbfnet", f"{_HERE}.nbfnet:NBFNet", "states of entities, made of all paths from the head"),
        _network("astarnet", f"{_HERE}.astarnet:AStarNet", "NBFNet along the most promising paths only"),
        Method(
            "popularity",
            "control",
            "the most frequent answers of the relation",
            f"{_HERE}.popularity:Popularity",
            inductive=True,
            explains=False,
        ),
    )
}


class _Models(Mapping[str, type[Reasoner]]):
    """The classes by name."""

    def __getitem__(self, name: str) -> type[Reasoner]:
        module, _, class_name = METHODS[name].place.partition(":")
        try:
            found: type[Reasoner] = getattr(import_module(module), class_name)
        except ImportError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            raise MissingExtra(f"Learning with {name}", package=error.name, extra="learn") from error
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(METHODS)

    def __len__(self) -> int:
        return len(METHODS)


MODELS: Mapping[str, type[Reasoner]] = _Models()


def load_model(folder: str | PathLike[str]) -> Reasoner:
    """Take up a model from its folder."""
    path = Path(folder)
    saved = read_model_folder(path)
    if saved.method not in METHODS:
        raise ReadError(f"made by an unknown method {saved.method!r}.{closest(saved.method, METHODS)}", path=path)
    try:
        return MODELS[saved.method].from_saved(saved)
    except OptionError as error:
        raise ReadError(f"its options do not fit this version: {error}", path=path) from error
