"""What queries show of themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stablerule import Dataset
from stablerule.evaluation import evaluate
from stablerule.learning import GivenRules
from stablerule.shifts import QuerySet
from stablerule.shifts.profile import BODIES_OF_A_RELATION, Profiler, _cut_into_fifths
from tests.paths.plain import reached
from tests.shifts.newsrooms import first, judged


def test_a_profile_is_what_the_model_says() -> None:
    world = judged()
    queries = first(world.queries("test"), 40)
    profiler = world.profiler()
    profile = profiler.profile(queries)
    assert len(profile) == 40
    words = world.dataset.vocabulary
    for row in range(40):
        entity, relation = int(queries.entities[row]), int(queries.relations[row])
        assert profile.degrees[row] == len(world.graph.edges(entity)[0])
        fired = set(profile.fires[[row]].indices.tolist())
        own = np.flatnonzero(profiler.body_relations == relation).tolist()
        bodies = {body: tuple(step for step in profiler.bodies[body].tolist() if step >= 0) for body in own}
        assert fired == {body for body, steps in bodies.items() if reached(world.graph, entity, steps)}
        asked = (words.entities[entity], words.relation_name(relation))
        answers = next(iter(world.model.answer([asked], 10_000, known=world.graph)))
        assert profile.candidates[row] == len(answers)
        scores = [answer.score for answer in answers[:2]] + [0.0, 0.0]
        np.testing.assert_allclose([profile.best[row], profile.second[row]], scores[:2])
    assert profile.answered.all() == (profile.candidates > 0).all()


def test_only_the_side_of_the_query_is_looked_at() -> None:
    world = judged()
    queries = first(world.queries("test"), 60)
    profiler = world.profiler()
    shown, hidden = profiler.profile(queries), profiler.profile(queries.without_answers())
    for name in ("degrees", "candidates", "best", "second"):
        np.testing.assert_array_equal(getattr(shown, name), getattr(hidden, name))
    assert (shown.fires != hidden.fires).nnz == 0


def test_some_of_them() -> None:
    world = judged()
    profile = world.profiler().profile(first(world.queries("test"), 10))
    some = profile.take(np.array([3, 1]))
    assert some.degrees.tolist() == profile.degrees[[3, 1]].tolist()
    assert some.relations.tolist() == profile.relations[[3, 1]].tolist()
    assert some.fires.toarray().tolist() == profile.fires.toarray()[[3, 1]].tolist()
    empty = world.profiler().profile(first(world.queries("test"), 0))
    assert len(empty) == len(empty.answered) == 0


def test_bodies_are_those_of_the_best_rules_by_name() -> None:
    world = judged()
    profiler = world.profiler()
    counts = np.bincount(profiler.body_relations)
    assert 0 < counts.max() <= BODIES_OF_A_RELATION
    assert len(profiler.trust) == len(profiler.bodies) == len(profiler.body_relations)
    names = {profiler.body_name(body) for body in range(len(profiler.bodies))}
    assert "works_for <- plays_in, squad_of" in names
    assert "~works_for <- ~squad_of, ~plays_in" in names


def test_ranks_are_those_of_the_evaluator() -> None:
    world = judged()
    found = world.profiler().reciprocal_ranks(world.queries("test"), world.known)
    assert float(found.mean()) == pytest.approx(evaluate(world.model, world.dataset).mrr)


def test_a_model_without_chain_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("2\t1\t0.5\ts(X,c) <= r(X,b)\n")
    graph = Dataset.from_names("tiny", train=[("a", "r", "b"), ("d", "r", "b"), ("d", "s", "c")]).graph
    model = GivenRules(file=str(tmp_path / "rules.txt"), aggregation="max_plus").fit(graph)
    profile = Profiler(model, graph).profile(QuerySet.from_names([("a", "s", "?"), ("b", "s", "?")], graph))
    assert profile.fires.shape == (2, 0)
    assert profile.candidates.tolist() == [1, 0]
    assert profile.best[0] > profile.best[1] == 0
    assert profile.answered.tolist() == [True, False]


def test_groups_that_only_answers_show() -> None:
    world = judged()
    queries = world.queries("valid")
    by_answer, by_sparser, by_paths = world.profiler().answer_groups(queries)
    for groups in (by_answer, by_sparser, by_paths):
        assert len(groups) == len(queries)
        assert set(groups.tolist()) <= set(range(5))
    degrees = world.graph.degrees[queries.answers]
    for low, high in zip(range(4), range(1, 5), strict=True):
        if (by_answer == low).any() and (by_answer == high).any():
            assert degrees[by_answer == low].max() < degrees[by_answer == high].min()


def test_fifths() -> None:
    assert np.bincount(_cut_into_fifths(np.arange(100))).tolist() == [20] * 5
    assert _cut_into_fifths(np.zeros(7)).tolist() == [0] * 7
    assert len(set(_cut_into_fifths(np.array([1, 1, 1, 1, 9])).tolist())) == 2
