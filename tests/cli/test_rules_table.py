"""The table of rules that people read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from stablerule.cli.rules import INDENT, print_rules_table, wrap_rule
from stablerule.rules import Rule, RuleSet
from tests.rules.strategies import any_rules


@given(any_rules, st.integers(12, 90))
def test_a_wrapped_rule_fits_and_loses_nothing(rule: Rule, width: int) -> None:
    lines = wrap_rule(rule, width)
    assert all(cell_len(line) <= width for line in lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", str(rule))


def test_rules_are_broken_after_an_atom() -> None:
    rule = Rule("grandparent_of", ("parent_of", "parent_of"))
    assert wrap_rule(rule, 80) == [str(rule)]
    assert wrap_rule(rule, 50) == [
        "grandparent_of(X, Y) <- parent_of(X, A),",
        f"{INDENT}parent_of(A, Y)",
    ]
    long = wrap_rule(Rule("/film/release_date_s./film/film_regional_release_date", ("r",)), 40)
    assert long[0] == "/film/release_date_s./film/"
    assert "".join(line.strip() for line in long).startswith("/film/release_date_s./film/film_regional")


def test_estimates_are_marked_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    exact = {"support": 1200, "confidence": 0.5, "base_rate": 0.1, "confidence_low": 0.5, "confidence_high": 0.5}
    sampled = exact | {"confidence_low": 0.4, "confidence_high": 0.6}
    print_rules_table(RuleSet([(Rule("r", ("s",)), exact)]), "gain")
    said = capsys.readouterr()
    assert said.out.splitlines()[1].split()[:4] == ["0.400", "0.500", "-", "1,200"]
    assert "~" not in said.out + said.err
    print_rules_table(RuleSet([(Rule("r", ("s",)), sampled)]), "gain")
    said = capsys.readouterr()
    assert said.out.splitlines()[1].split()[:4] == ["~0.300", "~0.500", "-", "~1,200"]
    assert "95% interval" in said.err


def test_held_out_facts_are_named_where_they_lower_a_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"confidence": 0.8, "pca_confidence": 0.99}
    print_rules_table(RuleSet([(Rule("r", ("s",)), numbers)]), "confidence")
    assert "held-out" in capsys.readouterr().err
    print_rules_table(RuleSet([(Rule("r", ("s",)), numbers | {"pca_confidence": 0.81})]), "confidence")
    assert "held out" not in capsys.readouterr().err
