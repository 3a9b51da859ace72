"""Records of the methods for `stablerule learn --list`. This module does not import torch, which takes seconds."""

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
    _rules("ncrl", "ncrl:NCRL", "a network that merges rule bodies pairwise"),
    _rules("rlogic", "rlogic:RLogic", "a network that reads rule bodies in order"),
    _rules("rnnlogic", "rnnlogic:RNNLogic", "a rule generator, trained by a predictor"),
    _rules("neural-lp", "neural_lp:NeuralLP", "attention over relations, with a memory"),
    _rules("drum", "drum:DRUM", "attention over relations, several chains"),
    _embedding("transe", "transe:TransE", "relations as translations"),
    _embedding("distmult", "distmult:DistMult", "relations as weights of shared dimensions"),
    _embedding("complex", "complex:ComplEx", "DistMult with complex numbers"),
    _embedding("rotate", "rotate:RotatE", "relations as complex rotations"),
    _embedding("pykeen", "pykeen:Pykeen", "any PyKEEN model"),
    _network("compgcn", "compgcn:CompGCN", "embeddings passed along the graph", inductive=False),
    _network("nbfnet", "nbfnet:NBFNet", "entity states from all paths of the head"),
    _network("astarnet", "astarnet:AStarNet", "NBFNet on the most promising paths"),
]
