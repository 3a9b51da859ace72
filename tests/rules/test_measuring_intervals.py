"""Intervals of sampled confidences, on made-up rules whose exact confidence is known."""

from __future__ import annotations

import numpy as np
import pytest

from stablerule.rules.measuring import bound_confidence
from stablerule.rules.scored import PESSIMISM

HEADS, TRIED, RULES = 500, 80, 1500


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("together", [0.02, 0.5, 0.98])  # how much pairs of one head agree
@pytest.mark.parametrize("sizes", ["alike", "some have many"])
def test_the_exact_confidence_is_inside_as_often_as_stated(rate: float, together: float, sizes: str) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.poisson(2, (RULES, HEADS)) if sizes == "alike" else rng.geometric(0.15, (RULES, HEADS))
    alike = 1 / together - 1
    shares = rng.beta(rate * alike, (1 - rate) * alike, (RULES, HEADS)) if rate < 1 else np.ones((RULES, HEADS))
    support = rng.binomial(pairs, shares)
    exact = support.sum(1) / (pairs.sum(1) + PESSIMISM)
    seen, tried, possible = pairs[:, :TRIED].astype(float), np.full(RULES, TRIED), np.full(RULES, HEADS)
    low, high = bound_confidence(
        support[:, :TRIED].sum(1).astype(float), seen.sum(1), (seen**2).sum(1), tried, possible
    )
    inside = (low <= exact) & (exact <= high)
    assert inside.mean() > 0.94
    assert (high - low).mean() < 0.45
    assert ((high > low) & (low >= 0) & (high <= 1)).all()


def test_the_interval_closes_when_all_heads_were_tried() -> None:
    support, pairs, possible = np.full(3, 30.0), np.full(3, 40.0), np.full(3, 20)
    low, high = bound_confidence(support, pairs, np.full(3, 100.0), np.array([10, 19, 20]), possible)
    assert high[0] - low[0] > high[1] - low[1] > 0
    assert low[2] == high[2] == pytest.approx(30 / 45)


def test_where_nothing_was_seen_everything_is_possible() -> None:
    nothing = np.zeros(2)
    low, high = bound_confidence(nothing, nothing, nothing, np.array([5, 10]), np.array([10, 10]))
    assert (low[0], high[0]) == (0, 1)
    assert (low[1], high[1]) == (0, 0)
