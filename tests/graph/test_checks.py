"""Each check finds its trouble, and keeps quiet without it."""

from __future__ import annotations

import pytest

from stablerule import Dataset, check
from stablerule.graph import Finding
from tests.worlds import Fact

# Facts with nothing wrong: names of several letters, two relations with different pairs.
GOOD: list[Fact] = [(f"city{i}", "in_country", f"land{i % 3}") for i in range(20)]
GOOD += [(f"land{i}", "next_to", f"land{(i + 1) % 3}") for i in range(3)]


def found(train: list[Fact], test: list[Fact] | None = None, valid: list[Fact] | None = None) -> dict[str, Finding]:
    return {f.kind: f for f in check(Dataset.from_names("d", train=train, valid=valid or [], test=test or []))}


def test_good_data_has_no_findings() -> None:
    assert found(GOOD, test=[("city0", "in_country", "land1")]) == {}


def test_duplicates() -> None:
    finding = found([*GOOD, GOOD[0], GOOD[0]])["duplicates"]
    assert (finding.count, finding.severity) == (2, "warning")
    assert finding.example == "city0 in_country land0"


@pytest.mark.parametrize("split", ["valid", "test"])
def test_the_same_fact_in_two_splits_is_serious(split: str) -> None:
    finding = found(GOOD, **{split: [GOOD[3], ("city0", "in_country", "land1")]})["same_fact_in_two_splits"]
    assert (finding.count, finding.severity) == (1, "serious")
    assert finding.example == "city3 in_country land0"


def test_the_same_fact_in_valid_and_test_is_serious() -> None:
    fact = ("city0", "in_country", "land1")
    assert found(GOOD, valid=[fact], test=[fact])["same_fact_in_two_splits"].count == 1


def twins(count: int, told: int) -> tuple[list[Fact], list[Fact]]:
    """Wives and husbands; of `told` test facts the other direction stands in train."""
    pairs = [(f"anna{i}", f"otto{i}") for i in range(count)]
    both = [f for a, o in pairs for f in ((a, "wife_of", o), (o, "husband_of", a))]
    test = [(a, "wife_of", o) for a, o in pairs[:told]]
    return [f for f in both if f not in test], test


def test_inverse_twins_of_a_good_part_of_test_are_serious() -> None:
    finding = found(*twins(20, 10))["inverse_twins"]
    assert (finding.severity, finding.count) == ("serious", 10)
    assert "10 of 10 test facts (100.0%)" in finding.what
    assert "husband_of and wife_of" in finding.example


def test_inverse_twins_of_a_small_part_are_a_warning_and_of_none_a_note() -> None:
    train, test = twins(20, 1)
    rest = [(f"city{i}", "in_country", f"land{(i + 1) % 3}") for i in range(15)]
    assert found(train + GOOD, test + rest)["inverse_twins"].severity == "warning"
    assert found(train + test + GOOD, rest)["inverse_twins"].severity == "note"


def test_near_copies() -> None:
    train = [(f"city{i}", "lies_in", f"land{i % 3}") for i in range(20)]
    train += [(f"city{i}", "located_in", f"land{i % 3}") for i in range(18)]
    finding = found(train, test=[("city18", "located_in", "land0"), ("city19", "located_in", "land1")])["near_copies"]
    assert (finding.severity, finding.count) == ("serious", 2)
    assert "lies_in and located_in: 20 facts in common" in finding.example


def test_symmetric_relations_are_told_apart_from_twins() -> None:
    pairs = [(f"land{i}", f"land{i + 1}") for i in range(20)]
    both = [(a, "next_to", b) for a, b in pairs] + [(b, "next_to", a) for a, b in pairs]
    findings = found(both[:-2], test=both[-2:])
    assert findings["symmetric_relations"].severity == "warning"
    assert findings["symmetric_relations"].count == 2
    assert "inverse_twins" not in findings


def test_self_loops_do_not_make_relations_symmetric() -> None:
    loops = [(f"city{i}", "same_as", f"city{i}") for i in range(9)]
    findings = found(GOOD + loops)
    assert findings["self_loops"].count == 9
    assert "symmetric_relations" not in findings


def test_unseen_entities_and_relations() -> None:
    findings = found(GOOD, test=[("atlantis", "in_country", "land0"), ("city0", "sank_in", "land0")])
    assert (findings["unseen_entities"].count, findings["unseen_entities"].example) == (1, "atlantis")
    assert (findings["unseen_relations"].count, findings["unseen_relations"].example) == (1, "sank_in")
    assert findings["unseen_entities"].severity == "warning"


def test_odd_names_and_single_facts() -> None:
    findings = found([*GOOD, ("x", "in_country", " land0"), ("city1", "rare", "city2")])
    assert findings["short_names"].example == "'x'"
    assert findings["whitespace_names"].example == "' land0'"
    assert (findings["single_fact_relations"].count, findings["single_fact_relations"].example) == (1, "rare")


@pytest.mark.parametrize("other", ["cafe\u0301 noir", "caf\u00e9\u00a0noir", "caf\u00e9 noi\u200br", "caf\u00e9  noir"])
def test_names_that_look_alike(other: str) -> None:
    finding = found([*GOOD, ("caf\u00e9 noir", "in_country", "land0"), (other, "in_country", "land1")])
    assert finding["names_that_look_alike"].count == 2
    assert ascii(other) in finding["names_that_look_alike"].example
    assert finding["names_that_look_alike"].example.isascii()


def test_the_serious_come_first() -> None:
    findings = check(Dataset.from_names("d", train=[*GOOD, ("x", "loops", "x")], test=[GOOD[0]]))
    assert [f.severity for f in findings] == sorted(
        (f.severity for f in findings), key=["serious", "warning", "note"].index
    )
    assert findings[0].severity == "serious"
