"""Figures over groups, beside what chance gives."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Triples
from stablerule.evaluation import Evaluation, GroupFigures, Ranks, evaluate
from stablerule.evaluation.groups import ByChance, Worst, measure_chance_spread, measure_group_intervals
from stablerule.evaluation.metrics import METRICS, Figures, Resampling
from stablerule.shifts import by_random, by_relation, group_by_names
from tests.evaluation.worlds import dataset_of, table_model


def random_evaluation(seed: int = 0, facts: int = 80) -> tuple[Dataset, Evaluation]:
    """A random model on random facts of two relations, grouped by relation."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(n, size=2 * facts) for n in (12, 2, 12)], 1)
    dataset = dataset_of(12, 2, train=rows[:facts], test=rows[facts:])
    model = table_model(rng.integers(5, size=(12, 4, 12)).astype(float))
    return dataset, evaluate(model, dataset, groups=by_relation(dataset.test, dataset.graph, measure=False), seed=seed)


def test_chance_is_close_to_brute_force() -> None:
    """All ways to deal seven facts to groups of two and five."""
    values = np.random.default_rng(0).random((7, 4))
    groups = np.array([0, 1, 1, 0, 1, 1, 1])
    spreads = np.array(
        [
            np.std([values[list(order[:2])].mean(0), values[list(order[2:])].mean(0)], axis=0)
            for order in permutations(range(7))
        ]
    )
    found = measure_chance_spread(values, groups, seed=1, deals=4000)
    for place, metric in enumerate(METRICS):
        assert found[metric].mean == pytest.approx(spreads[:, place].mean(), rel=0.05)
        # 21 ways in all: the 95% point is one of the largest of them.
        assert np.isclose(found[metric].high, np.unique(spreads[:, place].round(12))[-3:]).any()


