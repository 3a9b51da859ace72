"""Splits at random and by time, and what all kinds refuse."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from stablerule import Dataset, Triples, check, load, read_dataset
from stablerule.errors import InputError, OptionError
from stablerule.shifts.splits import Split, split_by_time, split_inductive, split_random, split_test_side
from stablerule.shifts.splits.saving import count_lost_facts
from tests.worlds import Fact, fact_lists

COLUMNS = {"head": 0, "relation": 1, "tail": 2, "time": 3}
KINDS: list[Callable[..., Split]] = [split_random, split_inductive, split_by_time]


def names(dataset: Dataset, split: str) -> list[Fact]:
    return [(h, r, t) for h, r, t, *_ in dataset.frame(split).rows()]


def everything(split: Split) -> list[Fact]:
    return [fact for part in split.parts.values() for name in part.splits for fact in names(part, name)]


def events(*rows: tuple[str, str, str, Any]) -> Dataset:
    return read_dataset(list(rows), columns=COLUMNS, name="events")


def yearly(*years: int) -> Dataset:
    """One fact a year, each about an entity of its own."""
    return events(*((f"e{i}", "in", "x", year) for i, year in enumerate(years)))


@given(fact_lists, fact_lists, st.integers(0, 5), st.sampled_from([(0.6, 0.2, 0.2), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0)]))
def test_every_fact_is_dealt_out_once(
    train: list[Fact], test: list[Fact], seed: int, shares: tuple[float, float, float]
) -> None:
    source = Dataset.from_names("g", train=train, test=test)
    try:
        split = split_random(source, shares, seed=seed)
    except InputError:  # too few facts
        reject()
    assert sorted(everything(split)) == sorted({*train, *test})
    assert len(everything(split)) + count_lost_facts(split.manifest) == len(train) + len(test)
    assert split.dataset.sha256 == split_random(source, shares, seed=seed).dataset.sha256
    assert split.dataset.sha256 == split.manifest["parts"]["."]["sha256"]


def test_the_manifest_says_from_what_and_how() -> None:
    source = load("geography")
    manifest = split_random(source, (0.6, 0.2, 0.2), seed=3).manifest
    assert manifest["kind"] == "random"
    assert manifest["seed"] == 3
    assert manifest["parameters"] == {"shares": (0.6, 0.2, 0.2)}
    assert manifest["source"]["name"] == "geography"
    assert manifest["source"]["sha256"] == source.sha256
    assert manifest["stablerule"].startswith("0.")
    assert manifest["parts"]["."]["train"] == 8061
    assert manifest["lost"] == {"facts": {}, "entities": 0, "relations": []}
    other = split_random(source, (0.6, 0.2, 0.2), seed=4).manifest
    assert other["parts"]["."]["sha256"] != manifest["parts"]["."]["sha256"]


def test_repeated_facts_are_counted_as_lost_by_relation() -> None:
    facts = [(f"e{i}", "r", f"e{j}") for i in range(5) for j in range(5)]
    source = Dataset.from_names("g", train=facts, test=[("e0", "r", "e1"), ("e0", "r", "e1")])
    split = split_random(source)
    assert split.manifest["lost"]["facts"] == {"repeated": {"facts": 2, "relations": {"r": 2}}}
    assert "2 facts lost" in repr(split)


def test_too_few_facts_are_refused() -> None:
    with pytest.raises(InputError, match=r"'pair' has too few facts \(2\) for a valid split"):
        split_random(Dataset.from_names("pair", train=[("a", "r", "b"), ("b", "r", "a")]))
    with pytest.raises(InputError, match="has 2 different times for 3 parts"):
        split_by_time(yearly(1990, 1991))
    with pytest.raises(InputError, match=r"too few entities \(3\) for a valid part with a share of 0.1"):
        split_inductive(Dataset.from_names("g", train=[("a", "r", "b"), ("b", "r", "c")]))


@pytest.mark.parametrize(
    "shares", [(0.8, 0.3, 0.1), (0.8, 0.2), (1.2, -0.1, -0.1), "0.8,0.1,0.1", 0.8, (0.8, 0.2, None)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_shares_that_do_not_add_up_are_refused(kind: Callable[..., Split], shares: Any) -> None:
    with pytest.raises(OptionError, match="'shares' must be three shares for train, valid and test that add up to 1"):
        kind(yearly(*range(20)), shares)


def test_shares_must_leave_something_for_what_is_needed() -> None:
    for kind in KINDS:
        with pytest.raises(OptionError, match="must be above 0 for train"):
            kind(yearly(*range(20)), (0, 0.5, 0.5))
    with pytest.raises(OptionError, match="must be above 0 for test"):
        split_inductive(yearly(*range(20)), (0.5, 0.5, 0))


@pytest.mark.parametrize("seed", [-1, 1.5, None, True, "0"])
def test_seeds_that_are_none(seed: Any) -> None:
    for kind in (split_random, split_inductive):
        with pytest.raises(OptionError, match="'seed' must be a whole number of at least 0"):
            kind(load("geography"), seed=seed)


def test_only_a_dataset_is_split() -> None:
    no_groups: Callable[..., Split] = partial(split_test_side, groups=[])
    for kind in (*KINDS, no_groups):
        with pytest.raises(InputError, match="A Dataset was expected, got str"):
            kind("geography")


# By time.


@given(st.lists(st.integers(0, 12), min_size=3, max_size=40), st.sampled_from([(0.6, 0.2, 0.2), (0.7, 0, 0.3)]))
def test_no_part_is_older_than_the_one_before(years: list[int], shares: tuple[float, float, float]) -> None:
    source = yearly(*years)
    if len(set(years)) < 2 + (shares[1] > 0):
        with pytest.raises(InputError, match="different times"):
            split_by_time(source, shares)
        return
    split = split_by_time(source, shares)
    parts = [part.time for part in split.dataset.splits.values() if part.time is not None and len(part)]
    assert len(parts) == 2 + (shares[1] > 0)
    for before, after in pairwise(parts):
        assert before.max() < after.min()
    assert sorted(everything(split)) == sorted(names(source, "train"))


def test_facts_of_the_same_time_stay_together() -> None:
    split = split_by_time(yearly(1, 2, 3, 4, 4, 4, 4, 4, 4, 9), (0.5, 0.0, 0.5))
    assert [len(part) for part in split.dataset.splits.values()] == [3, 0, 7]
    assert split.manifest["found"]["times"] == {"train": [1, 3], "test": [4, 9]}
    split = split_by_time(yearly(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
    assert [len(part) for part in split.dataset.splits.values()] == [8, 1, 1]


def test_a_fact_counts_from_its_first_time_on() -> None:
    source = events(("a", "r", "b", 9), ("a", "r", "c", 5), ("a", "r", "b", 1), ("a", "r", "d", 8))
    split = split_by_time(source, (0.6, 0.0, 0.4))
    assert names(split.dataset, "train") == [("a", "r", "b"), ("a", "r", "c")]
    assert names(split.dataset, "test") == [("a", "r", "d")]
    assert split.dataset.train.time is not None
    assert split.dataset.train.time.tolist() == [1, 5]
    assert split.manifest["lost"]["facts"]["repeated"]["facts"] == 1
    assert not [finding for finding in check(split.dataset) if finding.severity == "serious"]


def test_all_splits_of_the_source_are_dealt_out() -> None:
    frame = yearly(5, 6, 1, 2, 3, 4).frame("train")
    frames = {"train": frame[:2], "valid": frame[2:4], "test": frame[4:]}
    source = read_dataset(frames)
    split = split_by_time(source, (0.5, 0.0, 0.5))
    assert split.manifest["found"]["times"] == {"train": [1, 3], "test": [4, 6]}


@pytest.mark.parametrize(
    "cuts", [("2001-01-01", "2002"), (datetime.date(2001, 1, 1), datetime.date(2002, 1, 1)), ("2000-12", "2002-01")]
)
def test_cuts_may_be_dates(cuts: tuple[Any, Any]) -> None:
    days = ["2000-05-01", "2000-11-30", "2001-01-01", "2001-12-31", "2002-01-01"]
    source = events(*((f"e{i}", "in", "x", day) for i, day in enumerate(days)))
    split = split_by_time(source, cuts=cuts)
    assert [len(part) for part in split.dataset.splits.values()] == [2, 2, 1]
    assert split.manifest["found"]["times"]["train"] == ["2000-05-01", "2000-11-30"]
    assert split.manifest["parameters"] == {"cuts": list(map(str, cuts))}
    assert split.manifest["seed"] is None


def test_cuts_that_make_no_sense() -> None:
    source = yearly(1990, 1995, 2000)
    for cuts, problem in (
        ((1995, 1990), "must be in order, got"),
        ((1995,), "must be two times"),
        (1995, "must be two times"),
        (("x", "y"), "must be whole numbers, like the times of the facts, got 'x'"),
        ((1995.5, 2000), "must be whole numbers"),
        ((True, 2000), "must be whole numbers"),
    ):
        with pytest.raises(OptionError, match=problem):
            split_by_time(source, cuts=cuts)  # type: ignore[arg-type]
    for cuts, problem in (
        ((1980, 1995), "train would have no facts. The times go from 1990 to 2000"),
        ((1995, 2001), "test would have no facts"),
        ((1991, 1993), "valid would have no facts"),
    ):
        with pytest.raises(InputError, match=problem):
            split_by_time(source, cuts=cuts)
    with pytest.raises(OptionError, match="Leave one of them out"):
        split_by_time(source, (0.8, 0.1, 0.1), cuts=(1995, 2000))
    dates = events(("a", "r", "b", "2000-01-01"), ("a", "r", "c", "2001-01-01"))
    for bad in ("May", "NaT", 2000):
        with pytest.raises(OptionError, match="must be dates such as 2024-05-31"):
            split_by_time(dates, cuts=(bad, bad))


def test_what_train_has_not_seen_is_counted_and_kept() -> None:
    source = events(("a", "r", "b", 1), ("b", "r", "a", 2), ("a", "s", "b", 3), ("new", "r", "newer", 4))
    split = split_by_time(source, cuts=(3, 4))
    assert split.manifest["found"]["unseen"] == {
        "valid": {"facts": 1, "entities": 0, "relations": 1},
        "test": {"facts": 1, "entities": 2, "relations": 0},
    }
    assert any(
        "1 of the 1 test facts have an entity or a relation that is not in train (2 entities" in note
        for note in split.manifest["notes"]
    )
    assert len(everything(split)) == 4


def test_facts_without_times_are_refused() -> None:
    with pytest.raises(
        InputError, match="'geography' has no times in train, valid, test, so it can't be split by time"
    ):
        split_by_time(load("geography"))
    timed = {"train": yearly(1, 2, 3).frame("train"), "test": [("a", "r", "b")]}
    with pytest.raises(InputError, match="has no times in test,"):
        split_by_time(read_dataset(timed))
    source = yearly(1, 2)
    unknown = Triples(source.train.rows, time=np.array(["2000-01-01", "NaT"], "datetime64[D]"))
    with pytest.raises(InputError, match="has 1 facts without a time"):
        split_by_time(Dataset("g", source.vocabulary, unknown, Triples.empty(), Triples.empty()))
    mixed = Triples(source.train.rows, time=np.array(["2000-01-01", "2001-01-01"], "datetime64[D]"))
    with pytest.raises(InputError, match="has both numbers and dates as times"):
        split_by_time(Dataset("g", source.vocabulary, source.train, mixed, Triples.empty()))


def test_a_split_of_several_datasets_has_no_single_one() -> None:
    with pytest.raises(InputError, match="inductive split has several datasets. Pass one of 'train', 'valid', 'test'"):
        _ = split_inductive(load("geography")).dataset
