"""The features of queries that need no answers: relation, degree, bodies that fire, scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from stablerule.paths.links import count_links, find_leading_bodies
from stablerule.reasoning.scoring.theory import encode_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.reasoning import RuleReasoner
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.shifts.queries import QuerySet

BODIES_OF_A_RELATION = 30


@dataclass(frozen=True, eq=False)
class Profile:
    """The features of n queries, all with an entity and a relation of the graph.

    degrees: number of facts of the entity. fires: (n, B) sparse ones, the bodies of the relation's best rules that
    apply.
    candidates: number of new answers that rules reach. best, second: the two highest scores.
    """

    queries: QuerySet
    degrees: NDArray[np.int64]
    fires: Any
    candidates: NDArray[np.int64]
    best: NDArray[np.float64]
    second: NDArray[np.float64]

    @property
    def relations(self) -> Ids:
        """The relation or inverse of each query."""
        return self.queries.relations

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether each query has a new candidate."""
        return self.candidates > 0

    def take(self, rows: NDArray[Any]) -> Profile:
        """Return some rows."""
        return Profile(
            self.queries.take(rows),
            self.degrees[rows],
            self.fires[rows],
            self.candidates[rows],
            self.best[rows],
            self.second[rows],
        )

    def __len__(self) -> int:
        return len(self.queries)


class Profiler:
    """Compute the features of queries for a model on a graph.

    bodies: (B, L), the bodies of the best chain rules of each relation, by id. body_relations: (B,), their relations.
    trust: (B,), the weights of their rules.
    """

    def __init__(self, model: RuleReasoner, graph: Graph) -> None:
        self.graph = graph
        self.search: RuleSearcher = model.rule_searcher(graph)
        chains = model.rules.filter(kind="chains").top_per_relation(BODIES_OF_A_RELATION)
        theory = encode_rules(chains, graph, self.search.ways.aggregation.by).theory
        self.bodies, self.starts = theory.bodies, theory.starts
        self.trust = theory.weights[: len(self.bodies)]
        self.body_relations = np.repeat(np.arange(2 * graph.n_relations), np.diff(theory.starts))

    def profile(self, queries: QuerySet) -> Profile:
        """Return the features of queries with entity and relation in the graph."""
        entities, relations = queries.entities, queries.relations
        rows, bodies = find_leading_bodies(self.graph, entities, relations, self.bodies, self.starts)
        fires = sparse.csr_matrix((np.ones(len(rows)), (rows, bodies)), shape=(len(queries), len(self.bodies)))
        # The entity takes the place of the answer, since only the candidates are counted.
        ranks = self.search.rank(entities, relations, entities, self.graph)
        scores = self.search.answer(entities, relations, 2, self.graph).scores
        return Profile(queries, self.graph.degrees[entities], fires, ranks.candidates, scores[:, 0], scores[:, 1])

    def reciprocal_ranks(self, queries: QuerySet, known: Graph) -> NDArray[np.float64]:
        """Return 1 / rank of the answers, with realistic ties."""
        ranks = self.search.rank(queries.entities, queries.relations, queries.answers, known)
        return 1 / ranks.form("realistic")

    def answer_groups(self, queries: QuerySet) -> list[NDArray[np.int64]]:
        """Group queries by properties of their answers: its degree, the lower degree of both ends, paths to it.

        Each grouping has five groups. They show how large a shift can be that the queries alone do not show.
        """
        there = self.graph.degrees[queries.answers]
        here = self.graph.degrees[queries.entities]
        links = count_links(self.graph, queries.entities, queries.answers, queries.relations, max_length=2)
        paths = np.bincount(links.rows, links.paths, len(queries))
        return [_cut_into_fifths(values) for values in (there, np.minimum(here, there), paths)]

    def body_name(self, body: int) -> str:
        """Spell the rule of a body."""
        words = self.graph.vocabulary
        steps = ", ".join(words.relation_name(int(step)) for step in self.bodies[body] if step >= 0)
        return f"{words.relation_name(int(self.body_relations[body]))} <- {steps}"


def _cut_into_fifths(values: NDArray[Any]) -> NDArray[np.int64]:
    """Group values by quintiles; equal values stay together."""
    cuts = np.unique(np.quantile(values, [0.2, 0.4, 0.6, 0.8], method="inverted_cdf"))
    fifths: NDArray[np.int64] = np.searchsorted(cuts, values)
    return fifths
