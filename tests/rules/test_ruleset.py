from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import OptionError, ReadError
from stablerule.graph import invert_relation_name
from stablerule.rules import Rule, RuleSet, ScoredRule
from stablerule.rules.scored import NUMBERS, SCHEMA, spell_rule_number
from tests.rules.strategies import any_rules, few_rules, rule_sets, scored_rules, small_sets

CHAIN = Rule("r", ("s", "~t"))
SHORT = Rule("r", ("s",))
FIXED = Rule("~r", ("s",), ("c", None))


def key(scored: ScoredRule, by: str) -> tuple[bool, float, Rule]:
    """Unknown ones last, large ones first, then the rule."""
    value = getattr(scored, by)
    return value is None, -(value or 0.0), scored.rule


def number_of(rules: RuleSet) -> str:
    return "score" if any(scored.score is not None for scored in rules) else "confidence"


@given(scored_rules(any_rules))
def test_what_goes_in_comes_out_in_order(entries: list[ScoredRule]) -> None:
    rules = RuleSet(entries)
    by = number_of(rules)
    assert len(rules) == len(entries)
    assert {scored.rule: scored for scored in rules}.keys() == {entry.rule for entry in entries}
    assert list(rules) == sorted(rules, key=lambda scored: (scored.rule.head_relation, *key(scored, by)))
    for entry in entries:
        found = next(scored for scored in rules if scored.rule == entry.rule)
        assert replace(found, confidence=None) == replace(entry, confidence=None)
        assert entry.rule in rules
    assert RuleSet.from_frame(rules.to_frame()) == rules
    assert RuleSet(rules) == rules


@given(scored_rules(any_rules))
def test_confidence_follows_from_the_counts_unless_it_is_given(entries: list[ScoredRule]) -> None:
    given_one = {entry.rule: entry for entry in entries}
    for scored in RuleSet(entries):
        entry = given_one[scored.rule]
        if entry.confidence is not None or entry.support is None or entry.body_count is None:
            assert scored.confidence == entry.confidence
        else:
            assert scored.confidence == entry.support / (entry.body_count + 5)


@given(
    small_sets,
    st.one_of(st.none(), st.sampled_from(["r", "~s", "t"]), st.lists(st.sampled_from(["r", "~r", "s"]))),
    st.sampled_from([None, "r", "~s"]),
    st.one_of(st.none(), st.floats(0, 1)),
    st.one_of(st.none(), st.floats(0, 100)),
    st.one_of(st.none(), st.integers(1, 4)),
    st.sampled_from([None, "chains", "constants"]),
)
def test_filter_against_plain_python(
    rules: RuleSet,
    relation: Any,
    step: str | None,
    least: float | None,
    support: float | None,
    length: int | None,
    kind: Any,
) -> None:
    found = rules.filter(
        head_relation=relation,
        body_relation=step,
        min_score=least,
        min_confidence=least,
        min_support=support,
        max_length=length,
        kind=kind,
    )
    wanted = [relation] if isinstance(relation, str) else relation

    def fits(scored: ScoredRule) -> bool:
        reaches = [
            bound is None or (value is not None and value >= bound)
            for value, bound in ((scored.score, least), (scored.confidence, least), (scored.support, support))
        ]
        return (
            all(reaches)
            and (wanted is None or scored.rule.head_relation in wanted)
            and (step is None or not {step, invert_relation_name(step)}.isdisjoint(scored.rule.body))
            and (length is None or scored.rule.length <= length)
            and (kind is None or (scored.rule.constants is None) == (kind == "chains"))
        )

    assert list(found) == [scored for scored in rules if fits(scored)]


