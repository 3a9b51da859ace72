"""Conditions on figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import OptionError
from stablerule.shifts.report import FIGURES, SIGNS, Condition


@given(st.sampled_from(FIGURES), st.sampled_from(list(SIGNS)), st.floats(-5, 5), st.floats(-5, 5))
def test_a_condition_holds_as_python_says(name: str, sign: str, bound: float, value: float) -> None:
    condition = Condition.parse(f" {name} {sign}{bound!r} ", FIGURES)
    assert condition == Condition(name, sign, bound)
    assert condition.holds({name: value}) == eval(f"{value!r} {sign} {bound!r}")


def test_how_it_is_written() -> None:
    assert str(Condition.parse("worst_mrr  <= 0.30", FIGURES)) == "worst_mrr<=0.3"
    assert Condition.parse("outside>1e-2", FIGURES).bound == 0.01
    assert Condition.parse("outside>.5", FIGURES).bound == 0.5


def test_a_figure_that_could_not_be_told_holds() -> None:
    for sign in SIGNS:
        assert Condition("expected_mrr", sign, 0.5).holds({"expected_mrr": None})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "worst_mrr",
        "worst_mrr=0.3",
        "worst_mrr==0.3",
        "<0.3",
        "worst_mrr<",
        "worst_mrr<x",
        "worst_mrr<0.3.1",
        "0.3>worst_mrr",
        "worst_mrr<0.3 outside>0.1",
        "worst mrr<0.3",
        "worst_mrr<nan",
        "worst_mrr<.",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(OptionError, match="A condition must look like 'worst_mrr<0.3', got"):
        Condition.parse(text, FIGURES)


def test_a_figure_that_there_is_not() -> None:
    with pytest.raises(OptionError, match="No figure 'worst_mr' .* Figures are expected_mrr, .* Closest: 'worst_mrr'"):
        Condition.parse("worst_mr<0.3", FIGURES)
