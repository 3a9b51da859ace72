from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule.datasets.worlds.households import BASE, MIRRORS, households
from stablerule.datasets.worlds.making import Fact, World, WorldFacts, drop_world_facts, make_wrong_facts
from stablerule.datasets.worlds.newsroom import RULES, newsroom
from stablerule.errors import OptionError
from stablerule.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.graph import Dataset

Pair = tuple[str, str]

shares = st.floats(0, 1)
newsrooms = st.fixed_dictionaries(
    {
        "people": st.integers(5, 40),
        "employers": st.integers(2, 5),
        "train_mix": shares,
        "test_mix": shares,
        "density": st.floats(0, 4),
        "test_density": st.none() | st.floats(0, 4),
        "spurious": shares,
        "valid": st.floats(0, 0.4),
        "test": st.floats(0, 0.4),
        "group_by": st.sampled_from(["pathway", "density"]),
        "seed": st.integers(0, 2**32),
    }
)
families = st.fixed_dictionaries(
    {
        "families": st.integers(1, 4),
        "test_families": st.integers(1, 3),
        "generations": st.integers(2, 4),
        "children": st.floats(1, 3),
        "test_children": st.none() | st.floats(1, 3),
        "marrying": shares,
        "valid": shares,
        "test": shares,
        "group_by": st.sampled_from(["pathway", "density"]),
        "seed": st.integers(0, 2**32),
    }
)
damage = st.fixed_dictionaries({"missing": shares, "noise": shares})
few = settings(max_examples=40, deadline=None)


def facts_of(dataset: Dataset) -> WorldFacts:
    return WorldFacts(*(dataset.frame(split).rows() for split in dataset.splits))


def follow(rule: Rule, facts: Iterable[Fact]) -> set[Pair]:
    """All (X, Y) that a rule gives when the entities along the path are distinct."""
    steps: defaultdict[Pair, set[str]] = defaultdict(set)
    for head, relation, tail in facts:
        steps[head, relation].add(tail)
        steps[tail, f"~{relation}"].add(head)
    paths: set[tuple[str, ...]] = {(entity,) for entity, _ in steps}
    for relation in rule.body:
        paths = {(*p, to) for p in paths for to in steps.get((p[-1], relation), ()) if to not in p}
    return {(path[0], path[-1]) for path in paths}


def pairs_of(relation: str, facts: Iterable[Fact]) -> set[Pair]:
    return {(head, tail) for head, r, tail in facts if r == relation}


def check_exact(world: World, given_relations: Iterable[str]) -> None:
    """What a rule gives is a fact, and each fact of a derived relation is given by a rule."""
    everything = [fact for part in facts_of(world.dataset) for fact in part]
    derived: defaultdict[str, set[Pair]] = defaultdict(set)
    for rule in world.rules:
        found = follow(rule, everything)
        assert found <= pairs_of(rule.head_relation, everything), rule
        derived[rule.head_relation] |= found
    for relation in {relation for _, relation, _ in everything} - set(given_relations):
        assert pairs_of(relation, everything) == derived[relation], relation


def check_splits(world: World) -> None:
    train, valid, test = facts = facts_of(world.dataset)
    assert len(world.groups) == len(test)
    assert len({*train, *valid, *test}) == sum(map(len, facts))
    entities = {name for head, _, tail in train for name in (head, tail)}
    relations = {relation for _, relation, _ in train}
    for head, relation, tail in valid + test:
        assert {head, tail} <= entities
        assert relation in relations
        assert head != tail


def same(one: World, other: World) -> bool:
    return facts_of(one.dataset) == facts_of(other.dataset) and one.groups == other.groups and one.rules == other.rules


# Newsroom


def structure_of(world: World) -> set[str]:
    return {relation for _, relation, _ in facts_of(world.dataset).train} - {"works_for"}


def test_newsroom_rules_hold_exactly() -> None:
    world = newsroom(people=300, density=4)
    assert len(world.rules) == 6
    check_exact(world, structure_of(world))


@few
@given(newsrooms)
def test_every_newsroom_is_exact_when_nothing_is_spoiled(options: dict[str, Any]) -> None:
    world = newsroom(**options)
    check_exact(world, structure_of(world))
    check_splits(world)


