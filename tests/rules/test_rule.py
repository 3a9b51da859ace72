from __future__ import annotations

import pickle
import re
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import OptionError, ReadError
from stablerule.rules import Rule

if TYPE_CHECKING:
    from random import Random

# Everything Unicode has, lone surrogates included, and often the characters that mean something in a rule.
characters = st.one_of(st.characters(exclude_categories=()), st.sampled_from("~'\"\\(),<- \n\t#XYA"))
names = st.text(characters, min_size=1, max_size=12)
plain_relations = names.filter(lambda name: not name.startswith("~"))
relations = st.builds("{}{}".format, st.sampled_from(["", "~"]), plain_relations)
chains = st.builds(Rule, relations, st.lists(relations, min_size=1, max_size=5).map(tuple))
with_constants = st.builds(Rule, relations, st.tuples(relations), st.tuples(names, st.one_of(st.none(), names)))
rules = st.one_of(chains, with_constants)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Rule("r", ("s",)), "r(X, Y) <- s(X, Y)"),
        (Rule("r", ("~s",)), "r(X, Y) <- s(Y, X)"),
        (Rule("~r", ("s",)), "r(Y, X) <- s(X, Y)"),
        (Rule("r", ("s", "~t")), "r(X, Y) <- s(X, A), t(Y, A)"),
        (Rule("r", ("~s", "t", "~u")), "r(X, Y) <- s(A, X), t(A, B), u(Y, B)"),
        (Rule("nationality", ("born_in",), ("France", "Paris")), "nationality(X, 'France') <- born_in(X, 'Paris')"),
        (Rule("nationality", ("born_in",), ("France", None)), "nationality(X, 'France') <- born_in(X, A)"),
        (Rule("r", ("~s",), ("c", "d")), "r(X, 'c') <- s('d', X)"),
        (Rule("~r", ("~s",), ("c", None)), "r('c', X) <- s(A, X)"),
        (Rule("born in", ("s(t)", "u,v")), "'born in'(X, Y) <- 's(t)'(X, A), 'u,v'(A, Y)"),
        (Rule("it's", ("a\\b", 'c"d')), "'it\\'s'(X, Y) <- 'a\\\\b'(X, A), 'c\"d'(A, Y)"),
        (Rule("a<-b", ("#c", "line\nbreak")), "'a<-b'(X, Y) <- '#c'(X, A), 'line\\nbreak'(A, Y)"),
        (Rule("http://a.org/r#s", ("né_à", "生于")), "http://a.org/r#s(X, Y) <- né_à(X, A), 生于(A, Y)"),
        (Rule("r", ("s",), ("a\u00a0b", "\U000e0001")), "r(X, 'a\\u00a0b') <- s(X, '\\U000e0001')"),
    ],
    ids=str,
)
def test_text_of_a_rule(rule: Rule, text: str) -> None:
    assert str(rule) == text
    assert Rule.parse(text) == rule


def test_long_bodies_do_not_run_out_of_variables() -> None:
    rule = Rule("r", ("s",) * 60)
    assert "s(W, A1), s(A1, B1)" in str(rule)
    assert Rule.parse(str(rule)) == rule


@given(rules)
def test_a_rule_is_parsed_back_from_its_text(rule: Rule) -> None:
    text = str(rule)
    assert Rule.parse(text) == rule
    assert len(text.splitlines()) == 1
    assert text.encode().decode() == text


@given(rules, rules)
def test_different_rules_have_different_texts(one: Rule, other: Rule) -> None:
    assert (one == other) == (str(one) == str(other))


@given(st.lists(rules, max_size=8), st.randoms(use_true_random=False))
def test_rules_sort_whatever_their_kind(some: list[Rule], random: Random) -> None:
    in_order = sorted(some)
    random.shuffle(some)
    assert in_order == sorted(some)
    assert all(not after < before for before, after in pairwise(in_order))


def test_order_puts_general_rules_first() -> None:
    chain, any_near, one_near = (Rule("r", ("s",), c) for c in (None, ("c", None), ("c", "d")))
    assert sorted([one_near, any_near, chain]) == [chain, any_near, one_near]
    assert chain < any_near <= one_near
    with pytest.raises(TypeError):
        assert chain < "r(X, Y) <- s(X, Y)"  # type: ignore[operator]


def test_a_rule_is_a_value() -> None:
    rule = Rule("r", ("s", "~t"))
    assert rule.length == 2
    assert {rule: 1}[Rule("r", ("s", "~t"))] == 1
    assert pickle.loads(pickle.dumps(rule)) == rule
    with pytest.raises(AttributeError):
        rule.body = ("u",)  # type: ignore[misc]


