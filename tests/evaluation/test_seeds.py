"""Seeds apart from groups."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import InputError
from stablerule.evaluation import GroupFigures, over_seeds
from stablerule.evaluation.metrics import METRICS, Figures

values = st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=6)


def run_of(row: list[float]) -> GroupFigures:
    """One seed; each metric is a little different."""
    return GroupFigures(
        {
            f"g{i}": Figures(5, {metric: value / (place + 1) for place, metric in enumerate(METRICS)}, 1.0)
            for i, value in enumerate(row)
        }
    )


@given(values)
def test_means_spreads_and_the_worst_group(rows: list[list[float]]) -> None:
    found = over_seeds([run_of(row) for row in rows])
    table = np.array(rows)
    for place, metric in enumerate(METRICS):
        one, scaled = found[metric], table / (place + 1)
        assert one.metric == metric
        assert one.mean == pytest.approx(scaled.mean())
        assert one.worst == pytest.approx(scaled.mean(0).min())
        assert scaled.mean(0)[int(one.worst_group[1:])] == pytest.approx(one.worst)
        assert one.std_groups == pytest.approx(scaled.mean(0).std(), abs=1e-12)
        assert (one.groups, one.seeds) == (3, len(rows))
        if len(rows) == 1:
            assert one.std_seeds is None
        else:
            assert one.std_seeds == pytest.approx(scaled.mean(1).std(ddof=1), abs=1e-12)


def test_groups_may_differ_while_seeds_agree_and_the_other_way_round() -> None:
    apart = over_seeds([run_of([0.1, 0.5, 0.9])] * 3)["mrr"]
    assert apart.std_groups == pytest.approx(np.std([0.1, 0.5, 0.9]))
    assert apart.std_seeds == pytest.approx(0)
    luck = over_seeds([run_of([value] * 3) for value in (0.2, 0.4, 0.6)])["mrr"]
    assert luck.std_groups == pytest.approx(0)
    assert luck.std_seeds == pytest.approx(0.2)


def test_the_order_of_groups_does_not_matter() -> None:
    one = run_of([0.1, 0.5, 0.9])
    other = GroupFigures(dict(reversed(list(one.groups.items()))))
    found = over_seeds([one, other])["mrr"]
    assert found.worst_group == "g0"
    assert found.std_seeds == pytest.approx(0)


def test_json() -> None:
    made = over_seeds([run_of([0.25, 0.5, 0.75])])["mrr"]
    assert json.loads(json.dumps(made.to_json())) == {
        "metric": "mrr",
        "mean": 0.5,
        "worst": 0.25,
        "worst_group": "g0",
        "std_groups": pytest.approx(np.std([0.25, 0.5, 0.75])),
        "std_seeds": None,
        "groups": 3,
        "seeds": 1,
    }


def test_what_can_not_be_brought_together() -> None:
    with pytest.raises(InputError, match="Argument 'runs' is empty"):
        over_seeds([])
    with pytest.raises(InputError, match="different groups: g0, g1 and g0, g1, g2. Evaluate all seeds on the same"):
        over_seeds([run_of([0.1, 0.2]), run_of([0.1, 0.2, 0.3])])
