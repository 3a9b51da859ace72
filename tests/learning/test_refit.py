"""One set of facts, no split: some choose, and all of them are measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Rule, StableRule, Tabular, households, load_model, write_triples
from stablerule.learning import refit
from stablerule.learning.extraction import find_constant_rules
from stablerule.reasoning.learned import Lesson
from tests.terminal import fails, run
from tests.worlds import random_graph

WORLD = households(families=2, seed=0).dataset
FEW = {"walks": 20_000, "max_length": 2}


@pytest.fixture(autouse=True)
def few_facts_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refit, "FEWEST", 30)


def pairs(graph: Graph, relation: str) -> set[tuple[int, int]]:
    heads, tails = graph.facts(graph.vocabulary.relation_id(relation))
    return set(zip(heads.tolist(), tails.tolist(), strict=True))


def plain_support(graph: Graph, rule: Rule) -> int:
    """Pairs that are joined by the body, without a way back to where it began, and by the head relation."""
    reached = pairs(graph, rule.body[0])
    for relation in rule.body[1:]:
        step = pairs(graph, relation)
        reached = {(a, c) for a, b in reached for b_, c in step if b == b_ and a != c and a != b != c}
    return len(reached & pairs(graph, rule.head_relation))


@given(seed=st.integers(0, 50), share=st.floats(0.05, 0.4))
def test_what_is_held_out_is_taken_from_the_graph_and_leaves_no_name_behind(seed: int, share: float) -> None:
    graph = random_graph(seed, entities=12, relations=3, count=80)
    lesson = Lesson.prepare(graph, None, None, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refit, "FEWEST", 1)
        patch.setattr(refit, "HELD_OUT", share)
        part = refit.hold_out_facts_to_learn(lesson, seed)
        count = refit.count_held_out(graph)
    facts = {tuple(row) for row in graph.triples.rows.tolist()}
    rest = {tuple(row) for row in part.graph.triples.rows.tolist()}
    held_out = {tuple(row) for row in part.dataset.valid.rows.tolist()}
    assert rest | held_out == facts
    assert not rest & held_out
    assert len(held_out) <= count
    assert set(np.unique(part.graph.triples.rows[:, ::2])) == set(np.unique(graph.triples.rows[:, ::2]))
    assert set(part.graph.triples.relations.tolist()) == set(graph.triples.relations.tolist())
    assert part.examples.facts.n_facts == len(rest)


def test_rules_have_the_numbers_of_all_facts(tmp_path: Path) -> None:
    graph = WORLD.graph
    model = Tabular.with_options(FEW).fit(graph)
    learned = model.learned_
    assert learned.held_out == pytest.approx(graph.n_facts / 10, abs=1)
    assert learned.choice is not None
    assert learned.choice.chosen_on == f"{learned.held_out:,} held-out facts"
    assert learned.choice.tried
    chains = [one for one in model.rules.filter(kind="chains") if len(one.rule.body) <= 2]
    assert len(chains) > 20
    assert [one.support for one in chains] == [plain_support(graph, one.rule) for one in chains]
    constants = model.rules.filter(kind="constants")
    assert constants == find_constant_rules(graph)
    assert model.dataset.graph is graph
    assert "applies only to the graph that the model was trained on" not in str(model.calibration_for(graph))
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").learned_.held_out == learned.held_out
    again = Tabular.with_options(FEW).fit(graph)
    assert again.rules == model.rules


def test_facts_are_held_out_only_where_nothing_else_can_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, some = WORLD.graph, WORLD.graph.triples.take(np.arange(200))
    with_valid = Tabular.with_options(FEW).fit(WORLD)
    asked_not_to = Tabular.with_options(FEW).fit(graph, refit=False)
    with_examples = Tabular.with_options(FEW).fit(graph, examples=some)
    monkeypatch.setattr(refit, "FEWEST", 100_000)
    too_few = Tabular.with_options(FEW).fit(graph)
    for model in (with_valid, asked_not_to, with_examples, too_few):
        assert model.learned_.held_out is None
    assert asked_not_to.rules == too_few.rules


def test_the_network_learns_from_the_rest_and_its_rules_are_measured_on_all() -> None:
    small = {"training.steps": 10, "training.size": 8, "constants": False}
    model = StableRule.with_options(FEW | small).fit(WORLD.graph)
    assert model.learned_.held_out
    some = [one for one in model.rules if len(one.rule.body) == 1]
    assert [one.support for one in some] == [plain_support(WORLD.graph, one.rule) for one in some]


def test_the_command_line_says_so(tmp_path: Path) -> None:
    everything = Dataset.of_graph(WORLD.graph)
    write_triples(everything.frame("train"), tmp_path / "all.tsv")
    words: list[str | Path] = [
        "learn",
        tmp_path / "all.tsv",
        "--method",
        "tabular",
        "--set",
        "walks=20000",
        "--max-length",
        "2",
    ]
    learned = run(*words, "-o", tmp_path / "m")
    assert learned.exit_code == 0, learned.output
    count = refit.count_held_out(WORLD.graph)
    assert (
        f"{count:,} of {WORLD.graph.n_facts:,} facts are held out, to choose the aggregation and to calibrate"
        in learned.stderr
    )
    assert f"(best on {count:,} held-out facts, " in learned.stderr
    assert f"measured again on all {WORLD.graph.n_facts:,} facts" in learned.stderr
    old = run(*words, "-o", tmp_path / "old", "--no-refit")
    assert old.exit_code == 0, old.output
    assert "held out" not in old.stderr
    assert "(best on training facts, each hidden in turn, " in old.stderr
    assert "--no-refit works only with methods that hold facts out; popularity does not" in fails(
        "learn", tmp_path / "all.tsv", "-o", tmp_path / "p", "--method", "popularity", "--no-refit"
    )
