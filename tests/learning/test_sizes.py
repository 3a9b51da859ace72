"""How long rules may be, and how many are kept, is chosen on validation facts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Rule, RuleSet, StableRule, Tabular, households, load_model
from stablerule.learning import sizes as module
from stablerule.learning.extraction import Candidates, keep_best_by_length
from stablerule.learning.fitting import count_candidates
from stablerule.learning.options import Mining, Training
from stablerule.learning.sizes import Sizes, limit_counts, list_members, number_within_groups, plan_sizes
from stablerule.reasoning.learned import Lesson, Size
from stablerule.samples import sample_rules

USUAL = Size(3, 200)


def world_of_long_rules() -> Dataset:
    """Who is where the fourth step leads, which no shorter path says: other steps lead astray."""
    facts, held = [], []
    rng = np.random.default_rng(0)
    for i in range(160):
        steps = [f"e{i}_{step}" for step in range(5)]
        facts += [(a, f"s{j}", b) for j, (a, b) in enumerate(pairwise(steps))]
        facts += [(steps[3], "s3", f"e{rng.integers(160)}_4")]
        held.append((steps[0], "r", steps[4]))
    return Dataset.from_names("long", train=facts + held[:80], valid=held[80:130], test=held[130:])


@pytest.fixture(scope="module")
def world() -> Dataset:
    return world_of_long_rules()


@pytest.fixture(scope="module")
def model(world: Dataset) -> Tabular:
    return Tabular(walks=40_000, constants=False, rules_per_relation=50).fit(world.graph, world.valid)


def test_longer_rules_are_taken_where_they_answer_more(world: Dataset, model: Tabular) -> None:
    (choice,) = model.learned_.sizes
    assert choice.max_length >= 4
    assert (choice.usual_length, choice.usual_number, choice.queries) == (3, 50, 100)
    gains = {int(one["max_length"]): one["gain"] for one in choice.tried}
    assert gains[choice.max_length] > 0.1
    assert gains[3] == 0
    assert "MRR: length 4 +0." in choice.lines()[0]
    assert Rule("r", ("s0", "s1", "s2", "s3")) in model.rules
    ranks = model.rank(world.test, graph=world.graph, known=world.graph)
    short = Tabular(walks=40_000, constants=False, max_length=3).fit(world.graph, world.valid)
    before = short.rank(world.test, graph=world.graph, known=world.graph)
    assert (1 / ranks.form("realistic")).mean() > (1 / before.form("realistic")).mean() + 0.1
    assert all(len(rule.rule.body) <= 3 for rule in short.rules)


def test_a_model_says_what_was_tried_when_it_is_loaded(model: Tabular, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").learned_.sizes == model.learned_.sizes


@pytest.mark.slow
def test_the_network_learns_up_to_the_length_that_counts_choose(world: Dataset) -> None:
    pytest.importorskip("torch")
    model = StableRule(walks=40_000, constants=False, training=Training(size=16, steps=20)).fit(
        world.graph, world.valid
    )
    assert model.learned_.sizes[0].max_length >= 4
    assert max(len(rule.rule.body) for rule in model.rules) == model.learned_.sizes[0].max_length


@pytest.mark.parametrize(
    "model",
    [
        Tabular(max_length=4, rules_per_relation=30),
        Tabular(aggregation="max_plus"),
        Tabular(rules_per_relation=400, mining=Mining(backtracking=False)),
        Tabular(rules_per_relation=400, mining=Mining(negatives="paper")),
    ],
    ids=str,
)
def test_what_is_given_is_not_chosen(model: Tabular) -> None:
    lesson = Lesson.prepare(households(families=3, seed=0).dataset, None, None, None)
    sizes = plan_sizes(lesson, model)
    assert (sizes.lengths, sizes.counts) == ((), ())
    assert sizes.usual == (model.max_length or 3, model.rules_per_relation or 400)


def test_without_validation_facts_nothing_is_tried(world: Dataset) -> None:
    sizes = plan_sizes(Lesson.prepare(world.graph, None, None, None), Tabular())
    assert (sizes.lengths, sizes.counts) == ((), ())


def test_what_is_not_affordable_is_not_tried(world: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = Lesson.prepare(world, None, None, None)
    sizes = plan_sizes(lesson, Tabular())
    assert (sizes.lengths[0], sizes.counts) == (4, (200, 1000))
    samples = sample_rules(world.graph, 20_000, max_length=5)
    best = Candidates(np.zeros(1500, np.int64), np.zeros(1500, np.int64), np.ones(1500))
    assert limit_counts(lesson, sizes, samples, best, 0).counts == (200, 1000)
    no_time = Lesson.prepare(world, None, None, 0)
    assert plan_sizes(no_time, Tabular()).lengths == ()
    monkeypatch.setattr(module, "SECONDS", 0.0)
    assert plan_sizes(lesson, Tabular()).lengths == ()
    assert limit_counts(lesson, sizes, samples, best, 0).counts == (200,)  # fewer cost nothing


def scored_rules(seed: int, n: int = 120) -> RuleSet:
    rng = np.random.default_rng(seed)
    rules = {
        Rule(f"r{rng.integers(3)}", tuple(f"s{rng.integers(4)}" for _ in range(rng.integers(1, 6)))) for _ in range(n)
    }
    named = {Rule(f"r{rng.integers(3)}", ("s0",), (f"c{i}", None)) for i in range(20)}
    return RuleSet(
        [(rule, {"score": float(rng.integers(8)) / 8, "confidence": 0.5}) for rule in sorted(rules)]
        + [(rule, {"confidence": 0.5}) for rule in sorted(named)]
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_size_has_the_best_chains_of_each_relation_and_all_rules_with_constants(seed: int) -> None:
    rules = scored_rules(seed)
    sizes = Sizes(Size(3, 6), 3, (4, 5), (3, 15))
    members = list_members(rules, sizes)
    assert set(members) == {(3, 6), (4, 6), (5, 6), (3, 3), (3, 15)}
    for size, part in members.items():
        kept = [rule for rule, taken in zip(rules, part, strict=True) if taken]
        for relation in rules.relations:
            own = [r for r in rules if r.rule.head_relation == relation and r.rule.constants is None]
            for lengths in ({1, 2, 3}, {4}, {5}):
                there = [r for r in own if len(r.rule.body) in lengths]
                number = (
                    size.per_relation if 1 in lengths else sizes.usual.per_relation * (min(lengths) <= size.max_length)
                )
                taken = [r for r in kept if r in there]
                assert len(taken) == min(number, len(there))
                left = [r.score for r in there if r not in taken]
                assert not left or not taken or max(map(float, left)) <= min(float(r.score) for r in taken)  # type: ignore[arg-type]
        assert sum(r.rule.constants is not None for r in kept) == 20
    for few, many in (((3, 3), (3, 6)), ((3, 6), (3, 15)), ((3, 6), (4, 6)), ((4, 6), (5, 6))):
        assert not (members[Size(*few)] & ~members[Size(*many)]).any()  # nested


@given(st.lists(st.integers(1, 5), max_size=20))
def test_members_of_a_group_are_numbered(sizes: list[int]) -> None:
    groups = np.repeat(np.arange(len(sizes)) * 7, sizes)
    assert number_within_groups(groups).tolist() == [i for size in sizes for i in range(size)]


def test_the_best_are_kept_apart_by_length(world: Dataset) -> None:
    samples = sample_rules(world.graph, 20_000, max_length=5)
    scored = count_candidates(samples, 5.0)
    short, four, five = keep_best_by_length([scored], samples, world.graph.n_relations, 6, 3, 2)
    for found, lengths, k in ((short, {1, 2, 3}, 6), (four, {4}, 2), (five, {5}, 2)):
        here = np.isin(samples.lengths[scored.bodies], list(lengths))
        for head in np.unique(scored.heads).tolist():
            best = np.sort(scored.scores[here & (scored.heads == head)])[::-1][:k]
            np.testing.assert_array_equal(found.scores[found.heads == head], best)
            assert set(samples.lengths[found.bodies].tolist()) <= lengths


def test_samples_up_to_a_length_are_those_of_its_bodies(world: Dataset) -> None:
    samples = sample_rules(world.graph, 20_000, max_length=5)
    short = samples.up_to(3)
    assert short.max_length == 3
    cells = {
        (tuple(samples.bodies[b][samples.bodies[b] >= 0].tolist()), h): n
        for b, h, n in zip(samples.cell_bodies, samples.cell_heads.tolist(), samples.cell_counts.tolist(), strict=True)
        if samples.lengths[b] <= 3
    }
    ours = {
        (tuple(short.bodies[b][short.bodies[b] >= 0].tolist()), h): n
        for b, h, n in zip(short.cell_bodies, short.cell_heads.tolist(), short.cell_counts.tolist(), strict=True)
    }
    assert ours == cells
    assert samples.up_to(5) is samples
