"""What these methods are, for the list of all methods: without torch, which takes seconds."""

from __future__ import annotations

from functools import partial

from stablerule.registry import Method
from stablerule_lab.methods.settings import settings_for

_HERE = "stablerule_lab.methods"


def _rules(name: str, place: str, about: str) -> Method:
    settings = partial(settings_for, name)
    return Method(name, "rules", about, f"{_HERE}.{place}", inductive=True, explains=True, settings=settings)


def _embedding(name: str, place: str, about: str) -> Method:
    settings = partial(settings_for, name)
    return Method(name, "embedding", about, f"{_HERE}.{place}", inductive=False, explains=False, settings=settings)


def _network(name: str, place: str, about: str, *, inductive: bool = True) -> Method:
    settings = partial(settings_for, name)
    return Method(
        name, "graph network", about, f"{_HERE}.{place}", inductive=inductive, explains=False, settings=settings
    )


METHODS = [
    _rules("ncrl", "ncrl:NCRL", "a network that merges bodies pair by pair"),
    _rules("rlogic", "rlogic:RLogic", "a network that reads bodies from left to right"),
    _rules("rnnlogic", "rnnlogic:RNNLogic", "a generator of rules and a predictor that teaches it"),
    _rules("neural-lp", "neural_lp:NeuralLP", "attention over relations, step by step, with a memory"),
    _rules("drum", "drum:DRUM", "several chains of attention over relations"),
    _embedding("transe", "transe:TransE", "a relation is a step from head to tail"),
    _embedding("distmult", "distmult:DistMult", "a relation weighs what two entities share"),
    _embedding("complex", "complex:ComplEx", "DistMult with complex numbers, which tell directions apart"),
    _embedding("rotate", "rotate:RotatE", "a relation is a rotation of complex numbers"),
    _embedding("pykeen", "pykeen:Pykeen", "any model of the package PyKEEN"),
    _network("compgcn", "compgcn:CompGCN", "embeddings that are passed around the graph first", inductive=False),
    _network("nbfnet", "nbfnet:NBFNet", "states of entities, made of all paths from the head"),
    _network("astarnet", "astarnet:AStarNet", "NBFNet along the most promising paths only"),
]
