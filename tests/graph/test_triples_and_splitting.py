"""Rows with their optional columns, and how they are split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Triples
from stablerule.errors import InputError, OptionError
from stablerule.graph import split_triples
from tests.worlds import Fact, fact_lists


@given(fact_lists)
def test_distinct_keeps_the_first_of_each_in_order(facts: list[Fact]) -> None:
    dataset = Dataset.from_names("g", train=facts)
    weights = np.arange(len(facts), dtype=float)
    distinct = Triples(dataset.train.rows, weight=weights).distinct()
    expected = list(dict.fromkeys(facts))
    assert dataset.vocabulary.decode(distinct).rows() == [(*f, facts.index(f)) for f in expected]


def test_optional_columns_stay_with_their_rows() -> None:
    rows = np.array([[0, 0, 1], [1, 0, 2]])
    triples = Triples(rows, weight=np.array([0.5, 1.0]), source=np.array([3, 4], np.int32), time=np.array([1999, 2001]))
    taken = triples.take(np.array([1]))
    assert (taken.weight, taken.source, taken.time) == (np.array([1.0]), np.array([4]), np.array([2001]))
    both = Triples.concat(triples, triples)
    assert both.time is not None
    assert both.time.tolist() == [1999, 2001, 1999, 2001]
    assert Triples.concat(triples, Triples(rows)).weight is None
    assert Triples.concat(triples, Triples.empty()) == triples
    assert triples != Triples(rows)


def test_a_column_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(InputError, match="'weight' must have one value per triple"):
        Triples(np.array([[0, 0, 1]]), weight=np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (np.zeros((2, 6), int), r"shape \(n, 3\).* got \(2, 6\)"),
        (np.zeros(3, int), r"got \(3,\)"),
        (np.zeros((1, 3, 1), int), r"got \(1, 3, 1\)"),
        (np.array([[0.9, 0, 1]]), "whole numbers .* got float64"),
        (np.array([[True, False, True]]), "got bool"),
        (np.array([[2**32 + 1, 0, 1]]), "at most 2,147,483,647, got 4,294,967,297"),
        (np.array([[0, 0, -(2**40)]]), "got -1,099"),
    ],
)
def test_rows_that_are_no_triples_are_refused(rows: np.ndarray[Any, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Triples(rows)


@pytest.mark.parametrize(
    ("column", "values"), [("weight", ["x"]), ("source", [0.5]), ("source", [2**40]), ("time", [1.5]), ("time", ["x"])]
)
def test_columns_of_the_wrong_type_are_refused(column: str, values: list[object]) -> None:
    with pytest.raises(InputError, match=f"'{column}' must be"):
        Triples(np.array([[0, 0, 1]]), **{column: np.array(values)})


def test_whoever_gave_the_array_can_not_change_the_triples() -> None:
    rows, weight, time = np.zeros((2, 3), np.int32), np.ones(2), np.array(["1999-01-01"] * 2, "datetime64[D]")
    triples = Triples(rows, weight=weight, time=time)
    rows[0, 0], weight[0], time[0] = 7, 7, np.datetime64("2024-01-01")
    assert triples == Triples(np.zeros((2, 3), np.int32), weight=np.ones(2), time=np.array([time[1]] * 2))


def test_a_read_only_array_is_shared() -> None:
    rows = np.zeros((2, 3), np.int32)
    rows.flags.writeable = False
    assert np.shares_memory(Triples(rows).rows, rows)


def test_no_rows() -> None:
    assert len(Triples(np.array([]))) == len(Triples(np.empty((0, 3), np.int32))) == 0


@given(fact_lists, st.integers(0, 5), st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.25, 0.25), (0.6, 0.4, 0.0), (1, 0, 0)]))
def test_a_split_is_a_partition_that_train_covers(
    facts: list[Fact], seed: int, ratios: tuple[float, float, float]
) -> None:
    triples = Dataset.from_names("g", train=facts).train
    parts = split_triples(triples, ratios, seed)
    rows = [tuple(row) for part in parts for row in part.rows.tolist()]
    assert sorted(rows) == sorted(set(map(tuple, triples.rows.tolist())))
    train, valid, test = parts
    for part in (valid, test):
        assert set(part.rows[:, [0, 2]].ravel()) <= set(train.rows[:, [0, 2]].ravel())
        assert set(part.relations) <= set(train.relations)
    assert len(train) >= round(ratios[0] * len(rows))
    again = split_triples(triples, ratios, seed)
    assert all(one == two for one, two in zip(parts, again, strict=True))


@given(fact_lists, st.integers(0, 5))
def test_facts_of_one_relation_can_be_split_alone(facts: list[Fact], seed: int) -> None:
    dataset = Dataset.from_names("g", train=facts)
    relation = 0
    train, valid, test = split_triples(dataset.train, (0.5, 0.25, 0.25), seed, relation=relation)
    assert len(train) + len(valid) + len(test) == len(dataset.train.distinct())
    assert set(valid.relations) | set(test.relations) <= {relation}
    assert {*train.heads, *train.tails} == set(range(len(dataset.vocabulary.entities)))
    asked = int((dataset.train.distinct().relations == relation).sum())
    assert len(valid) + len(test) <= asked - round(0.5 * asked)


@pytest.mark.parametrize("ratios", [(0.8, 0.1), (0.8, 0.3, 0.1), (0, 0.5, 0.5), (1.2, -0.1, -0.1)])
def test_shares_that_make_no_sense_are_refused(ratios: tuple[float, float, float]) -> None:
    with pytest.raises(OptionError, match="three shares"):
        split_triples(Triples(np.array([[0, 0, 1]])), ratios)


@pytest.mark.parametrize("ratios", [0.8, None, "0.8", (0.8, "0.1", 0.1), (float("nan"), 0, 0)])
def test_shares_that_are_none(ratios: Any) -> None:
    with pytest.raises(OptionError, match="three shares"):
        split_triples(Triples(np.array([[0, 0, 1]])), ratios)


@pytest.mark.parametrize("seed", [-1, "x", 1.5, None])
def test_seeds_that_are_none(seed: Any) -> None:
    with pytest.raises(OptionError, match="'seed' must be a whole number of at least 0"):
        split_triples(Triples(np.array([[0, 0, 1]])), (0.8, 0.1, 0.1), seed)


def test_a_generator_is_a_seed_too() -> None:
    triples = Triples(np.array([[i, 0, j] for i in range(10) for j in range(10)]))
    one, two = (split_triples(triples, (0.8, 0.1, 0.1), seed) for seed in (3, np.random.default_rng(3)))
    assert one == two
