"""How accurate a model will be on queries without answers."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from stablerule.shifts import expected as expected_module
from stablerule.shifts import signatures as signatures_module
from stablerule.shifts.expected import (
    FEWEST_CURRENT,
    FEWEST_EFFECTIVE,
    ExpectedAccuracy,
    _measure_hidden_spread,
    expect_accuracy,
)
from stablerule.shifts.profile import Profile
from tests.shifts.profiles import EASY, HARD, made_profile


def expect(reference: tuple[Profile, Any], current: Profile, **options: Any) -> tuple[ExpectedAccuracy, Any]:
    return expect_accuracy(*reference, current, **options)


def bounds(found: ExpectedAccuracy) -> tuple[float, float, float]:
    assert found.refused is None
    assert found.low is not None
    assert found.mrr is not None
    assert found.high is not None
    return found.low, found.mrr, found.high


@pytest.mark.parametrize("easy", [0.1, 0.5, 0.9])
def test_a_shift_of_what_can_be_seen_is_carried_over(easy: float) -> None:
    """The reference is mostly easy; whatever the current queries are, the expectation is near what they turn out."""
    rng = np.random.default_rng(0)
    reference = made_profile(600, 0.7, rng)
    current, truth = made_profile(400, easy, rng)
    found, each = expect(reference, current)
    low, mrr, high = bounds(found)
    assert mrr == pytest.approx(truth.mean(), abs=0.04)
    assert low <= truth.mean() <= high
    assert found.reference == pytest.approx(reference[1].mean())
    assert abs(mrr - truth.mean()) < abs(found.reference - truth.mean()) or easy == 0.5
    is_easy = current.fires.toarray()[:, 0] > 0
    assert each[is_easy].mean() == pytest.approx(EASY, abs=0.05)
    assert each[~is_easy].mean() == pytest.approx(HARD, abs=0.05)
    assert 0 < found.effective <= 600


def broken(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one of the two parts know nothing."""
    if function == "_predict_reciprocal_ranks":
        monkeypatch.setattr(
            expected_module, function, lambda old, _, new, __: (np.full(len(old), 0.1), np.full(len(new), 0.1))
        )
    else:
        monkeypatch.setattr(expected_module, function, lambda old, *_: (np.ones(len(old)), 0.5))


@pytest.mark.parametrize("function", ["_predict_reciprocal_ranks", "_weigh_reference"])
def test_one_of_the_two_parts_is_enough(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    reference = made_profile(600, 0.7, rng)
    current, truth = made_profile(300, 0.2, rng)
    broken(function, monkeypatch)
    found, _ = expect(reference, current)
    assert found.mrr == pytest.approx(truth.mean(), abs=0.06)
    assert abs(found.reference - truth.mean()) > 0.2


def test_intervals_hold_what_they_should() -> None:
    held = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        reference = made_profile(200, 0.7, rng)
        current, truth = made_profile(60, 0.4, rng)
        low, _, high = bounds(expect(reference, current, seed=seed)[0])
        held += low <= truth.mean() <= high
    assert held >= 5


def test_the_same_seed_expects_the_same() -> None:
    rng = np.random.default_rng(0)
    reference, (current, _) = made_profile(150, 0.7, rng), made_profile(60, 0.3, rng)
    one, other = (expect(reference, current, seed=3) for _ in range(2))
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])


def test_more_confidence_is_a_wider_interval() -> None:
    rng = np.random.default_rng(0)
    reference, (current, _) = made_profile(150, 0.6, rng), made_profile(60, 0.4, rng)
    (narrow, _), (wide, _) = (expect(reference, current, confidence=c) for c in (0.5, 0.95))
    (low, mrr, high), (lower, same, higher) = bounds(narrow), bounds(wide)
    assert lower < low < mrr == same < high < higher
    ratio = NormalDist().inv_cdf(0.975) / NormalDist().inv_cdf(0.75)
    assert (higher - lower) / (high - low) == pytest.approx(ratio)
    assert wide.chance is not None
    assert higher - same == pytest.approx(NormalDist().inv_cdf(0.975) * wide.chance)


def test_what_only_answers_show_widens_the_interval_of_a_shift() -> None:
    """Half of the queries that look alike are harder, by something that can't be seen from their side."""
    rng = np.random.default_rng(0)
    profile, ranks = made_profile(400, 0.7, rng)
    secret = rng.integers(2, size=400)
    ranks = np.clip(ranks - 0.25 * secret, 0, 1)
    current, _ = made_profile(200, 0.2, rng)
    (blind, _), (aware, _) = (expect((profile, ranks), current, hidden=hidden) for hidden in ((), (secret,)))
    assert blind.hidden == 0
    assert aware.hidden is not None
    assert aware.hidden > 0.05
    assert aware.mrr == blind.mrr
    assert bounds(aware)[2] - bounds(aware)[0] > 1.5 * (bounds(blind)[2] - bounds(blind)[0])
    nothing_new, _ = expect((profile, ranks), profile, hidden=(secret,))
    assert nothing_new.hidden is not None
    assert nothing_new.hidden < aware.hidden / 2


