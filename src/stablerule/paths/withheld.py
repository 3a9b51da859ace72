"""Which facts of a graph may serve as examples, while the whole graph is walked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import InputError
from stablerule.graph import Graph, Triples
from stablerule.graph.triples import read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING_WITHHELD = read_only(np.empty(0, np.bool_))


@dataclass(frozen=True, eq=False)
class ExampleFacts:
    """The facts of a graph that may begin and close a walk, count as support, and train an aggregation.

    A fact that is withheld is a step of walks and bodies all the same. As a conclusion it is neither right nor wrong.

    facts: a graph of the examples alone, or the graph itself if all of its facts are examples.
    withheld: (2T,) True where a fact is none, aligned with the links of the graph, so that a fact stands there twice;
        (0,) where nothing is withheld, which costs kernels nothing.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("pair", train=[("a", "likes", "b"), ("b", "likes", "a")]).graph
    >>> first = graph.triples.take(np.array([0]))  # a likes b
    >>> ExampleFacts.of(graph, first).withheld.tolist()  # a likes b, a ~likes b, b likes a, b ~likes a
    [False, True, True, False]
    >>> ExampleFacts.of(graph, None).withheld.tolist()
    []
    """

    facts: Graph
    withheld: NDArray[np.bool_]

    @classmethod
    def all_of(cls, graph: Graph) -> ExampleFacts:
        """Let every fact serve."""
        return cls(graph, NOTHING_WITHHELD)

    @classmethod
    def of(cls, graph: Graph, examples: Triples | None) -> ExampleFacts:
        """Let some facts serve, which must be facts of the graph; repeated ones count once. None: all of them."""
        if examples is None:
            return cls.all_of(graph)
        if not len(examples):
            raise InputError(
                "Argument 'examples' is empty: there is nothing to learn from. Leave it out to learn from all facts."
            )
        facts = Graph.build(examples, graph.vocabulary, f"examples of {graph.name}")
        missing = examples.take(~graph.contains(examples)).distinct()
        if len(missing):
            first = graph.vocabulary.decode(missing.take(np.array([0]))).row(0)[:3]
            raise InputError(
                f"Argument 'examples' must hold facts of graph {graph.name!r}, but {len(missing):,} of "
                f"{facts.n_facts:,} are not in it, the first of them {first!r}. "
                "Take them from graph.triples, or leave 'examples' out to learn from all facts."
            )
        if facts.n_facts == graph.n_facts:
            return cls.all_of(graph)
        heads = np.repeat(np.arange(graph.n_entities, dtype=np.int32), graph.degrees)
        links = Triples(read_only(np.stack([heads, graph.link_relations, graph.link_tails], axis=1)))
        return cls(facts, read_only(~facts.contains(links)))
