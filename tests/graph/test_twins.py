"""What gives test facts away, on both sides of every threshold."""

from __future__ import annotations

import pytest

from stablerule import Dataset, check
from stablerule.graph import Finding
from stablerule.graph.twins import find_twins
from tests.worlds import Fact

# Facts that have nothing to do with the others.
REST: list[Fact] = [(f"city{i}", "in_country", f"land{i}") for i in range(200)]


def facts(relation: str, start: int, stop: int, *, back: bool = False) -> list[Fact]:
    pairs = [(f"anna{i}", f"otto{i}") for i in range(start, stop)]
    return [(o, relation, a) if back else (a, relation, o) for a, o in pairs]


def found(train: list[Fact], test: list[Fact]) -> dict[str, Finding]:
    return {f.kind: f for f in check(Dataset.from_names("d", train=train, test=test))}


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(("shared", "are_twins"), [(80, True), (79, False)])
def test_four_fifths_of_both_make_twins(shared: int, are_twins: bool, back: bool) -> None:
    """A hundred facts of each relation, so many of them about the same pair."""
    kind = "inverse_twins" if back else "near_copies"
    other = facts("other", 100 - shared, 200 - shared, back=back)
    assert (kind in found([*facts("one", 0, 100), *other], [])) is are_twins
    # A relation with many more facts says more than the other.
    assert kind not in found([*facts("one", 0, 400), *other], [])


@pytest.mark.parametrize(("count", "are_twins"), [(5, True), (4, False)])
def test_five_facts_are_evidence(count: int, are_twins: bool) -> None:
    train = [*facts("one", 0, count), *facts("other", 0, count, back=True)]
    assert ("inverse_twins" in found(train, REST)) is are_twins


@pytest.mark.parametrize(("others", "severity"), [(9, "serious"), (10, "warning")])
def test_a_tenth_of_test_is_serious(others: int, severity: str) -> None:
    train = [*facts("one", 1, 10), *facts("other", 0, 10, back=True), *REST[others:]]
    assert found(train, [*facts("one", 0, 1), *REST[:others]])["inverse_twins"].severity == severity


def small_couples(count: int, size: int = 4) -> tuple[list[Fact], list[Fact]]:
    """Many couples of twins with few facts each; one fact of each is in test."""
    train: list[Fact] = []
    test: list[Fact] = []
    for i in range(count):
        pairs = [(f"anna{i}.{j}", f"otto{i}.{j}") for j in range(size)]
        one = [(a, f"wife{i}", o) for a, o in pairs]
        train += [*one[1:], *((o, f"husband{i}", a) for a, o in pairs)]
        test += one[:1]
    return train, test


def test_many_couples_with_few_facts_come_together() -> None:
    train, test = small_couples(25)
    finding = found(train, test)["inverse_twins"]
    assert (finding.severity, finding.count) == ("serious", 25)
    assert "25 pairs" in finding.what
    # Below a tenth of test they may be chance, and so may couples with one fact each.
    assert "inverse_twins" not in found(train, [*test[:10], *REST[:91]])
    assert "inverse_twins" in found(train, [*test[:10], *REST[:90]])
    single, of_single = small_couples(25, size=1)
    assert "inverse_twins" not in found([*single, *((f"x{i}", f"wife{i}", f"y{i}") for i in range(25))], of_single)


def placed(in_train: int, in_test: int = 10, others: int = 0) -> tuple[list[Fact], list[Fact]]:
    """A relation with 100 facts in train, so many of them told by another one as well, and in test all or some."""
    told = [*facts("one_inv", 0, in_train, back=True), *facts("one_inv", 100, 100 + in_test, back=True)]
    return [*facts("one", 0, 100), *told], facts("one", 100, 100 + in_test + others)


def test_a_split_that_puts_what_is_told_into_test() -> None:
    train, test = placed(in_train=5)
    finding = found(train, test)["inverse_twins"]
    assert (finding.severity, finding.count) == ("serious", 10)
    assert "one and one_inv: 15 facts in both directions" in finding.example


@pytest.mark.parametrize(
    ("arguments", "is_leak"),
    [
        ({"in_train": 50}, True),
        ({"in_train": 51}, False),  # then it is how this relation is, in test as in train
        ({"in_train": 0, "in_test": 8, "others": 2}, True),
        ({"in_train": 0, "in_test": 7, "others": 3}, False),
        ({"in_train": 0, "in_test": 5}, True),
    ],
)
def test_test_is_compared_with_train(arguments: dict[str, int], is_leak: bool) -> None:
    assert ("inverse_twins" in found(*placed(**arguments))) is is_leak


def test_few_placed_facts_count_only_as_a_good_part_of_test() -> None:
    train, test = placed(in_train=0, in_test=4)
    assert "inverse_twins" not in found([*train, *REST[50:]], [*test, *REST[:37]])
    assert found([*train, *REST[50:]], [*test, *REST[:36]])["inverse_twins"].severity == "serious"


def test_a_relation_that_implies_another_is_no_leak() -> None:
    """Every capital lies in its country, and few cities are capitals."""
    inside = facts("lies_in", 0, 100)
    assert "near_copies" not in found([*inside, *facts("capital_of", 0, 20)], facts("capital_of", 20, 30))


def test_facts_turned_round_into_test_are_no_symmetric_relation() -> None:
    findings = found(facts("one", 0, 100), facts("one", 0, 10, back=True))
    assert findings["inverse_twins"].severity == "serious"
    assert "symmetric_relations" not in findings


def test_self_loops_are_no_evidence() -> None:
    loops = [(f"anna{i}", "same", f"anna{i}") for i in range(20)]
    others = [(a, "other", b) for a, _, b in loops]
    twins = find_twins(Dataset.from_names("d", train=[*others, *loops[10:]], test=loops[:10]))
    assert [(len(t.couples), len(t.given_away)) for t in twins.values()] == [(0, 0)] * 3
