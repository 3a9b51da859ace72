"""How far groups are apart: distances, chance and the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from stablerule import Dataset, newsroom
from stablerule.shifts import ShiftSize, by_random, group_by_names, make_path_signatures, measure_shift
from stablerule.shifts import signatures as signatures_module
from stablerule.shifts.distances import classify_degrees, encode_one_hot, measure_jensen_shannon

MEASURES = ["relation mix", "body coverage", "degrees", "classifier"]
tables = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.integers(0, 50).map(float)
)


def plain_distance(table: Any) -> float:
    """Entropy of the whole minus the mean entropy of the rows, as a share of the entropy of the row sizes."""

    def entropy(counts: Any) -> float:
        shares = [count / sum(counts) for count in counts if count]
        return -float(sum(share * np.log(share) for share in shares))

    rows = [row for row in table.tolist() if sum(row)]
    if len(rows) < 2:
        return 0.0
    total = sum(map(sum, rows))
    whole = entropy([sum(column) for column in zip(*rows, strict=True)])
    within = sum(sum(row) / total * entropy(row) for row in rows)
    return float(np.sqrt(max(0.0, whole - within) / entropy([sum(row) for row in rows])))


@given(tables)
def test_the_distance_is_that_of_plain_entropies(table: Any) -> None:
    found = measure_jensen_shannon(table)
    assert 0 <= found <= 1
    assert found == pytest.approx(plain_distance(table), abs=2e-6)


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_says_nothing(table: Any, random: Any) -> None:
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert measure_jensen_shannon(table[rows][:, columns]) == pytest.approx(measure_jensen_shannon(table), abs=2e-6)


@given(arrays.arrays(np.float64, st.integers(1, 6), elements=st.integers(0, 50).map(float)), st.integers(1, 5))
def test_rows_that_are_alike_have_no_distance(row: Any, times: int) -> None:
    assert measure_jensen_shannon(np.stack([row, row * times, row])) == 0


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=8))
def test_rows_that_have_nothing_in_common_are_at_1(sizes: list[int]) -> None:
    assert measure_jensen_shannon(np.diag(np.array(sizes, float))) == pytest.approx(1)
    assert measure_jensen_shannon(np.diag(np.array(sizes, float))) <= 1


@given(tables)
def test_more_of_the_same_changes_nothing(table: Any) -> None:
    assert measure_jensen_shannon(7 * table) == pytest.approx(measure_jensen_shannon(table), abs=2e-6)


def test_empty_tables() -> None:
    assert measure_jensen_shannon(np.zeros((3, 2))) == 0
    assert measure_jensen_shannon(np.zeros((3, 0))) == 0
    assert measure_jensen_shannon(np.array([[1.0, 2.0], [0.0, 0.0]])) == 0


def test_degrees_in_classes() -> None:
    found = classify_degrees(np.array([0, 1, 2, 3, 4, 7, 8, 15, 16, 1 << 40, (1 << 40) - 1]))
    assert found.tolist() == [0, 1, 2, 2, 3, 3, 4, 4, 5, 41, 40]
    assert encode_one_hot(np.array([2, 0])).toarray().tolist() == [[0, 0, 1], [1, 0, 0]]


def test_a_planted_shift_is_seen_by_bodies_and_classifier() -> None:
    world = newsroom(people=300, train_mix=0.5, test_mix=0.5, seed=1)
    found = group_by_names(world.dataset.test, world.dataset.graph, world.groups)
    assert [size.measure for size in found.shift] == MEASURES
    sizes = {size.measure: size for size in found.shift}
    assert not sizes["relation mix"].is_shifted  # there is one relation
    assert sizes["relation mix"].value == 0
    for measure in ("body coverage", "classifier"):
        assert sizes[measure].is_shifted
        assert sizes[measure].value > 0.8 > 2 * sizes[measure].chance_high


@pytest.mark.slow
def test_random_groups_are_no_more_than_chance_for_most_seeds() -> None:
    dataset = newsroom(people=300, train_mix=0.5, test_mix=0.5, seed=1).dataset
    found = [size for seed in range(5) for size in by_random(dataset.test, dataset.graph, groups=3, seed=seed).shift]
    assert [size.measure for size in found] == MEASURES * 5
    assert sum(size.is_shifted for size in found) <= 4  # of 20, where 0.05 is the share to expect


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_the_same_seed_measures_the_same(seed: int) -> None:
    facts = [(f"e{i}", f"r{i % 2}", f"e{(i * 3 + 1) % 10}") for i in range(20)]
    dataset = Dataset.from_names("small", train=facts, test=facts[:10])
    labels = np.arange(10) % 2
    signatures = make_path_signatures(dataset.test, dataset.graph)
    first, second = (measure_shift(dataset.test, labels, dataset.graph, signatures, seed=seed) for _ in range(2))
    assert first == second
    assert [size.measure for size in first] == MEASURES[:3]  # too few facts for a classifier
    assert all(0 <= size.value <= 1 and 0 <= size.chance <= size.chance_high + 1e-12 for size in first)


def test_chance_is_that_of_shuffled_labels() -> None:
    """Two groups of ten facts each, of two relations: by brute force."""
    facts = [(f"e{i}", "r" if i < 10 else "s", "x") for i in range(20)]
    dataset = Dataset.from_names("two", train=facts, test=facts)
    relations, labels = np.array([0] * 10 + [1] * 10), np.array([0] * 9 + [1] * 10 + [0])
    found = measure_shift(dataset.test, labels, dataset.graph, make_path_signatures(dataset.test, dataset.graph))[0]

    def distance(groups: Any) -> float:
        table = np.zeros((2, 2))
        np.add.at(table, (groups, relations), 1)
        return plain_distance(table)

    random = np.random.default_rng(7)
    by_chance = [distance(random.permutation(labels)) for _ in range(4000)]
    assert found.value == pytest.approx(distance(labels))
    assert found.chance == pytest.approx(np.mean(by_chance), abs=4 * np.std(by_chance) / np.sqrt(20))
    assert found.is_shifted
    assert found.to_json() == {
        "measure": "relation mix",
        "value": found.value,
        "chance": found.chance,
        "chance_high": found.chance_high,
        "is_shifted": True,
    }


def test_what_is_not_above_chance_is_no_shift() -> None:
    assert not ShiftSize("any", 0.2, 0.1, 0.2).is_shifted
    assert ShiftSize("any", 0.21, 0.1, 0.2).is_shifted


def test_without_scikit_learn_the_classifier_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = newsroom(people=300, train_mix=0.5, test_mix=0.5, seed=1)
    whole = group_by_names(world.dataset.test, world.dataset.graph, world.groups).shift
    monkeypatch.setattr(signatures_module, "find_spec", lambda name: None)
    rest = group_by_names(world.dataset.test, world.dataset.graph, world.groups).shift
    assert rest == whole[:3]


def test_groups_that_are_too_small_are_not_classified() -> None:
    world = newsroom(people=300, train_mix=0.5, test_mix=0.5, seed=1)
    names = ["few" if i < 5 else "many" for i in range(len(world.groups))]
    found = group_by_names(world.dataset.test, world.dataset.graph, names)
    assert [size.measure for size in found.shift] == MEASURES[:3]
