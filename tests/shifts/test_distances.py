"""Distances between two sets of queries, beside chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from stablerule.shifts import distances as distances_module
from stablerule.shifts.distances import Distance, measure_distances, measure_jensen_shannon
from tests.shifts.profiles import made_profile

MEASURES = ["relation mix", "degrees", "bodies that fire"]


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances_module, "RESAMPLES", 60)


def test_a_set_is_at_no_distance_from_itself() -> None:
    profile, _ = made_profile(200, 0.5, np.random.default_rng(0))
    found = measure_distances(profile, profile, least=0.05, seed=0)
    assert [one.measure for one in found] == MEASURES
    for one in found:
        assert one.value == pytest.approx(0, abs=1e-6)
        assert one.p == 1
        assert not one.is_shifted


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_distances_are_between_0_and_1_and_symmetric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (one, _), (other, _) = (made_profile(n, rng.random(), rng) for n in (30, 50))
    there = measure_distances(one, other, least=0.05, seed=seed)
    back = measure_distances(other, one, least=0.05, seed=seed)
    for forth, turned in zip(there, back, strict=True):
        assert 0 <= forth.value <= 1
        assert 0 < forth.p <= 1
        assert forth.value == pytest.approx(turned.value, abs=1e-9)
    assert there == measure_distances(one, other, least=0.05, seed=seed)


def test_the_distance_between_relation_mixes_by_hand() -> None:
    rng = np.random.default_rng(0)
    one, _ = made_profile(40, 0.5, rng, relations=1)
    other, _ = made_profile(60, 0.5, rng, relations=3)
    found = measure_distances(one, other, least=0.05, seed=0)[0]
    shares = np.bincount(other.relations, minlength=3) / 60
    assert found.value == pytest.approx(measure_jensen_shannon(np.array([[1, 0, 0], shares])))
    assert found.is_shifted


def test_a_shift_of_bodies_is_seen_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    (one, _), (other, _) = (made_profile(300, easy, rng) for easy in (0.8, 0.2))
    relations, degrees, bodies = measure_distances(one, other, least=0.05, seed=0)
    assert bodies.is_shifted
    assert bodies.value > 3 * bodies.null_high
    assert bodies.p == pytest.approx(1 / 61)
    assert not relations.is_shifted
    assert not degrees.is_shifted


def test_queries_where_nothing_fires_are_a_kind_of_their_own() -> None:
    rng = np.random.default_rng(1)
    one, _ = made_profile(300, 0.5, rng)
    other, _ = made_profile(300, 0.5, rng, silent=0.5)
    assert measure_distances(one, other, least=0.05, seed=0)[2].is_shifted
    all_silent, _ = made_profile(300, 0.5, rng, silent=1.0)
    assert measure_distances(one, all_silent, least=0.05, seed=0)[2].value == pytest.approx(1)


def test_a_query_counts_the_same_however_many_bodies_fire() -> None:
    rng = np.random.default_rng(2)
    (one, _), (other, _) = (made_profile(100, 0.5, rng) for _ in range(2))
    for profile, easy in ((one, 80), (other, 20)):  # easy queries fire one body, the others two
        fires = np.array([[1, 0, 0]] * easy + [[0, 1, 1]] * (100 - easy))
        object.__setattr__(profile, "fires", sparse.csr_matrix(fires.astype(float)))
    found = measure_distances(one, other, least=0.05, seed=0)[2]
    assert found.value == pytest.approx(measure_jensen_shannon(np.array([[80.0, 10, 10], [20, 40, 40]])))


def test_large_sets_need_more_than_significance() -> None:
    """With many queries the smallest difference is beyond chance: it must also be large enough to matter."""
    assert not Distance("any", 0.04, 0.01, 0.02, 0.005, 0.05).is_shifted
    assert Distance("any", 0.07, 0.01, 0.02, 0.005, 0.05).is_shifted
    assert not Distance("any", 0.07, 0.01, 0.08, 0.2, 0.05).is_shifted
    assert not Distance("any", 0.07, 0.03, 0.04, 0.005, 0.05).is_shifted  # chance alone gives 0.03
    assert Distance("any", 0.07, 0.01, 0.02, 0.005, 0.05).to_json() == {
        "measure": "any",
        "value": 0.07,
        "null": 0.01,
        "null_high": 0.02,
        "p": 0.005,
        "least": 0.05,
        "is_shifted": True,
    }


def test_false_alarms_are_rare() -> None:
    alarms = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        (one, _), (other, _) = (made_profile(80, 0.5, rng) for _ in range(2))
        alarms += sum(d.is_shifted for d in measure_distances(one, other, least=0.0, seed=seed))
    assert alarms <= 4  # of 45, at a level of 1%