def test_spaces_and_variables_between_are_free() -> None:
    assert Rule.parse("  r( X,Y )<-s(X ,Q7),t(Y,Q7)  ") == Rule("r", ("s", "~t"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", ("s",)), "Argument 'head_relation' of Rule must be non-empty relation names, got ''."),
        ((3, ("s",)), "Argument 'head_relation' of Rule must be non-empty relation names, got 3."),
        (("~", ("s",)), "Argument 'head_relation' of Rule must be non-empty relation names, got '~'."),
        (("~~r", ("s",)), "Argument 'head_relation' of Rule must spell an inverse with one '~', got '~~r'."),
        (("r", ()), "Argument 'body' of Rule must be a tuple of at least one relation name, got ()."),
        (("r", "s"), "Argument 'body' of Rule must be a tuple of at least one relation name, got 's'."),
        (("r", ["s"]), "Argument 'body' of Rule must be a tuple of at least one relation name, got ['s']."),
        (("r", ("s", None)), "Argument 'body' of Rule must be non-empty relation names, got None."),
        (("r", ("s", "t"), ("c", "d")), "must have one relation if there are constants, got ('s', 't')."),
        (("r", ("s",), "cd"), "must be None or a pair (name, name or None) of non-empty names, got 'cd'."),
        (("r", ("s",), ["c", "d"]), "of non-empty names, got ['c', 'd']."),
        (("r", ("s",), (None, "d")), "of non-empty names, got (None, 'd')."),
        (("r", ("s",), ("c", "")), "of non-empty names, got ('c', '')."),
        (("r", ("s",), ("c",)), "of non-empty names, got ('c',)."),
    ],
)
def test_what_is_no_rule_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        Rule(*arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a relation at character 1, found ''"),
        ("r", "expected '(' at character 2"),
        ("r(X, Y)", "expected '<-' at character 8, found ''"),
        ("r(X, Y) <-", "expected a relation at character 11"),
        ("r(X, Y) <- s(X, Y) t(X, Y)", "expected ',' at character 20, found 't(X, Y)'"),
        ("r(X, Y) <- s(X, Y),", "expected a relation at character 20"),
        ("r(x, y) <- s(x, y)", "expected a variable or a quoted name at character 3, found 'x, y) <- s'"),
        ("r(X) <- s(X, Y)", "expected ',' at character 4"),
        ("r(A, B) <- s(A, B)", "expected X once in the atom r(A, B)"),
        ("r(X, A) <- s(X, A)", "expected X, and Y or a quoted name, in the head of the rule, found r(X, A)"),
        ("r(X, Y) <- s(X, A)", "expected the last atom of the body to end at Y, found A"),
        ("r(X, Y) <- s(X, A), t(B, Y)", "expected A once in the atom t(B, Y)"),
        ("r(X, Y) <- s(X, A), t(A, X)", "expected a chain of new variables from X to Y, found t(A, X)"),
        ("r(X, Y) <- s(X, Y), t(Y, A)", "expected a chain of new variables from X to Y, found t(Y, A)"),
        ("r(X, Y) <- s(X, X)", "expected X once in the atom s(X, X)"),
        ("r(X, Y) <- s(X, 'c')", "expected a chain of new variables from X to Y"),
        ("r(X, 'c') <- s(X, A), t(A, 'd')", "expected one atom in the body of a rule with a constant, found 2"),
        ("r(X, 'c') <- s('c', A)", "expected X once in the atom s('c', A)"),
        ("r(X, '') <- s(X, A)", "expected a name between the quotes"),
        ("~r(X, Y) <- s(X, Y)", "an inverse is r(Y, X)), found '~r'"),
        ("''(X, Y) <- s(X, Y)", "found ''"),
        ("r(X, 'c) <- s(X, A)", "expected a variable or a quoted name at character 6"),
        (r"r(X, '\q') <- s(X, A)", r"unknown escape '\\q' in the name '\q'"),
        (r"r(X, '\U00110000') <- s(X, A)", "unknown escape"),
    ],
)
def test_what_can_not_be_parsed_says_why(text: str, message: str) -> None:
    with pytest.raises(ReadError, match=re.escape(message)):
        Rule.parse(text)


@given(st.text(characters))
def test_any_text_is_a_rule_or_a_read_error(text: str) -> None:
    try:
        rule = Rule.parse(text)
    except ReadError:
        return
    assert Rule.parse(str(rule)) == rule


@given(rules, st.data())
def test_a_damaged_text_is_another_rule_or_a_read_error(rule: Rule, data: st.DataObject) -> None:
    text = str(rule)
    at = data.draw(st.integers(0, len(text) - 1))
    with suppress(ReadError):
        Rule.parse(text[:at] + text[at + 1 :])
