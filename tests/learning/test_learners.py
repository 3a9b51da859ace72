"""From a graph to rules: Tabular and StableRule, and their folder on disk."""

from __future__ import annotations

import builtins
import inspect
import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Rule, households, newsroom
from stablerule.errors import InputError, MissingExtra, OptionError, ReadError, WriteError
from stablerule.learning import Mining, StableRule, Tabular, fitting
from stablerule.learning.checkpoints import Checkpoints, Progress
from stablerule.learning.extraction import (
    Candidates,
    keep_best_bodies,
    list_scored_bodies,
    name_learned_rules,
    smooth_sample_counts,
)
from stablerule.learning.fitting import sample_paths
from stablerule.learning.options import FEW_RELATIONS, PAPER_SIZES, Decorrelation, Training
from stablerule.learning.plan import FEW_RULES, MANY_RULES, choose_rule_count
from stablerule.reasoning import Reasoner
from stablerule.reasoning.learned import Course, Lesson
from stablerule.reasoning.option_types import join_options
from stablerule.registry import MODELS, load_model
from stablerule.samples import RuleSamples, sample_rules
from tests.worlds import share_found

# How answers are weighed is chosen elsewhere: here it would take most of the time.
SMALL: dict[str, dict[str, Any]] = {
    "tabular": {"walks": 60_000, "aggregation": "max_plus"},
    "stablerule": {
        "walks": 60_000,
        "aggregation": "max_plus",
        "training.steps": 60,
        "training.size": 16,
        "training.batch_size": 500,
    },
}
WORLD = households(families=6, seed=0)


@pytest.fixture(scope="module", params=list(SMALL))
def fitted(request: pytest.FixtureRequest) -> Reasoner:
    return MODELS[request.param].with_options(SMALL[request.param]).fit(WORLD.dataset.graph)


# --- extraction ----------------------------------------------------------------------------------------------------

candidate = st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from([0.1, 0.25, 0.5, 0.9]))


@given(st.lists(candidate, max_size=40, unique_by=lambda c: c[:2]), st.integers(1, 4), st.integers(1, 7))
def test_the_best_are_kept_whatever_the_blocks(rows: list[tuple[int, int, float]], k: int, block: int) -> None:
    rows = sorted(rows)
    parts = [rows[i : i + block] for i in range(0, len(rows), block)]
    best = keep_best_bodies((Candidates(*(np.array(c) for c in zip(*part, strict=True))) for part in parts), 2, k)
    expected = set()
    for head in range(4):
        of_head = sorted((r for r in rows if r[1] == head), key=lambda r: (-r[2], r[0]))
        expected |= set(of_head[:k])
    assert set(zip(*(column.tolist() for column in best), strict=True)) == expected


def test_the_network_is_worth_some_samples() -> None:
    samples = sample_rules(WORLD.dataset.graph, 5000, seed=0)
    relations = 2 * samples.n_relations
    rows = np.flatnonzero(samples.closed)[5:25]
    p = np.random.default_rng(0).dirichlet(np.ones(relations + 1), size=len(rows))
    alone, mixed, counted = (list_scored_bodies(rows, p, samples, worth) for worth in (None, 20.0, 0.0))
    counts = {(b, h): n for b, h, n in zip(samples.cell_bodies, samples.cell_heads, samples.cell_counts, strict=True)}
    seen = 0
    for i, (body, head) in enumerate(zip(mixed.bodies.tolist(), mixed.heads.tolist(), strict=True)):
        own, walked, count = p[rows.tolist().index(body), head], samples.totals[body], counts.get((body, head), 0)
        assert (alone.bodies[i], alone.heads[i], alone.scores[i]) == (body, head, own)
        assert mixed.scores[i] == pytest.approx((count + 20 * own) / (walked + 20))
        assert counted.scores[i] == pytest.approx(count / walked)
        assert (samples.lengths[body], samples.bodies[body, 0]) != (1, head)  # r <- r
        seen += count > 0
    assert seen >= 20