@given(small_sets, st.sampled_from(NUMBERS), st.integers(0, 5))
def test_sort_and_top_against_plain_python(rules: RuleSet, by: str, k: int) -> None:
    best = sorted(rules, key=lambda scored: key(scored, by))
    assert list(rules.sort(by)) == best
    assert list(rules.top(k, by)) == best[:k]
    assert list(rules.top(k)) == sorted(rules, key=lambda scored: key(scored, number_of(rules)))[:k]
    for_each = {relation: [s for s in best if s.rule.head_relation == relation][:k] for relation in rules.relations}
    assert list(rules.top_per_relation(k, by)) == [scored for some in for_each.values() for scored in some]
    upwards = [s for s in best if getattr(s, by) is not None]
    upwards.sort(key=lambda scored: (getattr(scored, by), scored.rule))
    assert list(rules.sort(by, descending=False)) == upwards + [s for s in best if getattr(s, by) is None]


@given(small_sets)
def test_per_relation_holds_every_rule_once(rules: RuleSet) -> None:
    parts = rules.per_relation()
    assert tuple(parts) == rules.relations == tuple(sorted({scored.rule.head_relation for scored in rules}))
    assert [scored for part in parts.values() for scored in part] == list(rules)


@pytest.mark.slow
@given(small_sets, small_sets)
def test_union_and_diff_against_plain_python(one: RuleSet, other: RuleSet) -> None:
    ours, theirs = ({scored.rule: scored for scored in rules} for rules in (one, other))
    assert one.union(other) == RuleSet((theirs | ours).values())
    diff = one.diff(other, by="support")
    assert diff.only_this == RuleSet(scored for rule, scored in ours.items() if rule not in theirs)
    assert diff.only_that == RuleSet(scored for rule, scored in theirs.items() if rule not in ours)
    assert len(diff.both) == len(ours.keys() & theirs.keys())
    for row in diff.both.iter_rows(named=True):
        constants = row["constant"] and (row["constant"], row["body_constant"])
        rule = Rule(row["head_relation"], tuple(row["body"]), constants)
        before, after = ours[rule].support, theirs[rule].support
        assert (row["this"], row["that"]) == (before, after)
        assert row["change"] == (None if before is None or after is None else after - before)


@pytest.mark.slow
@given(small_sets)
def test_laws(rules: RuleSet) -> None:
    assert rules == rules.sort("support") == rules.union(rules) == rules.union(RuleSet())
    assert rules == RuleSet().union(rules) == rules.top(len(rules)) == rules.filter()
    assert rules.filter(kind="chains").union(rules.filter(kind="constants")) == rules
    assert not len(rules.diff(rules).only_this)
    assert set(rules.diff(rules).both["change"]) <= {0.0, None}


@given(rule_sets, few_rules)
def test_membership(rules: RuleSet, rule: Rule) -> None:
    assert (rule in rules) == any(scored.rule == rule for scored in rules)
    assert rules.find(rule) == next((scored for scored in rules if scored.rule == rule), None)
    assert str(rule) not in rules


def test_numbers_in_plain_sight() -> None:
    rules = RuleSet([(CHAIN, {"score": 0.75, "support": 3, "body_count": 7}), ScoredRule(SHORT), FIXED])
    assert repr(rules) == "RuleSet(3 rules for 2 relations)"
    assert rules.describe() == "3 rules for 2 relations: 2 of length 1, 1 of length 2; 1 with constants"
    assert RuleSet().describe() == "0 rules for 0 relations"
    assert str(rules[0]) == "r(X, Y) <- s(X, A), t(Y, A)  score=0.75 support=3 body_count=7 confidence=0.25"
    assert str(rules[-1]) == "r('c', X) <- s(X, A)"
    assert rules[0].numbers == {"score": 0.75, "support": 3.0, "body_count": 7.0, "confidence": 0.25}
    assert rules.to_frame().schema == pl.Schema(SCHEMA)
    with pytest.raises(IndexError, match="no rule at 3: there are 3"):
        rules[3]
    with pytest.raises(TypeError):
        hash(rules)
    assert rules != list(rules)


def test_numbers_of_numpy_are_numbers() -> None:
    numbers: Any = {"support": np.int64(3), "score": np.float32(0.5)}
    assert RuleSet([(CHAIN, numbers)]) == RuleSet([(CHAIN, {"support": 3, "score": 0.5})])