def test_chance_is_what_groups_at_random_have() -> None:
    rng = np.random.default_rng(3)
    values, sizes = rng.random((300, 4)), [50, 100, 150]
    groups = np.repeat([0, 1, 2], sizes)
    found = measure_chance_spread(values, groups, seed=0)["mrr"]
    # The variance of a mean of n out of N, without returning them.
    variances = [values[:, 0].var() / n * (300 - n) / 299 for n in sizes]
    assert found.mean == pytest.approx(np.sqrt(np.mean(variances)), rel=0.25)
    assert found.mean < found.high < 3 * found.mean


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 5))
def test_chance_takes_any_sizes(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    values, groups = rng.random((n, 4)), rng.integers(k, size=n)
    found = measure_chance_spread(values, groups, seed=seed, deals=20)
    assert found == measure_chance_spread(values, groups, seed=seed, deals=20)
    for chance in found.values():
        assert 0 <= chance.mean <= 0.5
        assert chance.high >= 0
    if len(set(groups.tolist())) in (1, n):  # dealing one, or one to each, changes nothing
        assert found["mrr"].high == pytest.approx(found["mrr"].mean)


def test_a_group_without_facts_is_not_counted() -> None:
    values = np.random.default_rng(0).random((10, 4))
    gap = measure_chance_spread(values, np.array([0, 3] * 5), seed=0)
    assert gap == measure_chance_spread(values, np.array([0, 1] * 5), seed=0)


def test_intervals_are_those_of_each_group_alone() -> None:
    values = np.random.default_rng(0).random((40, 4))
    groups = np.array([0, 1] * 20)
    resampling = Resampling(seed=3, resamples=200)
    found = measure_group_intervals(["a", "b"], values, groups, resampling)
    for place, name in enumerate(("a", "b")):
        low, high = resampling.compute_interval(resampling.draw_means(values[groups == place]))
        assert found[name] == {m: (low[i], high[i]) for i, m in enumerate(METRICS)}
        assert found[name]["mrr"][0] < values[groups == place, 0].mean() < found[name]["mrr"][1]


def test_an_evaluation_by_group_has_intervals_and_chance() -> None:
    _, found = random_evaluation()
    over = found.by_group()
    assert over is not None
    assert list(over.groups) == list(over.intervals) == ["r0000", "r0001"]
    assert over.groups == found.by_relation()
    for name, figures in over.groups.items():
        for metric in METRICS:
            low, high = over.intervals[name][metric]
            assert low <= figures[metric] <= high
    assert over.std["mrr"] == pytest.approx(np.std([f.mrr for f in over.groups.values()]))
    # Nothing in this model depends on the relation.
    assert over.std["mrr"] < 2 * over.by_chance["mrr"].high
    # A fact is dealt out with both of its queries.
    reciprocal = 1 / found.ranks.form("realistic")
    half = len(reciprocal) // 2
    facts = np.stack([(reciprocal[:half] + reciprocal[half:]) / 2] * 4, 1)
    groups = np.unique(np.asarray(found.groups, object)[:half], return_inverse=True)[1]
    assert over.by_chance["mrr"] == measure_chance_spread(facts, groups, seed=0)["mrr"]


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic"])
def test_every_form_has_its_own_chance(ties: str) -> None:
    _, found = random_evaluation()
    over = found.by_group(ties)  # type: ignore[arg-type]
    assert over is not None
    assert over.mean["mrr"] == pytest.approx(np.mean([f.mrr for f in over.groups.values()]))
    assert set(over.by_chance) == set(METRICS)


def test_groups_at_random_differ_by_chance_in_most_cases() -> None:
    dataset, found = random_evaluation(seed=2, facts=200)
    within = 0
    for seed in range(20):
        groups = by_random(dataset.test, dataset.graph, groups=4, seed=seed, measure=False)
        again = evaluate(Fixed(found), dataset, groups=groups, resamples=2).by_group()
        assert again is not None
        within += again.std["mrr"] <= again.by_chance["mrr"].high
    assert within >= 16


class Fixed:
    """Gives the ranks that an evaluation found."""

    def __init__(self, found: Evaluation) -> None:
        rows = map(tuple, found.queries.rows.tolist())
        self.ranks = found.ranks
        self.at = {query: row for row, query in enumerate(rows)}

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        rows = [self.at[tuple(query)] for query in queries.rows.tolist()]
        return self.ranks.take(np.array(rows))


def test_a_grouping_goes_in_as_it_is_and_repeated_facts_count_once() -> None:
    rows = np.array([[0, 0, 1], [1, 0, 2], [0, 0, 1], [2, 1, 0]])
    dataset = dataset_of(3, 2, train=rows[:1], test=rows)
    groups = group_by_names(dataset.test, dataset.graph, ["a", "b", "a", "b"])
    found = evaluate(table_model(np.ones((3, 4, 3))), dataset, groups=groups).by_group()
    assert found is not None
    assert {name: figures.n for name, figures in found.groups.items()} == {"a": 2, "b": 4}
    assert groups.sizes == {"a": 2, "b": 2}


def test_one_group_has_no_spread() -> None:
    dataset, found = random_evaluation()
    over = evaluate(Fixed(found), dataset, groups=["all"] * len(dataset.test)).by_group()
    assert over is not None
    assert over.std["mrr"] == over.by_chance["mrr"].high == 0
    assert over.worst["mrr"] == ("all", over.mean["mrr"])


def figures_of(**mrr: float) -> GroupFigures:
    return GroupFigures({name: Figures(4, dict.fromkeys(METRICS, value), 1.0) for name, value in mrr.items()})


def test_the_worst_is_the_first_by_name_where_several_are() -> None:
    assert figures_of(b=0.25, c=0.5, a=0.25).worst["hits@3"] == Worst("a", 0.25)


def test_json() -> None:
    whole = GroupFigures(
        figures_of(a=0.75, b=0.25).groups,
        {"a": {"mrr": (0.5, 1.0)}},
        {"mrr": ByChance(0.1, 0.2)},
    )
    found = json.loads(json.dumps(whole.to_json()))
    assert found["names"]["a"] == {
        "n": 4,
        **dict.fromkeys(METRICS, 0.75),
        "coverage": 1.0,
        "intervals": {"mrr": [0.5, 1.0]},
    }
    assert found["names"]["b"]["intervals"] == {}
    assert found["mean"]["mrr"] == 0.5
    assert found["std"]["mrr"] == 0.25
    assert found["std_by_chance"] == {"mrr": {"mean": 0.1, "high": 0.2}}
    assert found["worst"]["mrr"] == {"group": "b", "value": 0.25}
    _, evaluation = random_evaluation()
    made = json.loads(json.dumps(evaluation.to_json()))["groups"]
    assert set(made) == {"names", "mean", "std", "std_by_chance", "worst"}
    assert set(made["std_by_chance"]) == set(METRICS)