def test_few_relations_have_more_rules() -> None:
    def graph(relations: int) -> Graph:
        return Dataset.from_names("x", train=[("a", f"r{i}", "b") for i in range(relations)]).graph

    assert (choose_rule_count(graph(3)), choose_rule_count(graph(FEW_RELATIONS))) == (MANY_RULES, FEW_RULES)


def test_ids_become_names() -> None:
    graph = Dataset.from_names("x", train=[("a", "r", "b"), ("b", "s", "c")]).graph
    frame = name_learned_rules(graph, np.array([[0, 3, -1], [1, -1, -1]], np.int32), np.array([1, 2]))
    assert frame.rows() == [("s", ["r", "~s"]), ("~r", ["s"])]


# --- what is learned -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", list(SMALL))
@pytest.mark.parametrize("make", [newsroom, households])
def test_true_rules_are_among_the_best(method: str, make: Any) -> None:
    world = make(seed=0)
    model = MODELS[method].with_options({"constants": False, "aggregation": "max_plus"}).fit(world.dataset.graph)
    assert share_found(model, world) > 0.9


def test_the_numbers_of_a_true_rule(fitted: Reasoner) -> None:
    rule = Rule("child_of", ("~parent_of",))
    scored = next(s for s in fitted.rules.filter(head_relation="child_of") if s.rule == rule)
    assert scored.support is not None
    assert scored.body_count is not None
    assert scored.confidence == pytest.approx(scored.support / (scored.body_count + 5))
    assert (scored.confidence or 0) > 0.5
    assert 0 < (scored.score or 0) <= 1


def test_no_rule_says_itself_and_none_is_without_support(fitted: Reasoner) -> None:
    for scored in fitted.rules:
        itself = scored.rule.constants is None or scored.rule.constants[0] == scored.rule.constants[1]
        assert not (itself and scored.rule.body == (scored.rule.head_relation,))
        assert (scored.support or 0) >= 1
    chains = fitted.rules.filter(kind="chains")
    assert max(len(rules) for rules in chains.per_relation().values()) <= MANY_RULES


@pytest.mark.slow
@pytest.mark.parametrize("method", list(SMALL))
def test_same_seed_same_rules(method: str) -> None:
    graph = WORLD.dataset.graph
    one, two = (MODELS[method].with_options(SMALL[method]).fit(graph).rules for _ in range(2))
    assert one == two
    assert MODELS[method].with_options(SMALL[method] | {"seed": 5}).fit(graph).rules != one


def test_smoothed_counts_by_hand() -> None:
    samples = sample_rules(Dataset.from_names("x", train=[("a", "r", "b"), ("a", "s", "b")]).graph, 400)
    cell = 0
    body, head = samples.cell_bodies[cell], samples.cell_heads[cell]
    prior = samples.cell_counts[samples.cell_heads == head].sum() / samples.n_samples
    expected = (samples.cell_counts[cell] + 2 * prior) / (samples.totals[body] + 2)
    assert smooth_sample_counts(samples, 2.0)[cell] == pytest.approx(expected)


@pytest.mark.parametrize(
    "options",
    [
        {"decorrelation": None},
        {"decorrelation.moment_order": 1},
        {"mining.backtracking": False},
        {"decorrelation.features": "rff"},
        {"decorrelation.literal": True},
        {"decorrelation.restart": True, "decorrelation.weight_steps": 3},
        {"training.order": "lengths"},
        {"training.selector": "argmax"},
        {"mining.negatives": "paper"},
        {"mining.min_length": 2, "max_length": 2},
        {"max_length": 4, "rules_per_relation": 5},
        {"decorrelation.random": True},
        {"training.patience": None},
        {"training.held_out": 0.0},
    ],
)
def test_every_variant_learns(options: dict[str, Any]) -> None:
    settings = SMALL["stablerule"] | {"training.steps": 8, "walks": 5_000, "training.warm_up": 2} | options
    model = StableRule.with_options(settings).fit(WORLD.dataset.graph)
    assert len(model.rules) > 10
    assert model.options == join_options(StableRule().options, settings)


