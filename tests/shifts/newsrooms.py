"""A model of a small newsroom, and queries that are like those it was judged on, or not."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from stablerule import Dataset, Graph, Tabular, newsroom
from stablerule.reasoning import RuleReasoner
from stablerule.shifts import QuerySet, ShiftReport, compare_queries
from stablerule.shifts.profile import Profiler


class Judged(NamedTuple):
    """A dataset with a model that learned from it."""

    dataset: Dataset
    model: RuleReasoner

    @property
    def graph(self) -> Graph:
        return self.dataset.graph

    @property
    def known(self) -> Graph:
        return Graph.build(self.dataset.everything, self.dataset.vocabulary)

    def queries(self, split: str) -> QuerySet:
        return QuerySet.from_facts(self.dataset.split(split), self.graph.n_relations)

    def profiler(self) -> Profiler:
        return Profiler(self.model, self.graph)

    def compare(self, current: QuerySet, reference: QuerySet | None = None, seed: int = 0) -> ShiftReport:
        judged = self.queries("valid") if reference is None else reference
        return compare_queries(judged, current, self.graph, model=self.model, known=self.known, seed=seed)


@cache
def judged(test_mix: float = 0.8, seed: int = 0) -> Judged:
    """Mostly journalists in train and valid; in test as many footballers as asked for."""
    dataset = newsroom(people=500, valid=0.2, train_mix=0.2, test_mix=test_mix, seed=seed).dataset
    model = Tabular(walks=10_000, rules_per_relation=60, seed=0).fit(dataset.graph, dataset.valid)
    return Judged(dataset, model)


def first(queries: QuerySet, n: int) -> QuerySet:
    return queries.take(np.arange(n))
