"""StableRule learns logical rules from a knowledge graph.

>>> import stablerule
>>> dataset = stablerule.load("geography")
>>> "Paris" in dataset.vocabulary.entities
True
"""

from stablerule.datasets import World, describe, households, load, newsroom, open_dataset
from stablerule.errors import StableRuleError
from stablerule.graph import Dataset, Finding, Graph, Triples, Vocabulary, check
from stablerule.io import open_graph, read_dataset, save_graph, to_pandas, write_dataset, write_triples
from stablerule.rules import Rule

__all__ = [
    "Dataset",
    "Finding",
    "Graph",
    "Rule",
    "StableRuleError",
    "Triples",
    "Vocabulary",
    "World",
    "check",
    "describe",
    "households",
    "load",
    "newsroom",
    "open_dataset",
    "open_graph",
    "read_dataset",
    "save_graph",
    "to_pandas",
    "write_dataset",
    "write_triples",
]
