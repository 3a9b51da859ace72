"""What makes two sets of queries differ, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from stablerule import Dataset
from stablerule.datasets.worlds.newsroom import RULES
from stablerule.shifts.causes import MOST_OF_A_KIND, ShiftCause, name_shift_causes
from tests.shifts.newsrooms import judged
from tests.shifts.profiles import Words, made_profile

VOCABULARY = Dataset.from_names(
    "words", train=[("a", "likes", "b"), ("a", "knows", "b"), ("a", "owns", "b")]
).vocabulary
WORDS: Any = Words(VOCABULARY, [(0,), (1,), (2, 2)], [0, 0, 0])


def test_a_planted_pathway_shift_is_named() -> None:
    """From journalists to footballers: bodies of the true rules of each, by name, in the right direction."""
    world = judged()
    profiler = world.profiler()
    tails = np.arange(len(world.dataset.valid)), np.arange(len(world.dataset.test))  # (person, works_for, ?)
    before, now = (
        profiler.profile(world.queries(split).take(rows)) for split, rows in zip(("valid", "test"), tails, strict=True)
    )
    found = name_shift_causes(before, now, profiler)
    assert {cause.kind for cause in found} == {"body"}
    assert len(found) == MOST_OF_A_KIND
    bodies = {kind: {", ".join(rule.body) for rule in rules} for kind, rules in RULES.items()}
    named = {
        kind: [c for c in found if any(f"works_for <- {body}" == c.name for body in bodies[kind])] for kind in bodies
    }
    assert named["journalist"]
    assert all(cause.change < -0.2 for cause in named["journalist"])
    assert all(cause.change > 0.2 for cause in named["footballer"])
    footballers_rise = [c for c in found if c.change > 0]
    assert all(any(w in c.name for w in ("plays_in", "trained_by", "scored", "fan_of")) for c in footballers_rise)
    changes = [abs(cause.change) for cause in found]
    assert changes == sorted(changes, reverse=True)


def test_the_squads_rise_by_name() -> None:
    """Where only footballers of one pathway are asked about, its body comes first."""
    world = judged()
    profiler = world.profiler()
    queries = world.queries("test").take(np.arange(len(world.dataset.test)))
    profile = profiler.profile(queries)
    squads = next(i for i in range(len(profiler.bodies)) if profiler.body_name(i) == "works_for <- plays_in, squad_of")
    fires = profile.fires[:, [squads]].toarray().ravel() > 0
    first = name_shift_causes(profile.take(np.flatnonzero(~fires)), profile.take(np.flatnonzero(fires)), profiler)[0]
    assert str(first) == (
        "the rule works_for <- plays_in, squad_of applies to 100% of the queries for its relation (before: 0%)"
    )


def test_two_sets_of_a_kind_have_no_cause() -> None:
    rng = np.random.default_rng(0)
    (one, _), (other, _) = (made_profile(400, 0.5, rng) for _ in range(2))
    assert name_shift_causes(one, other, WORDS) == []
    assert name_shift_causes(one, one, WORDS) == []


def test_relations_and_degrees() -> None:
    rng = np.random.default_rng(0)
    one, _ = made_profile(400, 0.5, rng, relations=2)
    other, _ = made_profile(400, 0.5, rng, relations=3)
    other.degrees[:300] = 1
    found = {cause.kind: cause for cause in reversed(name_shift_causes(one, other, WORDS))}
    names = {cause.name for cause in name_shift_causes(one, other, WORDS)}
    assert "for owns" in names
    assert found["degree"].name == "about entities of degree 1 or less"
    assert found["degree"].now > 0.7
    assert sum(cause.kind == "degree" for cause in name_shift_causes(one, other, WORDS)) <= 2
    other.degrees[:] = 0
    assert "about entities without facts" in {cause.name for cause in name_shift_causes(one, other, WORDS)}


def test_a_body_counts_among_the_queries_of_its_relation() -> None:
    """A relation that is asked more often does not move the bodies of its rules."""
    rng = np.random.default_rng(0)
    one, _ = made_profile(600, 0.5, rng, relations=2)
    other, _ = made_profile(600, 0.5, rng, relations=2)
    some = other.take(np.flatnonzero((other.relations == 0) | (rng.random(600) < 0.1)))
    assert {cause.kind for cause in name_shift_causes(one, some, WORDS)} == {"relation"}


def test_bodies_that_fire_for_the_same_queries_are_one_cause() -> None:
    rng = np.random.default_rng(0)
    (one, _), (other, _) = (made_profile(300, easy, rng, relations=1) for easy in (0.8, 0.2))
    for profile in (one, other):
        easy = profile.fires.toarray()[:, 0]
        object.__setattr__(profile, "fires", sparse.csr_matrix(np.stack([easy, easy, easy], 1)))
    longer: Any = Words(VOCABULARY, [(0, 1), (1,), (2, 2)], [0, 0, 0])
    (cause,) = name_shift_causes(one, other, longer)
    assert cause.name == "body 1"  # the shortest


def test_shares_that_are_rounded_up_are_no_trouble() -> None:
    rng = np.random.default_rng(0)
    (one, _), (other, _) = (made_profile(n, 1.0, rng, relations=1) for n in (49, 103))
    assert name_shift_causes(one, other, WORDS) == []


def test_how_a_cause_is_written() -> None:
    cause = ShiftCause("relation", "for likes", 0.6, 0.2, 0.01)
    assert str(cause) == "20% of the queries are for likes (before: 60%)"
    assert cause.change == pytest.approx(-0.4)
    assert cause.to_json() == {
        "kind": "relation",
        "name": "for likes",
        "before": 0.6,
        "now": 0.2,
        "standard_error": 0.01,
        "text": "20% of the queries are for likes (before: 60%)",
    }
