"""Where a model will be weak."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stablerule import Dataset
from stablerule.shifts.weak_spots import FEWEST, MOST_OF_A_KIND, WeakSpot, find_weak_spots, name_strongest_bodies
from tests.shifts.profiles import Words, made_profile

FACTS = [("a", relation, "b") for relation in ("knows", "likes", "owns")]
VOCABULARY = Dataset.from_names("words", train=FACTS).vocabulary
WORDS: Any = Words(VOCABULARY, [(0,), (1,), (2,)], [0, 0, 0])


def test_spots_are_below_the_mean_and_the_weakest_of_a_kind_comes_first() -> None:
    current, each = made_profile(300, 0.5, np.random.default_rng(0), silent=0.1, relations=3)
    found = find_weak_spots(current, each, None, WORDS)
    for kind in ("relation", "degree", "signature"):
        values = [spot.expected_mrr for spot in found if spot.kind == kind]
        assert values == sorted(values)
        assert len(values) <= MOST_OF_A_KIND
        assert all(value < each.mean() for value in values)
    spots = {spot.name: spot for spot in found}
    assert "body 1" in spots  # the hard ones
    assert spots["no rule applies"].expected_mrr == pytest.approx(0.2)
    assert "body 0" not in spots
    rows = current.fires.toarray()[:, 1] > 0
    assert spots["body 1"].n == rows.sum()
    assert spots["body 1"].share == pytest.approx(rows.mean())
    assert spots["body 1"].expected_mrr == pytest.approx(each[rows].mean())
    assert all(spot.measured_mrr is None for spot in found)


def test_the_strongest_body_is_the_most_trusted_that_fires() -> None:
    current, _ = made_profile(50, 0.5, np.random.default_rng(0), silent=0.2)
    names = name_strongest_bodies(current, WORDS)
    for row, name in zip(current.fires.toarray(), names, strict=True):
        fired = np.flatnonzero(row)
        assert name == (f"body {fired[0]}" if len(fired) else "no rule applies")


def test_small_spots_are_not_named() -> None:
    current, each = made_profile(100, 0.5, np.random.default_rng(0), relations=1)
    current.queries.relations[: FEWEST - 1] = 1
    each[: FEWEST - 1] = 0
    assert "likes" not in {spot.name for spot in find_weak_spots(current, each, None, WORDS)}
    current.queries.relations[:FEWEST] = 1
    each[:FEWEST] = 0
    assert "likes" in {spot.name for spot in find_weak_spots(current, each, None, WORDS)}
    # A single spot of its kind is named, even if it is no weaker than the mean of all.
    current.queries.relations[:] = 2
    assert "owns" in {spot.name for spot in find_weak_spots(current, each, None, WORDS)}


def test_measured_figures_stand_beside_where_answers_are_known() -> None:
    current, each = made_profile(100, 0.5, np.random.default_rng(0), relations=2)
    measured = np.full(100, np.nan)
    here = np.flatnonzero(current.relations == 0)
    each[here] = 0.1
    measured[here[:5]] = [1, 0.5, 0, 0, 0]
    spots = {spot.name: spot for spot in find_weak_spots(current, each, measured, WORDS)}
    assert spots["knows"].measured_mrr == pytest.approx(0.3)
    measured[here] = np.nan
    assert find_weak_spots(current, each, measured, WORDS)[0].measured_mrr is None


def test_degrees_have_the_names_of_the_evaluator() -> None:
    from stablerule.evaluation import evaluation

    current, each = made_profile(120, 0.5, np.random.default_rng(0))
    object.__setattr__(current, "degrees", np.repeat([0, 1, 3, 4, 10, 11, 30, 31, 100, 101, 5000, 0], 10))
    object.__setattr__(current, "degrees", np.sort(current.degrees))
    found = [s for s in find_weak_spots(current, np.linspace(0, 1, 120), None, WORDS) if s.kind == "degree"]
    names = [f"degree {name}" for name in evaluation.DEGREE_NAMES]
    assert [spot.name for spot in found] == names[: len(found)]
    assert len(found) >= 3
    assert each.shape == (120,)


def test_json() -> None:
    assert WeakSpot("degree", "degree 1-3", 10, 0.5, 0.25).to_json() == {
        "kind": "degree",
        "name": "degree 1-3",
        "n": 10,
        "share": 0.5,
        "expected_mrr": 0.25,
        "measured_mrr": None,
    }