@few
@given(newsrooms, damage)
def test_every_newsroom_is_well_split_when_spoiled(options: dict[str, Any], spoiling: dict[str, Any]) -> None:
    check_splits(newsroom(**options, **spoiling))


@few
@given(newsrooms, damage)
def test_same_seed_same_newsroom(options: dict[str, Any], spoiling: dict[str, Any]) -> None:
    world = newsroom(**options, **spoiling)
    assert same(world, newsroom(**options, **spoiling))
    options["seed"] = np.random.default_rng(options["seed"])
    assert same(world, newsroom(**options, **spoiling))


def test_another_seed_is_another_newsroom() -> None:
    assert not same(newsroom(seed=1), newsroom(seed=2))


def test_mixes_are_those_asked_for() -> None:
    world = newsroom(people=1000, train_mix=0.1, test_mix=0.7, valid=0.1, test=0.2)
    train, valid, test = facts_of(world.dataset)
    assert Counter(world.groups) == {"footballer": 140, "journalist": 60}
    assert [head.split("_")[0] for head, _, _ in test] == list(world.groups)
    for part, footballers, people in ((train, 70, 700), (valid, 10, 100)):
        asked = [head for head, relation, _ in part if relation == "works_for"]
        assert len(asked) == people
        assert sum(head.startswith("footballer") for head in asked) == footballers


def test_footballers_are_in_train_even_when_only_the_test_asks_about_them() -> None:
    world = newsroom(people=100, train_mix=0, test_mix=1)
    assert {"plays_in", "squad_of"} <= structure_of(world)
    check_splits(world)


def test_density_is_that_asked_for() -> None:
    world = newsroom(people=2000, density=4, test_density=1, group_by="density")
    train, _, test = facts_of(world.dataset)
    said = Counter(head for head, relation, _ in train if relation != "works_for")
    asked = {head for head, _, _ in test}
    others = {head for head, relation, _ in train if relation == "works_for"}
    # Some extra facts fall together, so the means stay a little below 1 + density.
    assert 4.2 < np.mean([said[head] for head in others]) <= 5.1
    assert 1.8 < np.mean([said[head] for head in asked]) <= 2.1
    assert Counter(world.groups)["sparse"] > 0.9 * len(test)
    usual = np.median([said[head] for head in others])
    assert all((said[h] <= usual) == (g == "sparse") for (h, _, _), g in zip(test, world.groups, strict=True))


def test_each_pathway_has_its_own_rules() -> None:
    facts = facts_of(newsroom(people=300).dataset)
    for kind, rules in RULES.items():
        for rule in rules:
            found = follow(rule, facts.train)
            assert len(found) > 10
            assert all(head.startswith(kind) for head, _ in found)


@pytest.mark.parametrize(
    ("decoy", "kind"),
    [
        ("works_for(X, Y) <- lives_in(X, A), published_in(Y, A)", "journalist"),
        ("works_for(X, Y) <- interviewed_by(X, A), works_for(A, Y)", "journalist"),
        ("works_for(X, Y) <- fan_of(X, Y)", "footballer"),
    ],
)
def test_decoys_mislead_under_shift(decoy: str, kind: str) -> None:
    world = newsroom(people=3000, train_mix=0.5, test_mix=0.5, employers=20)
    everything = [fact for part in facts_of(world.dataset) for fact in part]
    true = pairs_of("works_for", everything)
    right: defaultdict[bool, list[bool]] = defaultdict(list)
    for pair in follow(Rule.parse(decoy), everything):
        right[pair[0].startswith(kind)].append(pair in true)
    assert 0.7 < np.mean(right[True]) < 0.9
    assert np.mean(right[False]) < 0.1


# Households


def test_households_rules_hold_exactly() -> None:
    world = households(families=6, test_families=3)
    assert len(world.rules) == 15
    check_exact(world, BASE)


@few
@given(families)
def test_every_household_is_exact_when_nothing_is_spoiled(options: dict[str, Any]) -> None:
    world = households(**options)
    check_exact(world, BASE)
    check_splits(world)


@few
@given(families, damage)
def test_every_household_is_well_split_when_spoiled(options: dict[str, Any], spoiling: dict[str, Any]) -> None:
    check_splits(households(**options, **spoiling))


