"""Groups of test apart, and groups of train favoured."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Triples, households, newsroom
from stablerule.errors import InputError, OptionError
from stablerule.shifts.splits import bias_examples, split_test_side, split_train_side
from stablerule.shifts.splits.by_groups import name_group_folders
from stablerule.shifts.splits.saving import count_lost_facts

BIASES = (0.0, 0.3, 0.5, 0.9, 1.0)
TOWNS = Dataset.from_names(
    "towns",
    train=[("Bonn", "in", "Germany"), ("Lyon", "in", "France")],
    test=[("Köln", "in", "Germany"), ("Nice", "in", "France"), ("Köln", "in", "Germany")],
)


# Test-side.


def test_each_group_is_a_dataset_with_the_same_train() -> None:
    world = newsroom(people=100, seed=0)
    split = split_test_side(world.dataset, world.groups)
    assert set(split.parts) == {"group-footballer", "group-journalist"}
    asked = []
    for group in split.manifest["found"]["groups"]:
        part = split.parts[group["folder"]]
        asked += part.frame("test").rows()
        assert group["test"] == len(part.test) == world.groups.count(group["name"])
        for name in ("train", "valid"):
            assert part.frame(name).equals(world.dataset.frame(name))
    assert sorted(asked) == sorted(world.dataset.frame("test").rows())
    assert count_lost_facts(split.manifest) == 0
    assert split.manifest["parameters"] == {"groups": 2}


def test_entities_that_only_another_group_asks_about_are_no_rivals() -> None:
    parts = split_test_side(TOWNS, ["g", "f", "g"]).parts
    assert list(parts["group-f"].vocabulary.entities) == ["Bonn", "France", "Germany", "Lyon", "Nice"]
    assert len(parts["group-g"].test) == 2


@given(st.lists(st.text(min_size=1, max_size=100), unique=True))
def test_folder_names_are_safe_and_differ(names: list[str]) -> None:
    folders = name_group_folders(names, "group-")
    assert list(folders) == names
    assert len(set(folders.values())) == len(names)
    for folder in folders.values():
        assert folder.isascii()
        assert set(folder) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert len(folder) < 80


def test_names_that_differ_in_what_folders_can_not_hold_get_two_folders() -> None:
    split = split_test_side(TOWNS, ["A b", "a/b", "A b"])
    assert [(g["name"], g["folder"]) for g in split.manifest["found"]["groups"]] == [
        ("A b", "group-a-b"),
        ("a/b", "group-a-b-2"),
    ]


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_groups_without_a_name_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="must be names, got .* for fact 1 of test"):
        split_test_side(TOWNS, ["a", name, "a"])


@pytest.mark.parametrize("groups", [[], ["a", "b"], ["a"] * 4, "abcd"])
def test_there_must_be_a_group_for_each_fact(groups: Any) -> None:
    with pytest.raises(InputError, match="'groups' must have a group for each of 3 facts of the test split"):
        split_test_side(TOWNS, groups)
    with pytest.raises(InputError, match="'groups' must have a group for each of 3 facts, got"):
        bias_examples(TOWNS.test, groups, 0.5)
    with pytest.raises(InputError, match="'groups_of_train' must have a group for each of 2 facts of the training"):
        split_train_side(TOWNS, [*groups, "c", "d", "e"], bias=0.5)


def test_a_fact_is_not_of_two_groups_and_without_facts_there_are_none() -> None:
    with pytest.raises(InputError, match="facts 0 and 2 of test are equal, but have groups 'a' and 'b'"):
        split_test_side(TOWNS, ["a", "a", "b"])
    with pytest.raises(InputError, match="'x' has no test facts to divide"):
        split_test_side(Dataset.from_names("x", train=[("a", "r", "b")]), [])


# Biased examples.


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Triples, np.ndarray[Any, Any], int]:
    """Facts of a few relations, with groups that are balanced to within one, or not at all."""
    k = draw(st.integers(2, 5))
    counts = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4).filter(any))
    relations = np.repeat(np.arange(len(counts)), counts)
    rows = np.stack([np.arange(len(relations)), relations, np.full(len(relations), 999)], 1)
    if draw(st.booleans()):
        labels = np.concatenate([np.arange(count) % k for count in counts])
    else:
        labels = np.array(draw(st.lists(st.integers(0, k - 1), min_size=len(rows), max_size=len(rows))))
    labels[: min(k, len(labels))] = np.arange(min(k, len(labels)))
    return Triples(rows), labels, k


@given(grouped(), st.integers(0, 20))
def test_the_favoured_group_has_its_share_at_every_bias_and_the_number_stays(
    given_facts: tuple[Triples, np.ndarray[Any, Any], int], seed: int
) -> None:
    facts, labels, k = given_facts
    drawn = {bias: bias_examples(facts, labels, bias, seed=seed, among=range(k)) for bias in BIASES}
    for relation in np.unique(facts.relations).tolist():
        own = facts.relations == relation
        sizes = np.bincount(labels[own], minlength=k)
        counts = {bias: np.bincount(labels[own & d.mask], minlength=k) for bias, d in drawn.items()}
        assert len({count.sum() for count in counts.values()}) == 1
        if not sizes.all():
            assert all(relation in d.left_whole for d in drawn.values())
            assert all(d.mask[own].all() for d in drawn.values())
            continue
        (favoured,) = {d.favoured[relation] for d in drawn.values()}
        n = int(counts[1.0].sum())
        assert counts[1.0][favoured] == n == min(sizes[favoured], k * np.delete(sizes, favoured).min())
        for bias, count in counts.items():
            assert abs(count[favoured] - n * (1 / k + bias * (1 - 1 / k))) <= 0.5 + 1e-9
            assert np.ptp(np.delete(count, favoured)) <= 1
        assert np.ptp(counts[0.0]) <= 1
    for small, large in pairwise(BIASES):
        is_favoured = np.array([labels[row] == drawn[0.0].favoured.get(r) for row, r in enumerate(facts.relations)])
        assert not (drawn[small].mask & ~drawn[large].mask & is_favoured).any()
        assert not (drawn[large].mask & ~drawn[small].mask & ~is_favoured).any()


@given(grouped(), st.integers(0, 20), st.sampled_from(BIASES))
def test_the_same_seed_draws_the_same(
    given_facts: tuple[Triples, np.ndarray[Any, Any], int], seed: int, bias: float
) -> None:
    facts, labels, k = given_facts
    one, two = (bias_examples(facts, labels, bias, seed=seed, among=range(k)) for _ in range(2))
    assert np.array_equal(one.mask, two.mask)
    assert one.favoured == two.favoured


def test_seeds_favour_different_groups() -> None:
    facts = Triples(np.array([[h, r, 99] for r in range(30) for h in range(5)]))
    labels = np.arange(150) % 5
    favoured = [tuple(bias_examples(facts, labels, 1, seed=seed).favoured.values()) for seed in range(5)]
    assert len(set(favoured)) == 5
    assert set(favoured[0]) == set(range(5))


def test_a_repeated_fact_counts_once() -> None:
    rows = np.array([[h, 0, 99] for h in range(10)])
    facts = Triples(np.concatenate([rows, rows]))
    labels = np.concatenate([np.arange(10) % 2, np.ones(10, int)])
    drawn = bias_examples(facts, labels, 1.0)
    assert drawn.mask.sum() == 5
    assert not drawn.mask[10:].any()


@pytest.mark.parametrize("bias", [-0.1, 1.1, float("nan"), "0.5", None])
def test_a_bias_outside_of_0_to_1_is_refused(bias: Any) -> None:
    with pytest.raises(OptionError, match="'bias' must be a number from 0 to 1"):
        bias_examples(TOWNS.test, ["a", "b", "a"], bias)
    with pytest.raises(OptionError, match="'bias' must be a number from 0 to 1"):
        split_train_side(TOWNS, ["a", "b"], bias=bias)


def test_other_bad_arguments_of_a_bias() -> None:
    with pytest.raises(OptionError, match="'seed' must be a whole number of at least 0, got -1"):
        bias_examples(TOWNS.test, ["a", "b", "a"], 0.5, seed=-1)
    with pytest.raises(InputError, match="needs at least 2 groups, got 1"):
        bias_examples(TOWNS.test, ["a", "a", "a"], 0.5)
    with pytest.raises(InputError, match="must be names or whole numbers, got"):
        bias_examples(TOWNS.test, [0.5, 1.0, 2.0], 0.5)
    with pytest.raises(InputError, match="must have a group for each fact"):
        bias_examples(TOWNS.test, 7, 0.5)  # type: ignore[arg-type]


# Train-side.

FAMILIES = households(families=5, seed=0, valid=0.2).dataset
OF_TRAIN = np.arange(len(FAMILIES.train)) % 3
OF_VALID = np.arange(len(FAMILIES.valid)) % 3


@pytest.mark.parametrize("bias", BIASES)
def test_the_graph_stays_and_the_examples_are_biased(bias: float) -> None:
    split = split_train_side(FAMILIES, OF_TRAIN, OF_VALID, bias=bias, seed=4)
    assert split.dataset.graph.sha256 == FAMILIES.graph.sha256
    assert split.dataset.frame("test").equals(FAMILIES.frame("test"))
    drawn = bias_examples(FAMILIES.train, OF_TRAIN, bias, seed=4)
    assert split.examples is not None
    examples = split.dataset.vocabulary.decode(split.examples)
    assert examples.equals(FAMILIES.vocabulary.decode(FAMILIES.train.take(drawn.mask)))
    of_valid = bias_examples(FAMILIES.valid, OF_VALID, bias, seed=4)
    assert split.dataset.frame("valid").equals(FAMILIES.vocabulary.decode(FAMILIES.valid.take(of_valid.mask)))
    both = drawn.favoured.keys() & of_valid.favoured.keys()
    assert both
    assert all(drawn.favoured[relation] == of_valid.favoured[relation] for relation in both)
    found = split.manifest["found"]
    assert found["examples"] == len(examples)
    assert found["groups"] == [0, 1, 2]
    assert len(found["favoured"]) + len(found["left_whole"]) == len(np.unique(FAMILIES.train.relations))
    assert list(split.manifest["lost"]["facts"]) == ["not drawn for valid"]
    assert count_lost_facts(split.manifest) == len(FAMILIES.valid) - len(split.dataset.valid)


def test_the_number_of_examples_is_the_same_at_every_bias() -> None:
    splits = [split_train_side(FAMILIES, OF_TRAIN, OF_VALID, bias=bias) for bias in BIASES]
    assert len({len(split.examples) for split in splits if split.examples is not None}) == 1
    assert len({len(split.dataset.valid) for split in splits}) == 1


def test_thinning_takes_the_other_facts_out_of_the_graph() -> None:
    whole = split_train_side(FAMILIES, OF_TRAIN, bias=1)
    thin = split_train_side(FAMILIES, OF_TRAIN, bias=1, thinning=True)
    assert thin.examples is None
    assert whole.examples is not None
    assert thin.dataset.frame("train").equals(whole.dataset.vocabulary.decode(whole.examples))
    assert len(thin.dataset.valid) == len(FAMILIES.valid)
    assert count_lost_facts(thin.manifest) == len(FAMILIES.train) - len(thin.dataset.train)
    assert thin.manifest["parameters"] == {"bias": 1.0, "thinning": True}


def test_entities_that_lose_all_their_facts_are_counted() -> None:
    source = Dataset.from_names("g", train=[(f"e{i}", "r", "hub") for i in range(10)])
    split = split_train_side(source, [str(i % 2) for i in range(10)], bias=0.5, thinning=True)
    assert len(split.dataset.train) == 5
    assert split.manifest["found"]["entities_without_facts_in_train"] == 5
    assert split.manifest["lost"]["entities"] == 5
    assert "5 entities no longer have facts in train." in split.manifest["notes"]


def test_relations_with_too_few_facts_stay_whole_and_it_is_said() -> None:
    facts = [(f"e{i}", "r", "hub") for i in range(9)] + [("e0", "rare", "e1"), ("e1", "rare", "e0")]
    source = Dataset.from_names("g", train=facts)
    split = split_train_side(source, np.arange(11) % 3, bias=1.0)
    assert split.manifest["found"]["left_whole"] == {"rare": 2}
    assert "1 relations have no facts in some group, so all their 2 facts are examples" in split.manifest["notes"][0]
    assert split.examples is not None
    assert len(split.examples) == 3 + 2


def test_groups_of_valid_are_checked() -> None:
    with pytest.raises(InputError, match="'groups_of_valid' has the group 9, which no training fact has"):
        split_train_side(FAMILIES, OF_TRAIN, OF_VALID + 9 * (OF_VALID == 0), bias=0.5)
    with pytest.raises(InputError, match="'groups_of_valid' must have a group for each of"):
        split_train_side(FAMILIES, OF_TRAIN, OF_VALID[1:], bias=0.5)
    empty = split_train_side(Dataset.from_names("g", train=FAMILIES.frame("train").rows()), OF_TRAIN, [], bias=0.5)
    assert len(empty.dataset.valid) == 0