def test_odd_graphs() -> None:
    settings = SMALL["stablerule"] | {"training.steps": 5, "walks": 2_000}
    for facts in (
        [("a", "r", "b")],
        [("a", "r", "a")],
        [("a", "r", "b"), ("b", "r", "a"), ("c", "s", "c")],
    ):
        for model in (StableRule.with_options(settings), Tabular(walks=2_000)):
            model.fit(Dataset.from_names("odd", train=facts).graph)
            assert all(s.support for s in model.rules)


# --- options and plans ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"training.size": 0}, "'training.size' must be at least 1, got 0"),
        ({"walks": 0}, "'walks' of StableRule must be at least 1"),
        ({"training.learning_rate": -1}, "'training.learning_rate' must be above 0"),
        ({"training.held_out": 1.0}, "'training.held_out' must be at least 0 and below 1"),
        ({"training.order": "random"}, "'training.order' of StableRule must be 'lengths' or 'mixed'"),
        ({"training": Training(order="random")}, "'order' of Training must be 'lengths' or 'mixed'"),  # type: ignore[arg-type]
        ({"training": 3}, "'training' of StableRule must be a Training, got 3"),
        ({"decorrelation.moment_order": 0}, "'decorrelation.moment_order' must be at least 1"),
        ({"decorrelation": None, "decorrelation.moment_order": 1}, "'decorrelation' is None, so decorrelation.moment"),
        ({"max_length": 9}, "max_length"),
        ({"training.selector": "best"}, "'training.selector' of StableRule must be"),
        ({"device": "cuda:7"}, "torch has no such device"),
    ],
)
def test_bad_options_are_refused_by_name_when_fitting(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        StableRule.with_options(SMALL["stablerule"] | options).fit(WORLD.dataset.graph)


def test_bad_options_of_tabular() -> None:
    for options in ({"smoothing": -1}, {"rules_per_relation": 0}, {"walks": -5}):
        with pytest.raises(OptionError, match=next(iter(options))):
            Tabular(**options).fit(WORLD.dataset.graph)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"no option 'smooth'. Closest: 'smoothing'"):
        Tabular.with_options({"smooth": 1})


def test_a_learner_that_has_not_learned_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not fitted. Call fit\(graph\) first."):
        _ = Tabular().rules
    with pytest.raises(InputError, match=r"is not fitted. Call fit\(graph\) first."):
        Tabular().save(tmp_path / "m")


def test_the_papers_settings_are_all_that_it_prints() -> None:
    fb, weights = StableRule.paper("fb15k-237").training, StableRule.paper("fb15k-237").decorrelation
    assert (fb.batch_size, fb.size, fb.steps, fb.learning_rate, fb.order) == (5000, 1024, 5000, 5e-4, "lengths")
    assert weights == Decorrelation(moment_order=2, weight_steps=100, weight_rate=0.01, restart=True, literal=True)
    umls = StableRule.paper("umls")
    assert umls.mining.min_length == 2
    assert umls.decorrelation == weights  # as printed: the literal form
    assert StableRule.paper("umls", seed=3).seed == 3
    with pytest.raises(OptionError, match=r"No paper settings for 'fb15k'. Closest: 'fb15k-237'"):
        StableRule.paper("fb15k")
    for name in PAPER_SIZES:
        StableRule.paper(name).check_options()


def test_groups_hold_most_options_and_describe_each() -> None:
    arguments = inspect.signature(StableRule).parameters
    assert {name for name, p in arguments.items() if is_dataclass(p.default)} == {"mining", "decorrelation", "training"}
    for group in (Mining, Decorrelation, Training):
        told = inspect.getdoc(group)
        assert told is not None
        assert all(re.search(rf"\b{field.name}\b", told) for field in fields(group)), group


def test_a_plan_says_what_will_be_done_and_warns_of_hours() -> None:
    graph = WORLD.dataset.graph
    small = StableRule().plan(graph)
    assert small.walks == 400_000
    assert small.steps == Training().steps
    assert small.bodies > 0
    assert "walks" in small.lines()[0]
    assert len(small.lines()) == 3
    assert small.lines(minutes=5)[-1] == "time budget: 5 minutes"
    paper = StableRule.paper("yago3-10").plan(graph)
    assert paper.steps == 10_000
    assert paper.seconds > 3600
    assert "takes hours" in paper.lines()[-1]


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'stablerule\[learn\]'"):
        StableRule().fit(WORLD.dataset.graph)