def test_the_spread_over_groups_leaves_out_what_chance_explains() -> None:
    rng = np.random.default_rng(0)
    errors, rows = rng.normal(0, 0.2, 2000), np.arange(2000)
    groups = rng.integers(5, size=2000)
    assert _measure_hidden_spread([], rows, errors) == 0
    assert _measure_hidden_spread([groups], rows, errors) < 0.015
    shifted = errors + np.array([-0.2, -0.1, 0, 0.1, 0.2])[groups]
    assert _measure_hidden_spread([groups], rows, shifted) == pytest.approx(np.std([-0.2, -0.1, 0, 0.1, 0.2]), abs=0.02)
    assert _measure_hidden_spread([np.zeros(2000, int), groups], rows, shifted) == _measure_hidden_spread(
        [groups], rows, shifted
    )
    some = np.flatnonzero(groups < 2)
    assert _measure_hidden_spread([groups], some, shifted[some]) == pytest.approx(0.05, abs=0.02)


def test_queries_without_a_candidate_get_the_mean_of_those_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    reference = made_profile(300, 0.6, rng, silent=0.3)
    current, truth = made_profile(200, 0.6, rng, silent=0.5)
    found, each = expect(reference, current)
    low, mrr, high = bounds(found)
    assert each[~current.answered] == pytest.approx(0.2)
    assert mrr == pytest.approx(truth.mean(), abs=0.03)
    assert low <= truth.mean() <= high
    # Where the reference has none of them, nothing is known, and nothing is hoped for.
    found, each = expect(made_profile(300, 0.6, rng), current)
    assert each[~current.answered].tolist() == [0] * int((~current.answered).sum())
    assert found.mrr is not None
    assert found.mrr < mrr


def test_a_set_beside_itself_is_expected_to_be_as_good_as_it_is() -> None:
    reference = made_profile(300, 0.6, np.random.default_rng(0), silent=0.2)
    found, _ = expect(reference, reference[0])
    assert found.mrr == pytest.approx(found.reference, abs=0.02)
    assert found.effective > 200


def test_relations_that_the_reference_does_not_have() -> None:
    rng = np.random.default_rng(0)
    reference, (current, truth) = made_profile(200, 0.5, rng, relations=2), made_profile(100, 0.5, rng, relations=4)
    low, _, high = bounds(expect(reference, current)[0])
    assert low - 0.05 <= truth.mean() <= high + 0.05


def test_too_little_to_say_anything() -> None:
    rng = np.random.default_rng(0)
    enough, few = made_profile(100, 0.5, rng), made_profile(FEWEST_EFFECTIVE - 1, 0.5, rng)
    current, _ = made_profile(50, 0.5, rng)
    found, each = expect(enough, current.take(np.arange(FEWEST_CURRENT - 1)))
    assert found.refused == "only 9 of these queries have a candidate; at least 10 are needed"
    assert (found.mrr, found.low, found.high) == (None, None, None)
    assert each.tolist() == [0] * 9
    found, _ = expect(few, current)
    assert found.refused == "only 39 reference queries have a candidate; at least 40 are needed"
    silent, _ = made_profile(50, 0.5, rng, silent=1.0)
    assert "0 of these queries have a candidate" in str(expect(enough, silent)[0].refused)
    nobody = current.take(np.arange(0))
    assert "0 of these queries" in str(expect(enough, nobody)[0].refused)


def test_a_reference_that_is_nothing_like_the_queries() -> None:
    rng = np.random.default_rng(0)
    reference = made_profile(300, 1.0, rng)
    odd = rng.choice(300, 8, replace=False)
    fires = reference[0].fires.toarray()
    fires[odd] = [0, 1, 1]
    reference[0].degrees[odd] = 5000
    mixed = type(reference[0])(
        reference[0].queries,
        reference[0].degrees,
        type(reference[0].fires)(fires),
        reference[0].candidates,
        reference[0].best,
        reference[0].second,
    )
    current, _ = made_profile(300, 0.0, rng)
    current.degrees[:] = 5000
    found, _ = expect((mixed, reference[1]), current)
    assert found.refused is not None
    assert found.refused.startswith("the effective sample is only ")
    assert found.effective < FEWEST_EFFECTIVE


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = made_profile(50, 0.5, np.random.default_rng(0))
    monkeypatch.setattr(signatures_module, "find_spec", lambda name: None)
    found, each = expect(reference, reference[0])
    assert (found.mrr, found.tried) == (None, False)
    assert found.refused == (
        "Estimating it needs the package 'scikit-learn'. Install it with: pip install 'stablerule[shifts]'"
    )
    assert not each.any()


def test_json() -> None:
    found = ExpectedAccuracy(None, None, None, 0.95, 3.0, 0.5, "too few").to_json()
    assert found["refused"] == "too few"
    assert found["mrr"] is None
    assert set(found) >= {"mrr", "low", "high", "confidence", "effective", "reference", "refused"}