@few
@given(families, damage)
def test_same_seed_same_households(options: dict[str, Any], spoiling: dict[str, Any]) -> None:
    world = households(**options, **spoiling)
    assert same(world, households(**options, **spoiling))


def test_another_seed_is_another_household() -> None:
    assert not same(households(seed=1), households(seed=2))


@few
@given(families)
def test_a_fact_and_its_mirror_are_in_one_split(options: dict[str, Any]) -> None:
    mirror = {**MIRRORS, **{there: here for here, there in MIRRORS.items()}}
    for part in facts_of(households(**options).dataset):
        assert set(part) == {(tail, mirror[relation], head) for head, relation, tail in part}


def test_parents_and_spouses_are_never_asked() -> None:
    _, valid, test = facts_of(households(valid=1, test=1).dataset)
    assert not {"parent_of", "child_of", "spouse_of"} & {relation for _, relation, _ in valid + test}


def test_everyone_has_two_parents_or_none() -> None:
    parents = Counter(tail for _, relation, tail in facts_of(households().dataset).train if relation == "parent_of")
    assert set(parents.values()) == {2}


def test_larger_test_families_are_a_density_shift() -> None:
    larger, smaller = (households(test_children=children) for children in (4, 1.2))
    assert Counter(larger.groups)["large"] > 0.9 * len(larger.groups)
    assert Counter(smaller.groups)["small"] > 0.9 * len(smaller.groups)


def test_more_marriage_in_the_test_is_a_pathway_shift() -> None:
    world = households(test_mix=0.9, test=0.1, group_by="pathway")
    train, _, test = facts_of(world.dataset)
    assert Counter(world.groups)["marriage"] == pytest.approx(0.9 * len(test), abs=2)
    by_marriage = {(r, g) for (_, r, _), g in zip(test, world.groups, strict=True) if r.endswith("in_law_of")}
    assert {group for _, group in by_marriage} == {"marriage"}
    aunts = [f for f in test if f[1] == "uncle_or_aunt_of"]
    in_marriage = {(h, t) for (h, r, t), g in zip(test, world.groups, strict=True) if g == "marriage"}
    rule = Rule.parse("uncle_or_aunt_of(X, Y) <- spouse_of(X, A), child_of(A, B), parent_of(B, C), parent_of(C, Y)")
    found = follow(rule, train)
    for head, _, tail in aunts:
        assert ((head, tail) in in_marriage) == ((head, tail) in found)


# Spoiling


@pytest.mark.parametrize("make", [newsroom, households])
def test_missing_and_noise_are_those_asked_for(make: Any) -> None:
    clean = facts_of(make().dataset)
    truth = {fact for part in clean for fact in part}
    spoiled = facts_of(make(missing=0.2, noise=0.1).dataset)
    wrong = set(spoiled.train) - truth
    kept = set(spoiled.train) & truth
    assert spoiled.valid == clean.valid
    assert spoiled.test == clean.test
    assert kept < set(clean.train)
    assert len(kept) == pytest.approx(0.8 * len(clean.train), abs=1)
    assert len(wrong) == pytest.approx(0.1 * len(kept), abs=1)


facts_lists = st.lists(st.tuples(*[st.sampled_from(names) for names in ("abcdef", "rs", "abcdef")]), unique=True)