# --- on disk -------------------------------------------------------------------------------------------------------


def test_a_saved_model_loads_as_the_same_model(fitted: Reasoner, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m", source="households")
    loaded = load_model(tmp_path / "m")
    assert type(loaded) is type(fitted)
    assert loaded.rules == fitted.rules
    assert loaded.options == fitted.options
    assert loaded.vocabulary_ == WORLD.dataset.vocabulary
    assert loaded.data_.sha256 == WORLD.dataset.graph.sha256
    assert loaded.data_.source == "households"
    about = json.loads((tmp_path / "m" / "model.json").read_text())
    assert about["versions"]["stablerule"]
    assert not list((tmp_path / "m").glob("*.pkl"))
    assert len({path.stat().st_mode for path in (tmp_path / "m").iterdir()}) == 1
    with pytest.raises(WriteError, match="already exists"):
        fitted.save(tmp_path / "m")
    fitted.save(tmp_path / "m", overwrite=True)


def test_folders_that_are_no_models(fitted: Reasoner, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such folder. Train one with: stablerule learn DATA -o .*nowhere"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(ReadError, match="not a model: the folder has no model.json.* stablerule learn DATA -o MODEL"):
        load_model(tmp_path)
    folder = tmp_path / "m"
    fitted.save(folder)
    with pytest.raises(ReadError, match=f"a file inside a model. Pass its folder: {folder}"):
        load_model(folder / "model.json")
    (tmp_path / "facts.tsv").write_text("")
    with pytest.raises(ReadError, match="a file, but a model is a folder"):
        load_model(tmp_path / "facts.tsv")
    good = json.loads((folder / "model.json").read_text())

    def change(**parts: Any) -> None:
        (folder / "model.json").write_text(json.dumps(good | parts))

    change(format=99, versions={"stablerule": "9.0"})
    with pytest.raises(ReadError, match=r"written by stablerule 9.0 in format 99; this version reads up to 3"):
        load_model(folder)
    change(method="oracle")
    with pytest.raises(ReadError, match="unknown method 'oracle'"):
        load_model(folder)
    change(rules=3)
    with pytest.raises(ReadError, match=r"rules.parquet: damaged \(.* rules instead of 3"):
        load_model(folder)
    (folder / "model.json").write_text("{")
    with pytest.raises(ReadError, match=r"(model.json|rules.parquet): damaged \("):
        load_model(folder)
    change()
    rules = folder / "rules.parquet"
    whole = rules.read_bytes()
    rules.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match=r"(model.json|rules.parquet): damaged \("):
        load_model(folder)
    pl.DataFrame({"x": [1]}).write_parquet(rules)
    with pytest.raises(ReadError, match=r"(model.json|rules.parquet): damaged \("):
        load_model(folder)
    rules.unlink()
    with pytest.raises(ReadError, match=r"(model.json|rules.parquet): damaged \("):
        load_model(folder)


def test_a_loaded_model_keeps_its_network(tmp_path: Path) -> None:
    StableRule.with_options(SMALL["stablerule"] | {"training.steps": 3}).fit(WORLD.dataset.graph).save(tmp_path / "one")
    load_model(tmp_path / "one").save(tmp_path / "two")
    network = tmp_path / "two" / "network.safetensors"
    assert network.read_bytes() == (tmp_path / "one" / "network.safetensors").read_bytes()
    network.write_bytes(network.read_bytes()[:-10])
    with pytest.raises(ReadError, match=r"network.safetensors: damaged \(its checksum is wrong"):
        load_model(tmp_path / "two")._tensors()


def test_models_of_the_first_format_load(tmp_path: Path) -> None:
    """Their options had no groups, `minutes` was one of them, and the course of training lay open."""
    StableRule.with_options(SMALL["stablerule"] | {"training.steps": 3}).fit(WORLD.dataset.graph).save(
        tmp_path / "m", graph=False
    )
    about = json.loads((tmp_path / "m" / "model.json").read_text())
    about = {name: value for name, value in about.items() if name not in ("kept", "checksums")}
    options: dict[str, Any] = {
        "max_length": 2,
        "min_length": 2,
        "size": 16,
        "steps": 3,
        "decorrelate": False,
        "moment_order": 2,
    }
    options |= {"moment_order": 2, "random_weights": False, "literal": True, "smoothing": None}
    options |= {"minutes": 5.0, "seed": 7}
    (tmp_path / "m" / "model.json").write_text(json.dumps(about | {"format": 1, "options": options}))
    learned = json.loads((tmp_path / "m" / "learned.json").read_text())
    old = {"samples": 9, "bodies": 4, "size": 16, "seconds": 1.5, "interrupted": True, "steps": [{"loss": 2.0}]}
    old |= {"checks": [], "aggregation": learned["aggregation"], "choice": learned["choice"]}
    old |= {"calibration": {"none_because": "too few"}}
    (tmp_path / "m" / "learned.json").write_text(json.dumps(old))
    model = load_model(tmp_path / "m")
    assert isinstance(model, StableRule)
    expected = StableRule(
        max_length=2,
        mining=Mining(min_length=2),
        decorrelation=None,
        training=Training(size=16, steps=3, smoothing=None),
        seed=7,
    )
    assert model.options == expected.options
    assert (model.learned_.samples, model.learned_.bodies, model.learned_.interrupted) == (9, 4, True)
    assert model.learned_.course == Course(steps=[{"loss": 2.0}], ended_by="interrupt", seconds=1.5)
    assert model.learned_.calibration == "too few"
    assert model.network().size == 16
    model.save(tmp_path / "again")
    assert load_model(tmp_path / "again").learned_ == model.learned_


class Killed(Exception):
    pass


def test_a_killed_run_goes_on_with_another_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is no part of what a run is; its walks are, or the samples would not fit the checkpoint."""
    graph, valid = WORLD.dataset.graph, WORLD.dataset.valid
    learner = StableRule.with_options(SMALL["stablerule"] | {"walks": None, "training.patience": None})
    began = []

    def walk(lesson: Lesson, o: StableRule, walks: int, longest: int) -> RuleSamples:
        began.append(walks)
        return sample_paths(lesson, o, walks, longest)

    monkeypatch.setattr(fitting, "sample_paths", walk)
    # All that a small budget has time for.
    monkeypatch.setattr(fitting, "choose_walks_in_time", lambda lesson, o: 50_000)
    monkeypatch.setattr(Checkpoints, "is_due", lambda self: True)
    with monkeypatch.context() as dying:
        keep = Checkpoints.keep

        def keep_and_die(self: Checkpoints, at: Progress, *state: Any) -> None:
            keep(self, at, *state)
            if at.step == 20:
                raise Killed

        dying.setattr(Checkpoints, "keep", keep_and_die)
        with pytest.raises(Killed):
            learner.fit(graph, valid, minutes=1, checkpoint=tmp_path / "kept")
    monkeypatch.setattr(fitting, "choose_walks_in_time", lambda lesson, o: 400_000)
    resumed = learner.fit(graph, valid, minutes=60, checkpoint=tmp_path / "kept", resume=True)
    assert began == [50_000, 50_000]
    course = resumed.learned_.course
    assert course is not None
    assert len(course.steps) == 60
    with pytest.raises(ReadError, match=r"another run: .*training.size.* differ"):
        StableRule.with_options(learner.options | {"training.size": 8}).fit(
            graph, valid, checkpoint=tmp_path / "kept", resume=True
        )


def test_repr_shows_what_was_changed() -> None:
    assert repr(StableRule(max_length=2, seed=1)) == "StableRule(max_length=2, seed=1)"
    assert repr(Tabular()) == "Tabular()"
    assert repr(StableRule(decorrelation=None)) == "StableRule(decorrelation=None)"
    assert repr(StableRule(training=Training(size=8))) == "StableRule(training.size=8)"
