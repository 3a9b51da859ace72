"""Entities with unrelated roles: two things with one name."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, check, load
from stablerule.graph import Graph
from stablerule.graph.roles import BY_ACCIDENT, FEWEST, ONE_KIND, find_unrelated_roles

SECTIONS = ["python", "net", "admin", "utils", "web"]
LANGUAGES = ["python", "c", "rust", "perl", "lua", "java"]


def packages(*more: tuple[str, str, str]) -> Dataset:
    names = [f"package{i}" for i in range(120)]
    chance = random.Random(0)
    facts = [(name, "section", chance.choice(SECTIONS)) for name in names]
    facts += [(name, "language", chance.choice(LANGUAGES)) for name in names]
    facts += [(name, "depends", chance.choice(names)) for name in names]
    return Dataset.from_names("packages", train=[*facts, *more])


def findings(dataset: Dataset) -> list[tuple[int, str]]:
    return [(found.count, found.example) for found in check(dataset) if found.kind == "unrelated_roles"]


def test_a_name_of_a_section_a_package_and_a_language_is_found() -> None:
    dataset = packages(("python", "section", "utils"), ("package7", "depends", "python"))
    ((count, example),) = findings(dataset)
    assert count == 1
    assert example.startswith("python is head of section (with 120 others), ")
    assert "tail of language (with 5 others)" in example
    assert "tail of section (with 4 others)" in example


def test_values_of_one_kind_and_roles_of_one_kind_are_no_finding() -> None:
    assert findings(packages())[0][1].startswith("python is tail of language (with 5 others), tail of section")
    apart = [(h, r, "py" if (r, t) == ("section", "python") else t) for h, r, t in packages().frame("train").rows()]
    assert findings(Dataset.from_names("apart", train=apart)) == []
    people = [(f"p{i}", relation, f"p{(i * 7 + 1) % 50}") for i in range(50) for relation in ("knows", "likes")]
    assert findings(Dataset.from_names("people", train=people)) == []


def test_the_embedded_graph_has_none() -> None:
    assert findings(load("geography")) == []


def plain_unrelated(graph: Graph) -> set[int]:
    """The same by sets: kinds are joined as long as any two share enough."""
    roles: dict[int, set[int]] = {}
    for head, relation, tail in graph.triples.rows.tolist():
        roles.setdefault(relation, set()).add(head)
        roles.setdefault(relation + graph.n_relations, set()).add(tail)
    kinds = [entities for entities in roles.values() if len(entities) >= FEWEST]
    while True:
        groups: list[set[int]] = []  # of numbers of kinds
        for i in range(len(kinds)):
            near = [j for j in range(len(kinds)) if i == j or _are_one(kinds[i], kinds[j])]
            touched = [group for group in groups if group & set(near)]
            groups = [group for group in groups if not group & set(near)] + [set(near).union(*touched)]
        if len(groups) == len(kinds):
            break
        kinds = [set().union(*(kinds[i] for i in group)) for group in groups]
    return {
        entity
        for one, other in combinations(kinds, 2)
        for entity in one & other
        if len(one & other) == 1 or len(one & other) <= BY_ACCIDENT * min(len(one), len(other))
    }


def _are_one(one: set[int], other: set[int]) -> bool:
    return len(one & other) > 1 and len(one & other) >= ONE_KIND * min(len(one), len(other))


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(5, 60))
def test_the_same_as_by_sets(seed: int, relations: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    near = chance.integers(0, 30, (relations, 2))
    which = chance.integers(0, relations, count)
    ends = near[which] + chance.integers(0, 12, (count, 2))
    facts = [(f"e{h}", f"r{r}", f"e{t}") for r, (h, t) in zip(which, ends, strict=True)]
    graph = Dataset.from_names("x", train=facts).graph
    assert set(find_unrelated_roles(graph).entities.tolist()) == plain_unrelated(graph)


@pytest.mark.parametrize("facts", [[], [("a", "r", "b")]])
def test_tiny_graphs_have_none(facts: list[tuple[str, str, str]]) -> None:
    assert not len(find_unrelated_roles(Dataset.from_names("x", train=facts or [("a", "r", "a")]).graph).entities)