@given(facts_lists, shares, st.integers(0, 1000))
def test_dropping_keeps_what_is_needed(facts: list[Fact], share: float, seed: int) -> None:
    train, asked = facts[len(facts) // 4 :], facts[: len(facts) // 4]
    before = {name for head, _, tail in train for name in (head, tail)}
    kept = drop_world_facts(train, share, asked, np.random.default_rng(seed))
    after = {name for head, _, tail in kept for name in (head, tail)}
    assert set(kept) <= set(train)
    assert len(kept) >= len(train) - round(share * len(train))
    assert {name for head, _, tail in asked for name in (head, tail)} & before <= after


@given(facts_lists, shares, st.integers(0, 1000))
def test_wrong_facts_are_wrong_but_plausible(facts: list[Fact], share: float, seed: int) -> None:
    wrong = make_wrong_facts(facts, share, set(facts), np.random.default_rng(seed))
    assert len(wrong) == len(set(wrong)) <= round(share * len(facts))
    for head, relation, tail in wrong:
        assert (head, relation, tail) not in facts
        assert head != tail
        assert any(f[:2] == (head, relation) for f in facts)
        assert any(f[1:] == (relation, tail) for f in facts)


# Arguments


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (newsroom, {"people": -5}, "Argument 'people' must be a whole number of at least 1, got -5."),
        (newsroom, {"people": 2.5}, "Argument 'people' must be a whole number of at least 1, got 2.5."),
        (newsroom, {"people": True}, "Argument 'people' must be a whole number of at least 1, got True."),
        (newsroom, {"employers": 1}, "Argument 'employers' must be a whole number of at least 2, got 1."),
        (newsroom, {"train_mix": 1.5}, "Argument 'train_mix' must be a number from 0 to 1, got 1.5."),
        (newsroom, {"test_mix": -0.1}, "Argument 'test_mix' must be a number from 0 to 1, got -0.1."),
        (newsroom, {"spurious": "high"}, "Argument 'spurious' must be a number from 0 to 1, got 'high'."),
        (newsroom, {"missing": float("nan")}, "Argument 'missing' must be a number from 0 to 1, got nan."),
        (newsroom, {"noise": None}, "Argument 'noise' must be a number from 0 to 1, got None."),
        (newsroom, {"density": -1}, "Argument 'density' must be a number from 0 to 1000, got -1."),
        (newsroom, {"test_density": -1}, "Argument 'test_density' must be a number from 0 to 1000, got -1."),
        (
            newsroom,
            {"people": 10, "valid": 0.5, "test": 0.5},
            "Arguments 'valid' and 'test' must leave at least one of 10 people to learn from, got 0.5 and 0.5.",
        ),
        (newsroom, {"group_by": "age"}, "Argument 'group_by' must be one of 'pathway', 'density', got 'age'."),
        (
            newsroom,
            {"seed": -1},
            "Argument 'seed' must be a whole number of at least 0, or a numpy Generator, got -1.",
        ),
        (newsroom, {"seed": None}, "or a numpy Generator, got None."),
        (households, {"families": 0}, "Argument 'families' must be a whole number of at least 1, got 0."),
        (households, {"test_families": 0}, "Argument 'test_families' must be a whole number of at least 1, got 0."),
        (households, {"generations": 1}, "Argument 'generations' must be a whole number of at least 2, got 1."),
        (households, {"children": 0.5}, "Argument 'children' must be a number from 1 to 100, got 0.5."),
        (households, {"test_children": 0}, "Argument 'test_children' must be a number from 1 to 100, got 0."),
        (households, {"marrying": 2}, "Argument 'marrying' must be a number from 0 to 1, got 2."),
        (households, {"valid": -1}, "Argument 'valid' must be a number from 0 to 1, got -1."),
        (households, {"test_mix": 7}, "Argument 'test_mix' must be a number from 0 to 1, got 7."),
        (households, {"test_mix": 1.0, "test": 1.0}, "must not need more kinship than the test families have"),
        (households, {"children": 50, "generations": 9}, "must give at most about 200,000 people, got 30 families"),
        (households, {"generations": 10**9}, "must give at most about 200,000 people"),
        (households, {"group_by": None}, "Argument 'group_by' must be one of 'pathway', 'density', got None."),
        (households, {"seed": "one"}, "or a numpy Generator, got 'one'."),
    ],
)
def test_bad_arguments_are_refused(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        make(**options)


def test_a_world_has_one_group_for_each_test_fact() -> None:
    world = newsroom(people=20)
    with pytest.raises(OptionError, match=re.escape("must be one name for each of the 4 test facts, got 1 names.")):
        World(world.dataset, world.rules, ("journalist",))


def test_a_world_says_what_is_in_it() -> None:
    pattern = r"World\(newsroom, 6 rules, train \d+, valid 2, test 4: 3 footballer, 1 journalist\)"
    assert re.fullmatch(pattern, repr(newsroom(people=20)))
    assert repr(newsroom(people=20, test=0)).endswith("test 0)")
