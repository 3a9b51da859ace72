"""The band of a rank, held against sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import InputError
from stablerule.evaluation import filtered_rank
from tests.evaluation.plain import plain_band

levels = st.sampled_from([-math.inf, -2.0, -0.0, 0.0, 0.1, 0.1 + 0.2, 0.3, 5.0, math.inf])
rows = st.lists(levels, min_size=1, max_size=20)


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[float], int, set[int]]:
    scores = draw(rows)
    entity = st.integers(0, len(scores) - 1)
    return scores, draw(entity), draw(st.sets(entity))


@given(questions())
def test_it_is_the_band_that_sorting_gives(question: tuple[list[float], int, set[int]]) -> None:
    scores, answer, known = question
    assert tuple(filtered_rank(scores, answer, known)) == plain_band(scores, answer, known)


@given(questions())
def test_the_forms_are_in_order_and_filtering_only_helps(question: tuple[list[float], int, set[int]]) -> None:
    scores, answer, known = question
    rank, unfiltered = filtered_rank(scores, answer, known), filtered_rank(scores, answer)
    assert 1 <= rank.best <= rank.realistic <= rank.worst <= len(scores)
    assert rank.best <= unfiltered.best
    assert rank.worst <= unfiltered.worst


@given(questions(), st.randoms())
def test_names_do_not_matter(question: tuple[list[float], int, set[int]], random: Any) -> None:
    scores, answer, known = question
    place = random.sample(range(len(scores)), len(scores))
    moved = [0.0] * len(scores)
    for entity, score in enumerate(scores):
        moved[place[entity]] = score
    assert filtered_rank(moved, place[answer], {place[e] for e in known}) == filtered_rank(scores, answer, known)


@given(st.lists(st.integers(-50, 50), min_size=1), st.integers(-1000, 1000), st.data())
def test_a_constant_added_to_all_scores_changes_nothing(scores: list[int], constant: int, data: st.DataObject) -> None:
    answer = data.draw(st.integers(0, len(scores) - 1))
    assert filtered_rank(np.array(scores) + constant, answer) == filtered_rank(np.array(scores, np.float32), answer)


@given(st.integers(1, 30), st.sampled_from([0.0, -math.inf, math.inf, 0.7]), st.data())
def test_equal_scores_give_the_middle(entities: int, score: float, data: st.DataObject) -> None:
    known = data.draw(st.sets(st.integers(1, entities))) & set(range(1, entities))
    rank = filtered_rank([score] * entities, 0, known)
    assert rank.best == 1
    assert rank.realistic == (entities - len(known) + 1) / 2


def test_large_whole_numbers_do_not_become_equal() -> None:
    assert filtered_rank(np.array([2**60, 2**60 + 1]), 0) == (2, 2)
    assert filtered_rank(np.array([True, False]), 1) == (2, 2)
    assert filtered_rank(np.array([0.5, 0.25], np.float16), 1) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([0.1, math.nan], 0, []), "has NaN for entity 1"),
        (([0.1, 0.2], 2, []), r"must be entities in 0..1, got \[2\]"),
        (([0.1, 0.2], 0, [-1]), r"must be entities in 0..1, got \[-1, 0\]"),
        (([0.1, 0.2], 0, [0.5]), "must be entities in 0..1"),
        (([0.1, 0.2], 0, ["a"]), "must be entities in 0..1"),
        (([[0.1, 0.2]], 0, []), r"one score for each entity, got shape \(1, 2\)"),
        ((["a", "b"], 0, []), "must be an array of numbers"),
        (([[1, 2], [3]], 0, []), "must be an array of numbers, got list"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        filtered_rank(*arguments)
