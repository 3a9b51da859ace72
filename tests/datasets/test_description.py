"""What `describe` says, counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stablerule import Dataset, describe


def test_a_small_graph_counted_by_hand() -> None:
    dataset = Dataset.from_names(
        "streets",
        train=[("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d"), ("a", "r", "e")],
        test=[("a", "s", "b"), ("a", "s", "c"), ("a", "s", "d"), ("e", "s", "d"), ("a", "s", "x")],
    )
    found = describe(dataset, relations=1)
    assert (found.entities, found.relations) == (6, 2)
    assert found.facts == {"train": 4, "valid": 0, "test": 5}
    assert found.frequent_relations == [("r", 3)]
    assert vars(found.kinds) == {"one_valued": [], "one_to_one": [], "symmetric": []}  # too few to prove anything
    assert (found.degrees.highest, found.degrees.highest_entity, found.degrees.without_facts) == (2, "a", 1)
    assert found.degrees.mean == pytest.approx(8 / 6)
    assert found.reach is not None
    assert found.reach.within == {1: 0.2, 2: 0.4, 3: 0.6}
    assert found.graph_bytes == dataset.graph.nbytes
    assert json.loads(json.dumps(found.to_dict()))["sha256"] == dataset.sha256


def test_how_far_it_is_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float, float]] = []

    @contextmanager
    def bar(what: str, total: float) -> Iterator[Callable[[float], None]]:
        done: list[float] = []
        yield done.append
        seen.append((what, total, sum(done)))

    monkeypatch.setattr("stablerule.datasets.description.progress_bar", bar)
    describe(Dataset.from_names("x", train=[("a", "r", "b")], test=[("a", "r", "c"), ("b", "r", "c")]))
    assert seen == [("measuring reach", 2, 2)]


def test_reach_is_measured_on_valid_where_there_is_no_test() -> None:
    facts = [("a", "r", "b"), ("b", "r", "c")]
    reach = describe(Dataset.from_names("x", train=facts, valid=[("a", "r", "c")])).reach
    assert reach is not None
    assert (reach.split, reach.within[2]) == ("valid", 1.0)
    assert describe(Dataset.from_names("x", train=facts)).reach is None
