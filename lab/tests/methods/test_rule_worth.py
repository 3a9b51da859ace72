"""Predictors of all relations: time that some leave over goes to others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stablerule import Graph, households
from stablerule.graph.triples import Ids
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.budget import Budget
from stablerule.reasoning.scoring.theory import Theory
from stablerule_lab.methods.rnnlogic import path_table, predictor, worth
from stablerule_lab.methods.rnnlogic.path_table import PathTable
from stablerule_lab.methods.rnnlogic.worth import Lessons, Worth, Written, weigh_rules

GRAPH = households(families=4, seed=0).dataset.graph
N = 2 * GRAPH.n_relations
RULES = Written.of(np.repeat(np.arange(N), N), np.column_stack([np.tile(np.arange(N), N), np.full(N * N, -1)]))
LESSONS = Lessons(
    epochs=6, batch_size=4, learning_rate=0.01, penalty=0.0, most_queries=50, entity_bias=True, seed=(0, 2, 0)
)


class Turns(Budget):
    """Time by the number of epochs that all have learned together, and shares that end after the first epoch."""

    def __init__(self, epochs: float, learned: list[int], share: float = 0) -> None:
        super().__init__(None)
        self.epochs, self.learned, self.share = epochs, learned, share
        self.parts: list[float] = []

    @property
    def left(self) -> float:
        return max(0.0, self.epochs - len(self.learned))

    def take_part(self, share: float) -> Budget:
        self.parts.append(share)
        return Budget(self.share)


def learned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the epochs of all predictors."""
    count: list[int] = []

    def learn_epoch(*arguments: object) -> float:
        count.append(1)
        return predictor.learn_epoch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(worth, "learn_epoch", learn_epoch)
    return count


def weigh(deadline: Budget, interrupted: Callable[[], bool] = lambda: False) -> Worth:
    return weigh_rules(GRAPH, RULES, ExampleFacts.all_of(GRAPH), LESSONS, deadline, interrupted)


def assert_same(one: Worth, other: Worth) -> None:
    for name in Worth._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_turns_end_where_one_go_without_a_budget_does(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weigh(Budget(None))
    assert np.abs(whole.weights).max() > 0
    count = learned(monkeypatch)
    deadline = Turns(np.inf, count)  # every share is over after an epoch
    assert_same(weigh(deadline), whole)
    assert len(count) == LESSONS.epochs * N
    assert len(deadline.parts) == LESSONS.epochs * N
    assert deadline.parts[N - 1] == 1  # the last of a turn may have all that is left
    assert not deadline.cut_short


def test_time_that_is_over_cuts_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    count = learned(monkeypatch)
    deadline = Turns(2.5 * N, count)
    found = weigh(deadline)
    assert deadline.cut_short
    assert 2.5 * N <= len(count) < 3 * N  # those that are in the middle of an epoch end it
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.loss)


def test_without_any_time_each_learns_an_epoch_from_few(monkeypatch: pytest.MonkeyPatch) -> None:
    count = learned(monkeypatch)
    asked: list[int] = []

    def list_paths(graph: Graph, theory: Theory, relation: int, heads: Ids, tails: Ids, most: int) -> PathTable:
        asked.append(len(heads))
        return path_table.list_paths(graph, theory, relation, heads, tails, most)

    monkeypatch.setattr(worth, "list_paths", list_paths)
    deadline = Budget(0)
    weigh(deadline)
    assert len(count) == N
    assert max(asked) == worth.FEW_QUERIES
    assert deadline.cut_short


def test_an_interrupt_ends_after_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    count = learned(monkeypatch)
    weigh(Budget(None), lambda: len(count) > 3)
    assert N <= len(count) < LESSONS.epochs * N
