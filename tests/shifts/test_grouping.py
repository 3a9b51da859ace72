"""Groups of facts: what every builder promises, and what each one does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Triples, newsroom
from stablerule.errors import InputError, MissingExtra, OptionError, UnknownRelation
from stablerule.shifts import (
    Grouping,
    by_attribute,
    by_degree,
    by_labels,
    by_paths,
    by_random,
    by_relation,
    group_by_names,
    make_path_signatures,
)
from stablerule.shifts import signatures as signatures_module
from stablerule.shifts.grouping import NO_LABEL
from stablerule.shifts.signatures import make_balanced_clusters

Builder = Callable[..., Grouping]


def small_world(seed: int, facts: int = 60, repeated: int = 5) -> tuple[Triples, Graph]:
    """Facts of a few relations of very different sizes, some of them twice, and a graph that has half of them."""
    rng = np.random.default_rng(seed)
    relations = rng.choice(4, size=facts, p=[0.6, 0.3, 0.07, 0.03])
    ends = rng.integers(14, size=(facts, 2))
    names = [(f"e{h}", f"r{r}", f"e{t}") for (h, t), r in zip(ends.tolist(), relations.tolist(), strict=True)]
    asked = names[facts // 2 :]
    asked += [asked[i] for i in rng.integers(len(asked), size=repeated)]
    dataset = Dataset.from_names("small", train=names[: facts // 2], test=asked)
    return dataset.test, dataset.graph


def sizes_by_relation(found: Grouping, facts: Triples) -> dict[int, list[int]]:
    """For each relation, how many different facts each group has."""
    once = {tuple(fact): label for fact, label in zip(facts.rows.tolist(), found.labels.tolist(), strict=True)}
    counts: dict[int, list[int]] = {fact[1]: [0] * len(found.names) for fact in once}
    for fact, label in once.items():
        counts[fact[1]][label] += 1
    return counts


def repeated_facts_stay_together(found: Grouping, facts: Triples) -> bool:
    groups: dict[Any, set[str]] = {}
    for fact, name in zip(facts.rows.tolist(), found, strict=True):
        groups.setdefault(tuple(fact), set()).add(name)
    return all(len(names) == 1 for names in groups.values())


BUILDERS: dict[str, Builder] = {
    "by_paths": by_paths,
    "arbitrary": lambda facts, graph, **rest: by_paths(facts, graph, align="arbitrary", **rest),
    "by_degree": by_degree,
    "by_random": by_random,
    "by_relation": by_relation,
}


@pytest.mark.parametrize("name", BUILDERS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_every_builder(name: str, seed: int) -> None:
    facts, graph = small_world(seed)
    found, again = (BUILDERS[name](facts, graph, seed=seed, measure=False) for _ in range(2))
    assert list(found) == list(again)
    assert len(found) == len(facts)
    assert repeated_facts_stay_together(found, facts)
    assert found.sizes == {name: list(found).count(name) for name in found.names}
    assert all(isinstance(name, str) for name in found)
    assert found.shift == ()
    assert found[0] == found[0:1][0] == found.names[found.labels[0]]
    assert found.to_json()["sizes"] == found.sizes


@pytest.mark.parametrize("align", ["density", "arbitrary"])
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), groups=st.integers(2, 6))
def test_sizes_within_a_relation_differ_by_at_most_one(align: Any, seed: int, groups: int) -> None:
    facts, graph = small_world(seed, facts=100)
    found = by_paths(facts, graph, groups=groups, align=align, seed=seed, measure=False)
    small = Counter[int]()
    for counts in sizes_by_relation(found, facts).values():
        assert max(counts) - min(counts) <= 1
        if sum(counts) < groups:
            small.update({label: count for label, count in enumerate(counts) if count})
    # Relations with fewer facts than groups are dealt out one after the other, in turn.
    total = sum(small.values())
    assert [small[label] for label in range(groups)] == [len(range(label, total, groups)) for label in range(groups)]
    few = sum(sum(counts) < groups for counts in sizes_by_relation(found, facts).values())
    assert any("fewer than" in note for note in found.notes) == (few > 0)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_groups_ascend_in_density_within_each_relation(seed: int) -> None:
    facts, graph = small_world(seed, facts=120)
    found = by_paths(facts, graph, groups=3, seed=seed, measure=False)
    once = np.unique(facts.rows, axis=0, return_index=True)[1]
    distinct, labels = facts.take(once), found.labels[once]
    density = make_path_signatures(distinct, graph).density
    for relation in np.unique(distinct.relations):
        rows = distinct.relations == relation
        if rows.sum() >= 3:
            means = [density[rows & (labels == label)].mean() for label in range(3)]
            assert means == sorted(means)


def test_the_most_and_the_fewest_paths_are_named() -> None:
    facts, graph = small_world(1)
    found = by_paths(facts, graph, groups=3, measure=False)
    assert found.names == ("paths 0 (fewest)", "paths 1", "paths 2 (most)")
    assert by_paths(facts, graph, groups=2, align="arbitrary", measure=False).names == ("paths 0", "paths 1")
    assert found.options == {"groups": 3, "align": "density", "max_length": 3, "seed": 0}
    assert repr(found).startswith(f"Grouping(by_paths, {len(facts)} facts: paths 0 (fewest) ")


def test_clusters_find_the_pathways_of_a_made_up_world() -> None:
    """Footballers and journalists have no body in common: two clusters of signatures tell them apart."""
    world = newsroom(people=200, train_mix=0.5, test_mix=0.5, density=1.0, seed=0)
    found = by_paths(world.dataset.test, world.dataset.graph, groups=2, align="arbitrary", seed=1)
    agree = Counter(zip(found, world.groups, strict=True))
    assert max(agree.values()) + sorted(agree.values())[-2] >= 0.85 * len(found)
    assert next(size for size in found.shift if size.measure == "body coverage").is_shifted


def test_many_facts_without_any_path() -> None:
    facts = [("a", "r", f"b{i}") for i in range(150)]
    dataset = Dataset.from_names("apart", train=[("x", "r", "y")], test=facts)
    found = by_paths(dataset.test, dataset.graph)
    assert set(found.sizes.values()) == {30}
    assert not any(size.is_shifted for size in found.shift)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), groups=st.integers(2, 6))
def test_random_groups_are_even_in_total_and_within_a_relation(seed: int, groups: int) -> None:
    facts, graph = small_world(seed, facts=100)
    found = by_random(facts, graph, groups=groups, seed=seed, measure=False)
    by_relation_ = sizes_by_relation(found, facts)
    for counts in [*by_relation_.values(), np.sum(list(by_relation_.values()), 0).tolist()]:
        assert max(counts) - min(counts) <= 1


def test_another_seed_gives_other_random_groups() -> None:
    facts, graph = small_world(0)
    assert list(by_random(facts, graph, seed=0)) != list(by_random(facts, graph, seed=1))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), groups=st.integers(2, 6))
def test_groups_by_degree_ascend_and_keep_equal_degrees_together(seed: int, groups: int) -> None:
    facts, graph = small_world(seed, facts=100)
    found = by_degree(facts, graph, groups=groups, measure=False)
    degrees = np.minimum(graph.degrees[facts.heads], graph.degrees[facts.tails])
    assert 1 <= len(found.names) <= groups
    highest = -1
    for label, name in enumerate(found.names):
        low, high = degrees[found.labels == label].min(), degrees[found.labels == label].max()
        assert low > highest
        assert name == (f"degree {low}" if low == high else f"degree {low} to {high}")
        highest = high


def test_groups_by_degree_are_of_equal_size_where_degrees_differ() -> None:
    train = [(f"h{i}", "r", f"x{i}_{j}") for i in range(20) for j in range(i + 1)]
    dataset = Dataset.from_names("fan", train=train, test=[(f"h{i}", "s", f"h{(i + 1) % 20}") for i in range(20)])
    assert set(by_degree(dataset.test, dataset.graph, groups=5).sizes.values()) <= {3, 4, 5}
    assert sum(by_degree(dataset.test, dataset.graph, groups=4).sizes.values()) == 20


def test_each_relation_is_a_group() -> None:
    facts, graph = small_world(3)
    found = by_relation(facts, graph)
    names = graph.vocabulary.decode(facts)["relation"].to_list()
    assert list(found) == names
    assert found.names == tuple(sorted(set(names)))
    mix = found.shift[0]
    assert mix.measure == "relation mix"
    assert mix.value == pytest.approx(1)
    assert mix.is_shifted


PLACES = [
    ("Lyon", "in", "France"),
    ("Nice", "in", "France"),
    ("Bonn", "in", "Germany"),
    ("Basel", "in", "Switzerland"),
    ("Basel", "in", "France"),
]
TRIPS = [("Lyon", "near", "Bonn"), ("Oslo", "near", "Nice"), ("Basel", "near", "Lyon"), ("Oslo", "near", "Rome")]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ("head", ["France", NO_LABEL, "France", NO_LABEL]),
        ("tail", ["Germany", "France", "France", NO_LABEL]),
        ("either", ["France", "France", "France", NO_LABEL]),
    ],
)
def test_by_attribute_takes_the_head_the_tail_or_either(of: Any, expected: list[str]) -> None:
    dataset = Dataset.from_names("trips", train=PLACES, test=TRIPS)
    found = by_attribute(dataset.test, dataset.graph, "in", of=of)
    assert list(found) == expected
    assert found.kind == "by_attribute"
    assert found.options == {"relation": "in", "of": of}
    missing = expected.count(NO_LABEL)
    assert f"{missing} of 4 facts have no label." in found.notes
    # Basel is in two countries, and has the first by name.
    assert "1 further values of in were ignored: an entity has one label." in found.notes


def test_by_attribute_may_look_elsewhere_and_the_other_way_round() -> None:
    dataset = Dataset.from_names("trips", train=[("a", "near", "b")], test=TRIPS)
    elsewhere = Dataset.from_names("places", train=PLACES).graph
    found = by_attribute(dataset.test, dataset.graph, "in", labels_from=elsewhere, of="tail")
    assert list(found) == ["Germany", "France", "France", NO_LABEL]
    with pytest.raises(UnknownRelation, match="in"):
        by_attribute(dataset.test, dataset.graph, "in")
    turned = Dataset.from_names("turned", train=[(t, "has", h) for h, _, t in PLACES]).graph
    assert list(by_attribute(dataset.test, dataset.graph, "~has", labels_from=turned, of="tail")) == list(found)


def test_an_attribute_without_facts_is_refused() -> None:
    dataset = Dataset.from_names("trips", train=[("a", "near", "b")], test=[*TRIPS, ("Oslo", "in", "Norway")])
    with pytest.raises(InputError, match="Relation 'in' has no facts in graph 'trips' to group by"):
        by_attribute(dataset.test, dataset.graph, "in")


def test_labels_by_hand() -> None:
    dataset = Dataset.from_names("trips", train=PLACES, test=[*TRIPS, TRIPS[0]])
    labels = {"Lyon": "west", "Oslo": "north", "nobody": "east"}
    found = by_labels(dataset.test, dataset.graph, labels)
    assert list(found) == ["west", "north", "west", "north", "west"]
    assert found.notes == ()
    with pytest.raises(OptionError, match="'of' must be head, tail or either, got 'both'"):
        by_labels(dataset.test, dataset.graph, labels, of="both")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="None of the 1 labels is for one of the heads and tails of these 4 facts"):
        by_labels(dataset.test, dataset.graph, {"Paris": "west"})
    with pytest.raises(InputError, match="no labels to group by"):
        by_labels(dataset.test, dataset.graph, {})


def test_names_as_they_are_given() -> None:
    facts, graph = small_world(0, repeated=0)
    names = [f"g{i % 3}" for i in range(len(facts))]
    once = dict(zip(map(tuple, facts.rows.tolist()), names, strict=True))
    names = [once[tuple(fact)] for fact in facts.rows.tolist()]
    found = group_by_names(facts, graph, names)
    assert list(found) == names
    assert list(group_by_names(facts, graph, found)) == names  # a grouping is a sequence of names
    with pytest.raises(InputError, match=f"a group for each of the {len(facts)} facts, got 1"):
        group_by_names(facts, graph, ["one"])
    twice = Triples.concat(facts, facts)
    with pytest.raises(InputError, match=f"repeated fact must have one group: see fact 0, with group '{names[0]}'"):
        group_by_names(twice, graph, [*names, *["other"] * len(names)])


def test_groups_with_a_single_fact_are_noted() -> None:
    facts, graph = small_world(0, repeated=0)
    distinct = facts.distinct()
    names = ["alone"] + ["rest"] * (len(distinct) - 1)
    found = group_by_names(distinct, graph, names)
    assert found.notes == ("1 groups have only one fact: alone.",)
    each = group_by_names(distinct, graph, [f"g{i:02}" for i in range(len(distinct))])
    assert each.notes == (f"{len(distinct)} groups have only one fact: g00, g01, g02 ....",)


@pytest.mark.parametrize("builder", [by_paths, by_degree, by_random])
def test_groups_and_seeds_that_make_no_sense(builder: Builder) -> None:
    facts, graph = small_world(0)
    for groups in (1, 0, -3, 2.5, True):
        with pytest.raises(OptionError, match="'groups' must be a whole number of at least 2"):
            builder(facts, graph, groups=groups)
    with pytest.raises(InputError, match="distinct facts are fewer than 1000 groups. Ask for fewer groups"):
        builder(facts, graph, groups=1000)
    with pytest.raises(InputError, match="no facts to group"):
        builder(Triples.empty(), graph)
    for seed in (-1, 0.5, None):
        with pytest.raises(OptionError, match="'seed' must be a whole number of at least 0"):
            builder(facts, graph, seed=seed)


def test_other_options_that_make_no_sense() -> None:
    facts, graph = small_world(0)
    with pytest.raises(OptionError, match="'align' must be density or arbitrary, got 'size'"):
        by_paths(facts, graph, align="size")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'max_length' of path counts must be in 1..3, got 4"):
        by_paths(facts, graph, max_length=4)
    with pytest.raises(OptionError, match="'seed' must be a whole number of at least 0"):
        by_relation(facts, graph, seed=-1)
    with pytest.raises(OptionError, match="'seed' must be a whole number of at least 0"):
        group_by_names(facts, graph, ["g"] * len(facts), seed=-1)


def test_a_single_group_has_no_shift_to_measure() -> None:
    facts, graph = small_world(0)
    found = group_by_names(facts, graph, ["all"] * len(facts))
    assert found.shift == ()
    assert found.to_json() == {
        "kind": "given",
        "options": {},
        "sizes": {"all": len(facts)},
        "shift": {},
        "notes": [],
    }


def test_by_paths_says_how_to_install_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, graph = small_world(0)
    monkeypatch.setattr(signatures_module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="needs the package 'k-means-constrained'.*stablerule\\[shifts\\]"):
        by_paths(facts, graph, groups=2)
    found = by_random(facts, graph, groups=2)
    assert [size.measure for size in found.shift] == ["relation mix", "body coverage", "degrees"]


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 10**6))
def test_clusters_are_of_equal_size(n: int, k: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 2)).round(0)  # many of them stand on one another
    labels = make_balanced_clusters(points, k, seed)
    counts = np.bincount(labels, minlength=k)
    assert len(counts) == k
    assert counts.max() - counts.min() <= 1
    np.testing.assert_array_equal(labels, make_balanced_clusters(points, k, seed))


def test_many_points_are_assigned_to_the_centres_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures_module, "MOST_TO_FIT", 40)
    points = np.concatenate([np.random.default_rng(0).normal(size=(41, 2)) + 50 * i for i in range(3)])
    labels = make_balanced_clusters(points, 3, seed=0)
    assert np.bincount(labels).tolist() == [41, 41, 41]
    assert all(len(set(labels[41 * i : 41 * (i + 1)])) == 1 for i in range(3))
