"""Intervals that hold what they should, and differences between models."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stablerule.errors import InputError, OptionError
from stablerule.evaluation import Evaluation, compare, evaluate
from stablerule.evaluation import metrics as metrics_module
from stablerule.evaluation.metrics import Resampling
from stablerule.graph import Dataset
from tests.evaluation.worlds import dataset_of, table_model


def test_means_are_those_of_plain_resampling() -> None:
    values = np.random.default_rng(1).normal(size=(50, 3))
    found = Resampling(seed=7, resamples=40).draw_means(values)
    rng = np.random.default_rng(7)
    plain = [values[rng.integers(50, size=50)].mean(0) for _ in range(40)]
    np.testing.assert_allclose(found, plain)


def test_blocks_do_not_change_the_means(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=(50, 3))
    whole = Resampling(resamples=41).draw_means(values)
    monkeypatch.setattr(metrics_module, "DRAWN_AT_ONCE", 120)
    np.testing.assert_allclose(Resampling(resamples=41).draw_means(values), whole)
    monkeypatch.setattr(metrics_module, "DRAWN_AT_ONCE", 1)
    np.testing.assert_allclose(Resampling(resamples=41).draw_means(values), whole)


def test_the_spread_is_that_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(size=(400, 1))
    means = Resampling(resamples=4000).draw_means(values)
    assert means.std() == pytest.approx(values.std() / 20, rel=0.05)
    low, high = Resampling(resamples=4000).compute_interval(means)[:, 0]
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.07)
    narrow = Resampling(resamples=4000, confidence=0.5).compute_interval(means)[:, 0]
    assert low < narrow[0] < values.mean() < narrow[1] < high


def random_dataset(reverse: bool = False) -> Dataset:
    rng = np.random.default_rng(5)
    rows = np.stack([rng.integers(n, size=200) for n in (12, 2, 12)], 1)
    return dataset_of(12, 2, train=rows[:120], test=rows[120:][::-1] if reverse else rows[120:])


def made(levels: int, seed: int = 0, reverse: bool = False) -> Evaluation:
    """A random model on a random dataset, which is the same for every seed."""
    dataset = random_dataset(reverse)
    scores = np.random.default_rng(seed).integers(levels, size=(12, 4, 12))
    return evaluate(table_model(scores), dataset, seed=seed)


def test_the_same_seed_gives_the_same_interval() -> None:
    assert made(3).intervals() == made(3).intervals()
    found = made(8)
    for metric, (low, high) in found.intervals().items():
        assert low < found.figures()[metric] < high


def test_the_difference_is_paired() -> None:
    a, b = made(3), made(3, seed=1)
    found = compare(a, b)
    assert found.mrr.difference == pytest.approx(a.mrr - b.mrr)
    assert found["hits@10"].difference == pytest.approx(a.figures()["hits@10"] - b.figures()["hits@10"])
    gains = 1 / a.ranks.form("realistic") - 1 / b.ranks.form("realistic")
    assert found.mrr.standard_error == pytest.approx(gains.std() / np.sqrt(a.n), rel=0.1)
    assert found.mrr.low < found.mrr.difference < found.mrr.high
    assert found.n == a.n
    back = compare(b, a)
    assert back.mrr.difference == pytest.approx(-found.mrr.difference)
    assert back.mrr.low == pytest.approx(-found.mrr.high)


def test_a_model_does_not_differ_from_itself() -> None:
    same = compare(made(3), made(3), ties="pessimistic")
    assert same.mrr.difference == same.mrr.low == same.mrr.high == same.mrr.standard_error == 0.0
    assert str(same) == "MRR +0.0000, 0.95 interval +0.0000 to +0.0000"


def test_the_order_of_the_rows_does_not_matter() -> None:
    same = compare(made(3), made(3, reverse=True))
    assert same.mrr.difference == same.mrr.standard_error == 0.0


def test_json_of_a_comparison() -> None:
    found = compare(made(3), made(2), seed=3, resamples=50, confidence=0.9).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["options"] == {"ties": "realistic", "seed": 3, "resamples": 50, "confidence": 0.9}
    assert set(found["mrr"]) == {"difference", "low", "high", "standard_error"}


def test_evaluations_of_different_queries_are_refused() -> None:
    facts = {"train": [[0, 0, 1]], "valid": [[1, 0, 2]], "test": [[0, 0, 2]]}
    dataset = dataset_of(3, 1, **facts)

    def of(data: Dataset, split: str = "test") -> Evaluation:
        return evaluate(table_model(np.zeros((3, 2, 3))), data, split=split)

    with pytest.raises(InputError, match="different queries: test with 2 and valid with 2"):
        compare(of(dataset), of(dataset, "valid"))
    with pytest.raises(InputError, match="on different data: 'made'"):
        compare(of(dataset), of(dataset_of(3, 1, **(facts | {"train": [[1, 0, 0]]}))))
    with pytest.raises(OptionError, match="'resamples'"):
        compare(of(dataset), of(dataset), resamples=0)
    with pytest.raises(OptionError, match="'ties' must be one of"):
        compare(of(dataset), of(dataset), ties="random")  # type: ignore[arg-type]
