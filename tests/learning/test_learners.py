"""From a graph to rules: Tabular and StableRule, and their folder on disk."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Rule, households, newsroom
from stablerule.baselines import MODELS, load_model
from stablerule.errors import InputError, MissingExtra, OptionError, ReadError, WriteError
from stablerule.learning import StableRule, Tabular
from stablerule.learning.extraction import Candidates, best_of, from_scores, rule_frame
from stablerule.learning.plan import FEW_RELATIONS, FEW_RULES, MANY_RULES, rules_for
from stablerule.learning.presets import PRESETS
from stablerule.learning.tabular import smoothed
from stablerule.reasoning import Reasoner
from stablerule.samples import sample_rules
from tests.worlds import share_found

# How answers are weighed is chosen elsewhere: here it would take most of the time.
SMALL: dict[str, dict[str, Any]] = {
    "tabular": {"walks": 60_000, "aggregation": "max_plus"},
    "stablerule": {"walks": 60_000, "steps": 60, "size": 16, "batch_size": 500, "aggregation": "max_plus"},
}
WORLD = households(families=6, seed=0)


@pytest.fixture(scope="module", params=list(SMALL))
def fitted(request: pytest.FixtureRequest) -> Reasoner:
    return MODELS[request.param](**SMALL[request.param]).fit(WORLD.dataset.graph)


# --- extraction ----------------------------------------------------------------------------------------------------

candidate = st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from([0.1, 0.25, 0.5, 0.9]))


@given(st.lists(candidate, max_size=40, unique_by=lambda c: c[:2]), st.integers(1, 4), st.integers(1, 7))
def test_the_best_are_kept_whatever_the_blocks(rows: list[tuple[int, int, float]], k: int, block: int) -> None:
    rows = sorted(rows)
    parts = [rows[i : i + block] for i in range(0, len(rows), block)]
    best = best_of((Candidates(*(np.array(c) for c in zip(*part, strict=True))) for part in parts), 2, k)
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
    alone, mixed, counted = (from_scores(rows, p, samples, worth) for worth in (None, 20.0, 0.0))
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

    assert (rules_for(graph(3)), rules_for(graph(FEW_RELATIONS))) == (MANY_RULES, FEW_RULES)


def test_ids_become_names() -> None:
    graph = Dataset.from_names("x", train=[("a", "r", "b"), ("b", "s", "c")]).graph
    frame = rule_frame(graph, np.array([[0, 3, -1], [1, -1, -1]], np.int32), np.array([1, 2]))
    assert frame.rows() == [("s", ["r", "~s"]), ("~r", ["s"])]


# --- what is learned -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", list(SMALL))
@pytest.mark.parametrize("make", [newsroom, households])
def test_true_rules_are_among_the_best(method: str, make: Any) -> None:
    found = []
    for seed in (0, 2):
        world = make(seed=seed)
        found.append(
            share_found(
                MODELS[method].with_options({"constants": False, "aggregation": "max_plus"}).fit(world.dataset.graph),
                world,
            )
        )
    assert np.mean(found) > 0.9


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


@pytest.mark.parametrize("method", list(SMALL))
def test_same_seed_same_rules(method: str) -> None:
    graph = WORLD.dataset.graph
    one, two = (MODELS[method](**SMALL[method]).fit(graph).rules for _ in range(2))
    assert one == two
    assert MODELS[method].with_options(SMALL[method] | {"seed": 5}).fit(graph).rules != one


def test_smoothed_counts_by_hand() -> None:
    samples = sample_rules(Dataset.from_names("x", train=[("a", "r", "b"), ("a", "s", "b")]).graph, 400)
    cell = 0
    body, head = samples.cell_bodies[cell], samples.cell_heads[cell]
    prior = samples.cell_counts[samples.cell_heads == head].sum() / samples.n_samples
    expected = (samples.cell_counts[cell] + 2 * prior) / (samples.totals[body] + 2)
    assert smoothed(samples, 2.0)[cell] == pytest.approx(expected)


@pytest.mark.parametrize(
    "options",
    [
        {"decorrelate": False},
        {"moment_order": 1},
        {"backtracking": False},
        {"features": "rff"},
        {"literal": True},
        {"restart": True, "weight_steps": 3},
        {"order": "lengths"},
        {"selector": "argmax"},
        {"negatives": "paper"},
        {"min_length": 2, "max_length": 2},
        {"max_length": 4, "rules_per_relation": 5},
        {"random_weights": True},
        {"patience": None},
        {"held_out": 0.0},
    ],
)
def test_every_variant_learns(options: dict[str, Any]) -> None:
    settings = SMALL["stablerule"] | {"steps": 8, "walks": 5_000, "warm_up": 2} | options
    model = StableRule(**settings).fit(WORLD.dataset.graph)
    assert len(model.rules) > 10
    assert model.options == {**StableRule().options, **settings}


def test_odd_graphs() -> None:
    settings = SMALL["stablerule"] | {"steps": 5, "walks": 2_000}
    for facts in (
        [("a", "r", "b")],
        [("a", "r", "a")],
        [("a", "r", "b"), ("b", "r", "a"), ("c", "s", "c")],
    ):
        for model in (StableRule(**settings), Tabular(walks=2_000)):
            model.fit(Dataset.from_names("odd", train=facts).graph)
            assert all(s.support for s in model.rules)


# --- options and plans ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"size": 0}, "'size' of StableRule must be at least 1, got 0"),
        ({"walks": 0}, "'walks' of StableRule must be at least 1"),
        ({"learning_rate": -1}, "'learning_rate' of StableRule must be above 0"),
        ({"held_out": 1.0}, "'held_out' of StableRule must be a share below 1"),
        ({"order": "random"}, "'order' of StableRule must be 'lengths' or 'mixed'"),
        ({"moment_order": 0}, "moment_order must be at least 1"),
        ({"max_length": 9}, "max_length"),
        ({"selector": "best"}, "'selector' of StableRule must be"),
        ({"device": "cuda:7"}, "torch has no such device"),
    ],
)
def test_bad_options_are_refused_by_name_when_fitting(options: dict[str, Any], problem: str) -> None:
    model = StableRule(**(SMALL["stablerule"] | {"steps": 2} | options))
    with pytest.raises(OptionError, match=problem):
        model.fit(WORLD.dataset.graph)


def test_bad_options_of_tabular() -> None:
    for options in ({"smoothing": -1}, {"rules_per_relation": 0}, {"walks": -5}):
        with pytest.raises(OptionError, match=next(iter(options))):
            Tabular(**options).fit(WORLD.dataset.graph)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"no option 'smooth'. Closest: 'smoothing'"):
        Tabular.with_options({"smooth": 1})


def test_a_learner_that_has_not_learned_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has not learned anything yet"):
        _ = Tabular().rules
    with pytest.raises(InputError, match="has not learned anything yet"):
        Tabular().save(tmp_path / "m")


def test_presets_are_those_of_the_paper() -> None:
    fb = StableRule.preset("fb15k-237")
    assert (fb.batch_size, fb.size, fb.steps, fb.learning_rate, fb.weight_steps) == (5000, 1024, 5000, 5e-4, 100)
    assert (fb.min_length, fb.order, fb.restart) == (2, "lengths", True)
    assert StableRule.preset("laptop").options == StableRule().options
    assert StableRule.preset("umls", seed=3).seed == 3
    with pytest.raises(OptionError, match=r"no preset 'fb15k'. Closest: 'fb15k-237'"):
        StableRule.preset("fb15k")
    for name in PRESETS:
        StableRule.preset(name)


def test_a_plan_says_what_will_be_done_and_warns_of_hours() -> None:
    graph = WORLD.dataset.graph
    small = StableRule().plan(graph)
    assert small.walks == 400_000
    assert small.steps == StableRule()._sizes(graph)[2]
    assert small.bodies > 0
    assert "walks" in small.lines()[0]
    assert len(small.lines()) == 3
    paper = StableRule.preset("yago3-10").plan(graph)
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
    with pytest.raises(ReadError, match="no such folder. Make one with: stablerule learn DATA -o .*nowhere"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(ReadError, match="not the folder of a model.* stablerule learn DATA -o MODEL"):
        load_model(tmp_path)
    folder = tmp_path / "m"
    fitted.save(folder)
    with pytest.raises(ReadError, match=f"a file of a model, which is a folder. Pass that: {folder}"):
        load_model(folder / "model.json")
    (tmp_path / "facts.tsv").write_text("")
    with pytest.raises(ReadError, match="a file, and a model is a folder"):
        load_model(tmp_path / "facts.tsv")
    good = json.loads((folder / "model.json").read_text())

    def change(**parts: Any) -> None:
        (folder / "model.json").write_text(json.dumps(good | parts))

    change(format=99, versions={"stablerule": "9.0"})
    with pytest.raises(ReadError, match=r"written by stablerule 9.0 in format 99; this version reads up to 1"):
        load_model(folder)
    change(method="oracle")
    with pytest.raises(ReadError, match="unknown method 'oracle'"):
        load_model(folder)
    change(rules=3)
    with pytest.raises(ReadError, match="damaged model .* instead of 3"):
        load_model(folder)
    (folder / "model.json").write_text("{")
    with pytest.raises(ReadError, match="damaged model"):
        load_model(folder)
    change()
    rules = folder / "rules.parquet"
    whole = rules.read_bytes()
    rules.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="damaged model"):
        load_model(folder)
    pl.DataFrame({"x": [1]}).write_parquet(rules)
    with pytest.raises(ReadError, match="damaged model"):
        load_model(folder)
    rules.unlink()
    with pytest.raises(ReadError, match="damaged model"):
        load_model(folder)


def test_a_model_that_was_taken_up_keeps_its_network(tmp_path: Path) -> None:
    StableRule(**(SMALL["stablerule"] | {"steps": 3})).fit(WORLD.dataset.graph).save(tmp_path / "one")
    load_model(tmp_path / "one").save(tmp_path / "two")
    network = tmp_path / "two" / "network.safetensors"
    assert network.read_bytes() == (tmp_path / "one" / "network.safetensors").read_bytes()
    network.write_bytes(network.read_bytes()[:-10])
    with pytest.raises(ReadError, match=r"damaged model .*network.safetensors is not as long as it was"):
        load_model(tmp_path / "two")


def test_repr_shows_what_was_changed() -> None:
    assert repr(StableRule(max_length=2, seed=1)) == "StableRule(max_length=2, seed=1)"
    assert repr(Tabular()) == "Tabular()"