def test_gain_is_what_a_rule_adds_to_its_base_rate() -> None:
    sure = ScoredRule(CHAIN, confidence=0.9, base_rate=0.85)
    adds = ScoredRule(SHORT, confidence=0.6, base_rate=0.125, confidence_low=0.5, confidence_high=0.75)
    bare = ScoredRule(FIXED, confidence=0.99)
    rules = RuleSet([sure, adds, bare])
    assert [scored.rule for scored in rules.sort("gain")] == [SHORT, CHAIN, FIXED]
    assert adds.gain == 0.375
    assert bare.gain is None
    assert rules.top_per_relation(1, by="gain").relations == ("r", "~r")
    assert list(rules.sort("gain").to_frame().columns) == list(SCHEMA)
    assert rules.has("gain")
    assert not RuleSet([bare]).has("gain")
    assert not rules.has("support")
    assert rules.diff(RuleSet([sure]), by="gain").both["change"].to_list() == [0]
    assert (adds.is_estimate, sure.is_estimate) == (True, False)


def test_of_twins_the_shortest_is_kept() -> None:
    counts = {"support": 3, "body_count": 4}
    other = Rule("q", ("s",))
    rules = RuleSet([(CHAIN, counts), (SHORT, counts), (FIXED, counts), (other, counts), (Rule("r", ("t",)), {})])
    assert {scored.rule for scored in rules.drop_twins()} == {SHORT, FIXED, other, Rule("r", ("t",))}
    bare = RuleSet([CHAIN, SHORT])
    assert bare.drop_twins() == bare


def test_a_notebook_shows_the_first_rules() -> None:
    named = Rule("<b>r</b>", ("s",))
    html = RuleSet([ScoredRule(named, support=3, score=0.5)])._repr_html_()
    assert "&lt;b&gt;r&lt;/b&gt;(X, Y) &lt;- s(X, Y)" in html
    assert "<b>" not in html
    assert "<td>3</td>" in html
    assert "more" not in html
    assert "and 2 more" in RuleSet([Rule("r", (f"s{i}",)) for i in range(12)])._repr_html_()


def test_a_number_that_older_versions_wrote_is_left_out() -> None:
    frame = RuleSet([SHORT]).to_frame().drop("base_rate", "confidence_low", "confidence_high")
    old = RuleSet.from_frame(frame.with_columns(confidence=0.5, confidence_error=0.0))
    assert old[0] == ScoredRule(SHORT, confidence=0.5)


def test_diff_says_it_in_one_line() -> None:
    one = RuleSet([(CHAIN, {"score": 0.5}), SHORT, FIXED])
    other = RuleSet([(CHAIN, {"score": 0.25}), SHORT])
    assert str(one.diff(other)) == "1 only in this, 0 only in that, 2 in both; score changed for 1, by at most 0.25"
    assert str(one.diff(one)) == "0 only in this, 0 only in that, 3 in both; score changed for 0"


def test_a_returned_frame_is_not_the_set() -> None:
    rules = RuleSet([CHAIN])
    frame = rules.to_frame()
    frame[0, "head_relation"] = "other"
    assert rules == RuleSet([CHAIN])


