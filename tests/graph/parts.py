"""Graphs from facts by name."""

from __future__ import annotations

from collections.abc import Sequence

from stablerule import Dataset, Graph
from tests.worlds import Fact


def graph_of(facts: Sequence[Fact]) -> Graph:
    return Dataset.from_names("facts", train=list(facts)).graph


def ids(graph: Graph, head: str, relation: str, tail: str) -> tuple[int, int, int]:
    words = graph.vocabulary
    return words.entity_id(head), words.relation_id(relation), words.entity_id(tail)
