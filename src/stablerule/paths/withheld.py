"""ExampleFacts: the facts of a graph that are used as targets, while all facts are path steps."""

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
    """The facts of a graph that may start and close a walk, count as support, and train an aggregation.

    Other facts are withheld: they are still steps of walks and bodies, but as conclusions neither correct nor wrong.

    facts: a graph of the examples alone, or the graph itself if all of its facts are examples.
    withheld: (2T,) True for withheld facts, aligned with the links of the graph, which have each fact twice; (0,) if no
        fact is withheld, so that kernels skip the check.

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
        """Return all facts as examples."""
        return cls(graph, NOTHING_WITHHELD)

    @classmethod
    def of(cls, graph: Graph, examples: Triples | None) -> ExampleFacts:
        """Return some facts of the graph as examples; repeated ones count once. None is all facts."""
        if examples is None:
            return cls.all_of(graph)
        if not len(examples):
            raise InputError("Argument 'examples' is empty. Leave it out to learn from all facts.")
        facts = Graph.build(examples, graph.vocabulary, f"examples of {graph.name}")
        missing = examples.take(~graph.contains(examples)).distinct()
        if len(missing):
            first = graph.vocabulary.decode(missing.take(np.array([0]))).row(0)[:3]
            raise InputError(
                f"Argument 'examples' must be facts of graph {graph.name!r}, but {len(missing):,} of "
                f"{facts.n_facts:,} are not in it, such as {first!r}. "
                "Take them from graph.triples, or leave 'examples' out to learn from all facts."
            )
        if facts.n_facts == graph.n_facts:
            return cls.all_of(graph)
        heads = np.repeat(np.arange(graph.n_entities, dtype=np.int32), graph.degrees)
        links = Triples(read_only(np.stack([heads, graph.link_relations, graph.link_tails], axis=1)))
        return cls(facts, read_only(~facts.contains(links)))