def test_a_name_that_no_table_holds() -> None:
    rule = Rule("\ud800", ("s",))
    assert rule not in RuleSet([CHAIN])
    with pytest.raises(OptionError, match="a name in column 'head_relation' is not valid Unicode"):
        RuleSet([rule])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([CHAIN, CHAIN], "row 2: this rule is repeated: r(X, Y) <- s(X, A), t(Y, A). Keep one."),
        ([("r", {})], "must be Rule, ScoredRule or (Rule, measures), got ('r', {})"),
        ([(CHAIN, {"lift": 1.0})], "Measures of a rule are score, support, body_count,"),
        ([(CHAIN, {"score": math.nan})], "row 1: score must be a number, or null if unknown, got nan."),
        ([(CHAIN, {"support": -1})], "row 1: support must be a number of at least 0, or null"),
        ([(CHAIN, {"support": "many"})], "column 'support' must have numbers"),
        ([(CHAIN, {"support": True})], "column 'support' must have numbers"),
    ],
)
def test_what_is_no_set_is_refused(entries: list[Any], message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        RuleSet(entries)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"head_relation": ["r"]}, "found no column 'body'"),
        ({"body": [["s"]]}, "found no column 'head_relation'"),
        ({"head_relation": ["r"], "body": [["s"]], "lift": [1.0]}, "found an unknown column 'lift'"),
        ({"head_relation": ["r"], "body": ["s"]}, "column 'body' must have lists of relation names, found String"),
        ({"head_relation": ["r"], "body": [[1]]}, "column 'body' must have lists of relation names, found List(Int64)"),
        ({"head_relation": [1], "body": [["s"]]}, "column 'head_relation' must have names, found Int64"),
        ({"head_relation": ["r"], "body": [["s"]], "score": ["1"]}, "column 'score' must have numbers, found String"),
        ({"head_relation": ["r", None], "body": [["s"], ["s"]]}, "row 2 is not a rule. Argument 'head_relation'"),
        ({"head_relation": ["r", "r"], "body": [["s"], []]}, "row 2 is not a rule. Argument 'body' of Rule must be"),
        ({"head_relation": ["r", "r"], "body": [["s"], None]}, "row 2 is not a rule. Argument 'body' of Rule must be"),
        (
            {"head_relation": ["r"], "body": [["s", ""]]},
            "row 1 is not a rule. Argument 'body' of Rule must be non-empty",
        ),
        ({"head_relation": ["r"], "body": [["s", None]]}, "row 1 is not a rule. Argument 'body'"),
        ({"head_relation": ["~~r"], "body": [["s"]]}, "must spell an inverse with one '~', got '~~r'"),
        ({"head_relation": ["r"], "body": [["s"]], "body_constant": ["d"]}, "got (None, 'd')"),
        ({"head_relation": ["r"], "body": [["s"]], "constant": [""]}, "got ('', None)"),
        ({"head_relation": ["r"], "body": [["s", "t"]], "constant": ["c"]}, "must have one relation if there are"),
        ({"head_relation": ["r"], "body": [["s"]], "score": [math.inf]}, "row 1: score must be a number, or null"),
        ({"head_relation": ["r", "r"], "body": [["s"], ["s"]]}, "row 2: this rule is repeated"),
    ],
)
def test_what_is_no_frame_of_rules_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ReadError, match=re.escape(message)):
        RuleSet.from_frame(pl.DataFrame(columns))


def test_a_frame_needs_only_the_rules_and_takes_whole_numbers() -> None:
    frame = pl.DataFrame(
        {
            "support": [3],
            "body": pl.Series([["s"]], dtype=pl.List(pl.Categorical)),
            "head_relation": pl.Series(["r"], dtype=pl.Categorical),
            "constant": [None],
        }
    )
    assert RuleSet.from_frame(frame) == RuleSet([(SHORT, {"support": 3})])
    assert RuleSet.from_frame(frame.clear()) == RuleSet()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rules: rules.sort("lift"), "Argument 'by' must be one of score, support,"),
        (lambda rules: rules.top(-1), "Argument 'k' must be 0 or more, got -1."),
        (lambda rules: rules.top_per_relation(3, by="name"), "Argument 'by' must be one of"),
        (lambda rules: rules.filter(kind="cyclic"), "Argument 'kind' of filter must be 'chains' or 'constants'"),
        (lambda rules: rules.diff(rules, by="rule"), "Argument 'by' must be one of"),
    ],
)
def test_options_that_make_no_sense(call: Any, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        call(RuleSet([CHAIN]))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_so_that_it_comes_back(number: float) -> None:
    assert float(spell_rule_number(number)) == number
