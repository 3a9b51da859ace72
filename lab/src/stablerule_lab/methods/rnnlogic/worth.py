"""Weights of generated rules: a predictor of each relation learns them from facts that are hidden as queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.extending import count_cores, run_in_threads
from stablerule.progress import progress_bar
from stablerule_lab.methods.rnnlogic.path_table import chain_theory, list_paths
from stablerule_lab.methods.rnnlogic.predictor import Predictor, learn_epoch, rule_influence

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.extending import Budget, ExampleFacts, Ids, Theory
    from stablerule.graph import Graph

    Stopped = Callable[[], bool]

MOST_ENTRIES = 4_000_000  # of one relation's path table
FEW_QUERIES = 16  # used by a predictor when there is no time left


class Written(NamedTuple):
    """Rules by id, sorted by head relation, then body: heads (n,), bodies (n, L), padded with -1."""

    heads: Ids
    bodies: Ids

    @classmethod
    def of(cls, heads: NDArray[Any], bodies: NDArray[Any]) -> Written:
        """Sort rules, without duplicates and without r <- r."""
        rows = np.unique(np.column_stack([heads, bodies]).astype(np.int32), axis=0)
        rows = rows[~((rows[:, 0] == rows[:, 1]) & (rows[:, 2:] < 0).all(1))]
        return cls(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:]))

    def take(self, which: NDArray[Any]) -> Written:
        """Return some of them."""
        return Written(self.heads[which], self.bodies[which])


class Worth(NamedTuple):
    """Results of the predictors: weights (n,), influence H (n,), biases (2R, E) or (2R, 0), and the mean loss."""

    weights: NDArray[np.float64]
    influence: NDArray[np.float64]
    bias: NDArray[np.float32]
    loss: float


class Lessons(NamedTuple):
    """How predictors are trained; `seed` chooses their facts and the order."""

    epochs: int
    batch_size: int
    learning_rate: float
    penalty: float
    most_queries: int
    entity_bias: bool
    seed: tuple[int, ...]


def weigh_rules(
    graph: Graph, rules: Written, examples: ExampleFacts, lessons: Lessons, budget: Budget, interrupted: Stopped
) -> Worth:
    """Learn the weights of rules for each relation, in threads.

    Each relation gets a share of the time by its queries. Time left over goes to unfinished relations in another turn,
    until all are done or the time is used up. Each is trained for at least one epoch.
    """
    school = _School(graph, rules, examples, lessons, interrupted)
    waiting = np.arange(2 * graph.n_relations)
    with progress_bar("weighing rules", len(waiting)) as advance:
        while len(waiting):
            work = school.work[waiting]
            share = work / work[::-1].cumsum()[::-1]  # of a relation among the remaining ones
            parts = zip(waiting.tolist(), np.minimum(1.0, count_cores() * share).tolist(), strict=True)
            run_in_threads(lambda own: school.teach(own[0], budget, own[1]), parts)
            left = waiting[school.epochs[waiting] < lessons.epochs]
            advance(len(waiting) - len(left), f"loss {school.loss:.3f}")
            waiting = left
            if interrupted() or budget.left <= 0:
                break
    if len(waiting):
        budget.cut()
    return school.worth()


@dataclass(eq=False)
class _School:
    """The predictors of all relations, with their epochs so far and their results."""

    graph: Graph
    rules: Written
    examples: ExampleFacts
    lessons: Lessons
    interrupted: Stopped
    theory: Theory = field(init=False)
    predictors: list[Predictor] = field(init=False)

    def __post_init__(self) -> None:
        relations, graph = range(2 * self.graph.n_relations), self.graph
        self.theory = chain_theory(graph, self.rules.heads, self.rules.bodies, np.zeros(len(self.rules.heads)))
        entities = graph.n_entities if self.lessons.entity_bias else 0
        self.predictors = [Predictor.new(int(n), entities) for n in np.diff(self.theory.starts)]
        facts = np.array([len(self.examples.facts.facts(r)[0]) for r in relations])
        self.work = 1 + np.minimum(facts, self.lessons.most_queries)  # + 1: no facts take time, too
        self.epochs = np.zeros(len(relations), np.int64)
        self.influence = np.zeros(len(self.rules.heads))
        self.losses, self.queries = np.zeros(len(relations)), np.zeros(len(relations), np.int64)

    @property
    def loss(self) -> float:
        """The mean loss over queries so far."""
        return float(self.losses @ self.queries / max(1, self.queries.sum()))

    def worth(self) -> Worth:
        """Combine the results of all predictors."""
        weights = np.concatenate([one.weights for one in self.predictors])
        bias = np.stack([one.bias for one in self.predictors]).astype(np.float32)
        return Worth(weights, self.influence, bias, self.loss)

    def teach(self, relation: int, budget: Budget, share: float) -> None:
        """Train one relation's predictor for its share of the time, from its last epoch on."""
        lessons, predictor, began = self.lessons, self.predictors[relation], int(self.epochs[relation])
        late = budget.left <= 0
        if late and began:
            return
        part = budget.take_part(share)
        heads, tails = self.examples.facts.facts(relation)
        random = np.random.default_rng((*lessons.seed, relation))
        some = random.permutation(len(heads))[: FEW_QUERIES if late else lessons.most_queries]
        table = list_paths(self.graph, self.theory, relation, heads[some], tails[some], MOST_ENTRIES)
        queries = len(table.reached)  # as many as fit into the table
        self.queries[relation], self.epochs[relation] = queries, lessons.epochs
        if queries and predictor.moments.size:
            for epoch in range(lessons.epochs):
                order = random.permutation(queries)  # the same queries in every turn
                if epoch < began:
                    continue
                rate = lessons.learning_rate * (1 - epoch / lessons.epochs)
                loss = learn_epoch(table, order, lessons.batch_size, rate, lessons.penalty, predictor)
                self.losses[relation], self.epochs[relation] = loss, epoch + 1
                if part.left <= 0 or self.interrupted():
                    break
        own = slice(self.theory.starts[relation], self.theory.starts[relation + 1])
        if own.stop > own.start and queries:
            self.influence[own] = rule_influence(table, predictor.weights)
