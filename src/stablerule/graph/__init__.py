"""Data structures: triples, vocabulary, graph and dataset, with checks of the data."""

from stablerule.graph.checks import Finding, check
from stablerule.graph.dataset import SPLITS, Dataset
from stablerule.graph.graph import Adjacency, Graph, Stepped
from stablerule.graph.names import Names
from stablerule.graph.splitting import split_triples
from stablerule.graph.triples import Triples
from stablerule.graph.vocabulary import INVERSE, Interner, Vocabulary, invert_relation_name

__all__ = [
    "INVERSE",
    "SPLITS",
    "Adjacency",
    "Dataset",
    "Finding",
    "Graph",
    "Interner",
    "Names",
    "Stepped",
    "Triples",
    "Vocabulary",
    "check",
    "invert_relation_name",
    "split_triples",
]
