"""The same checks for every method: it learns, is judged, kept, taken up again, and refuses what makes no sense.

Each distribution has a module of tests that imports all of these and names its methods as TESTED.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import FrozenInstanceError, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import Dataset, Graph, Triples, evaluate, households, load_model, write_dataset
from stablerule.errors import InputError, OptionError
from stablerule.reasoning import Reasoner
from stablerule.reasoning.option_types import rename_options
from stablerule.registry import METHODS, MODELS
from tests.contract.learners import APART, FEW, SMALL
from tests.terminal import run

WORLD = households(families=6, seed=0).dataset
ELSEWHERE = households(families=3, seed=7).dataset
every_method = pytest.mark.every_method  # of those that are TESTED: see `parametrize_methods`


def learner(method: str, **changes: object) -> Reasoner:
    return MODELS[method].with_options(SMALL[method] | changes)


@cache
def fitted(method: str) -> Reasoner:
    return learner(method).fit(WORLD.graph, WORLD.valid)


@cache
def mrr(method: str) -> float:
    return evaluate(fitted(method), WORLD, resamples=2).mrr


def named(dataset: Dataset, n: int) -> list[tuple[str, str, str]]:
    return [(h, r, t) for h, r, t, *_ in dataset.vocabulary.decode(dataset.test).rows()][:n]


def test_every_method_is_here() -> None:
    assert set(METHODS) <= set(SMALL) | APART


@every_method
def test_it_learns_more_than_what_is_frequent(method: str) -> None:
    if method == "popularity":
        assert 0 < mrr(method) < 0.3
    else:
        assert mrr(method) > mrr("popularity") + 0.1


@every_method
def test_the_same_seed_gives_the_same_scores(method: str) -> None:
    asked = named(ELSEWHERE, 60)
    one, again = (learner(method, **FEW[method]).fit(ELSEWHERE.graph, ELSEWHERE.valid) for _ in range(2))
    assert one.score(asked) == again.score(asked)


@every_method
def test_a_kept_model_answers_the_same(method: str, tmp_path: Path) -> None:
    model = fitted(method)
    model.save(tmp_path / "m", source="households")
    loaded = load_model(tmp_path / "m")
    assert type(loaded) is type(model)
    assert loaded.options == model.options
    queries = [(h, r) for h, r, _ in named(WORLD, 30)] + [(t, f"~{r}") for _, r, t in named(WORLD, 30)]
    assert list(loaded.answer(queries)) == list(model.answer(queries))
    assert loaded.score(named(WORLD, 30)) == model.score(named(WORLD, 30))
    loaded.save(tmp_path / "again", graph=False)
    with pytest.raises(InputError, match="without its graph"):
        next(load_model(tmp_path / "again").answer(queries))
    assert list(load_model(tmp_path / "again").answer(queries, graph=WORLD.graph)) == list(model.answer(queries))


MOVED = {"mining.measure_budget"}  # options whose default is another than then
FIRST_OPTIONS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "first_options.json").read_text())


@every_method
def test_a_model_of_the_first_format_loads(method: str, tmp_path: Path) -> None:
    """Its options had no groups, `minutes` was one of them, and the course of training lay open."""
    model, folder = fitted(method), tmp_path / "m"
    model.save(folder, graph=False)
    about, learned = (json.loads((folder / name).read_text()) for name in ("model.json", "learned.json"))
    first = {name: value for name, value in about.items() if name not in ("kept", "checksums")}
    (folder / "model.json").write_text(json.dumps(first | {"format": 1, "options": FIRST_OPTIONS[method]}))
    course = learned.pop("course") or {}
    (folder / "learned.json").write_text(json.dumps(learned | course))
    loaded = load_model(folder)
    then = rename_options(FIRST_OPTIONS[method], MODELS[method].old_names)
    assert loaded.options == model.options | {name: then[name] for name in MOVED & set(then)}
    assert loaded.learned_.course == model.learned_.course
    assert loaded.score(named(WORLD, 30), graph=WORLD.graph) == model.score(named(WORLD, 30))


def test_every_method_that_had_other_options_is_known_by_them() -> None:
    assert {method for method in METHODS if MODELS[method].old_names} <= set(FIRST_OPTIONS)
    for method, options in FIRST_OPTIONS.items():
        renamed = rename_options(options, MODELS[method].old_names)
        assert set(renamed) <= set(MODELS[method].list_option_names())
        kept = [value for name, value in options.items() if name not in ("minutes", "decorrelate")]
        assert [renamed[name] for name in renamed] == kept


@every_method
def test_answers_are_in_order_and_leave_out_what_is_known(method: str) -> None:
    model, (head, relation, _) = fitted(method), named(WORLD, 1)[0]
    (found,) = model.answer([(head, relation)], k=8)
    scores = [answer.score for answer in found]
    assert found
    assert head not in [answer.entity for answer in found]
    if method not in ("stablerule", "tabular"):  # rules may be ordered by more than the score
        assert scores == sorted(scores, reverse=True)
    (new,) = model.answer([(head, relation)], k=8, known=WORLD.graph)
    words = WORLD.vocabulary
    known = WORLD.graph.tails(words.entity_id(head), words.relation_id(relation)).tolist()
    assert not {words.entity_id(answer.entity) for answer in new} & set(known)
    (limited,) = model.answer([(head, relation)], k=8, candidates=[found[-1].entity])
    assert [answer.entity for answer in limited] in ([found[-1].entity], [])


@every_method
def test_new_facts_are_new(method: str) -> None:
    relation = WORLD.vocabulary.relation_name(0)
    facts = list(fitted(method).complete(relations=[relation], top=5))
    assert 0 < len(facts) <= 5
    rows = WORLD.vocabulary.decode(WORLD.graph.triples).select("head", "relation", "tail").rows()
    assert not {(fact.head, fact.relation, fact.tail) for fact in facts} & set(rows)
    reasons = [bool(fact.rule) for fact in facts]
    assert reasons == [bool(fact.path) for fact in facts]
    if method in ("neural-lp", "drum"):  # they score by more than the rules that they show
        assert any(reasons)
    else:
        assert reasons == [METHODS[method].explains] * len(facts)


@every_method
def test_it_explains_or_says_that_it_can_not(method: str) -> None:
    model = fitted(method)
    if METHODS[method].explains:
        assert len(model.rules)
        explained = [model.explain(triple) for triple in named(WORLD, 20)]
        assert any(explained)
        return
    for ask in (lambda: model.rules, lambda: model.explain(named(WORLD, 1)[0])):
        with pytest.raises(InputError, match=f"{method} learns no rules"):
            ask()


@every_method
def test_entities_that_it_has_not_seen(method: str) -> None:
    graph = ELSEWHERE.graph
    head, relation, _ = named(ELSEWHERE, 1)[0]
    if METHODS[method].inductive:
        (found,) = fitted(method).answer([(head, relation)], graph=graph)
        assert found
        assert evaluate(fitted(method), ELSEWHERE, resamples=2).n == 2 * len(ELSEWHERE.test.distinct())
    else:
        with pytest.raises(InputError, match="unseen entities"):
            next(fitted(method).answer([(head, relation)], graph=graph))


@every_method
def test_its_arguments_are_few_and_the_groups_are_frozen(method: str) -> None:
    arguments = inspect.signature(MODELS[method]).parameters.values()
    assert len(arguments) <= 12
    for group in filter(is_dataclass, (argument.default for argument in arguments)):
        with pytest.raises(FrozenInstanceError):
            setattr(group, fields(group)[0].name, None)


@every_method
def test_bad_options_are_named(method: str) -> None:
    with pytest.raises(OptionError, match="has no option 'nonsense'"):
        learner(method, nonsense=1)
    bad = {"seed": -1, "epochs": 0, "size": 0, "learning_rate": -1.0}
    for option in MODELS[method].list_option_names():
        _, _, name = option.rpartition(".")
        if name in bad:
            with pytest.raises(OptionError, match=re.escape(f"'{option}'")):
                learner(method, **{option: bad[name]}).fit(WORLD.graph)
    with pytest.raises(OptionError, match="minutes"):
        learner(method).fit(WORLD.graph, minutes=-1.0)
    with pytest.raises(OptionError, match="seed"):
        learner(method, seed="first")


SMALL_WORLDS = {
    "one relation": [(f"e{i}", "next", f"e{i + 1}") for i in range(12)],
    "a relation with one fact": [(f"e{i}", "next", f"e{i + 1}") for i in range(12)] + [("e1", "only", "e5")],
    "one fact": [("a", "r", "b")],
    "a loop": [("a", "r", "a"), ("a", "r", "b"), ("b", "s", "a")],
}


@every_method
@pytest.mark.parametrize("world", SMALL_WORLDS)
def test_it_survives_small_worlds(method: str, world: str) -> None:
    facts = SMALL_WORLDS[world]
    dataset = Dataset.from_names("small", train=facts, test=[(facts[0][0], facts[0][1], "isolated")])
    model = learner(method, **FEW[method]).fit(dataset.graph)
    found = evaluate(model, dataset, resamples=2)
    assert found.n == 2
    assert np.isfinite(found.mrr)
    assert np.isfinite(model.score([(facts[0][0], facts[0][1], "isolated")])).all()


@every_method
def test_an_empty_graph_is_refused(method: str) -> None:
    nothing = Graph.build(Triples.empty(), WORLD.vocabulary)
    with pytest.raises(InputError, match="no facts to learn from"):
        learner(method).fit(nothing)


@every_method
def test_a_budget_is_honoured(method: str) -> None:
    model = learner(method).fit(ELSEWHERE.graph, ELSEWHERE.valid, minutes=0.0)
    assert np.isfinite(evaluate(model, ELSEWHERE, resamples=2).mrr)
    assert model.learned_.ended_by == ("itself" if method == "popularity" else "minutes")  # it counts, in no time
    enough = learner(method, **FEW[method]).fit(ELSEWHERE.graph, ELSEWHERE.valid, minutes=60.0)
    assert enough.learned_.ended_by != "minutes"


@every_method
def test_a_plan_comes_first(method: str) -> None:
    lines = learner(method).plan_lines(WORLD.graph)
    assert lines
    assert all(isinstance(line, str) and line for line in lines)


def test_unfitted_models_say_so() -> None:
    for method in METHODS.keys() - APART:
        with pytest.raises(InputError, match=r"is not fitted. Call fit\(graph\) first."):
            learner(method).score([("a", "r", "b")])


@every_method
def test_the_command_line_learns_asks_and_judges(method: str, tmp_path: Path) -> None:
    write_dataset(ELSEWHERE, tmp_path / "data")
    options = [word for name, value in (SMALL[method] | FEW[method]).items() for word in ("--set", f"{name}={value}")]
    learned = run("learn", tmp_path / "data", "-o", tmp_path / "m", "--method", method, *options)
    assert learned.exit_code == 0, learned.output
    head, relation, _ = named(ELSEWHERE, 1)[0]
    asked = run("ask", tmp_path / "m", head, relation)
    assert asked.exit_code == 0, asked.output
    assert "rank" in asked.stdout
    judged = run("evaluate", tmp_path / "m", tmp_path / "data")
    assert judged.exit_code == 0, judged.output
    assert f"answered by {method}" in judged.stdout
    told = run("rules", tmp_path / "m")
    assert (told.exit_code == 0) == METHODS[method].explains, told.output


def test_every_method_is_listed() -> None:
    listed = run("learn", "--list")
    assert listed.exit_code == 0
    assert all(method in listed.stdout for method in METHODS)
