"""Learners that are told which facts may serve as examples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import Graph, Tabular, Triples, households, load_model
from stablerule.errors import InputError, ReadError
from stablerule.learning import GivenRules, StableRule, Training
from stablerule.learning.checkpoints import Checkpoints
from stablerule.learning.extraction import find_constant_rules
from stablerule.paths.withheld import ExampleFacts
from stablerule.rules.scored import PESSIMISM
from tests.graph.parts import graph_of, ids
from tests.paths.withholding import both_ways, some_facts
from tests.worlds import random_graph

DATASET = households(families=6, seed=0).dataset
GRAPH = DATASET.graph
SMALL: dict[str, Any] = {
    "walks": 10_000,
    "training": Training(steps=8, size=8, batch_size=300, warm_up=2),
    "aggregation": "max_plus",
}


def of_relation(graph: Graph, name: str) -> Triples:
    return graph.triples.take(graph.triples.relations == graph.vocabulary.relation_id(name))


# --- rules with constants ------------------------------------------------------------------------------------------


def names_of(facts: Triples, graph: Graph) -> set[tuple[str, str, str]]:
    words = graph.vocabulary
    return {(words.entity_name(h), words.relation_name(r), words.entity_name(t)) for h, r, t in both_ways(facts, graph)}


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_rules_with_constants_are_those_of_plain_counting(seed: int) -> None:
    graph = random_graph(seed, entities=8, relations=2, count=30)
    some = some_facts(graph, seed)
    facts, right = names_of(graph.triples, graph), names_of(some, graph)
    rules = find_constant_rules(
        graph, examples=ExampleFacts.of(graph, some), min_support=1, min_confidence=0.0, per_constant=10**6
    )
    assert len(rules) > 20
    for scored in rules:
        assert scored.rule.constants is not None
        relation, (constant, near) = scored.rule.head_relation, scored.rule.constants
        have = {h for h, r, t in facts if r == scored.rule.body[0] and near in (None, t)}
        asked = {x for x in have if (x, relation, constant) not in facts - right}
        support = sum((x, relation, constant) in right for x in asked)
        assert (scored.support, scored.body_count) == (support, len(asked))
        assert scored.confidence == pytest.approx(support / (len(asked) + PESSIMISM))
        assert scored.head_coverage == pytest.approx(support / sum(r == relation for _, r, _ in right))


# --- whole learners ------------------------------------------------------------------------------------------------


def test_all_facts_as_examples_are_no_examples_given() -> None:
    shuffled = GRAPH.triples.take(np.random.default_rng(0).permutation(GRAPH.n_facts))
    plain, told = (
        Tabular(walks=20_000, aggregation="max_plus").fit(GRAPH, DATASET.valid, examples=e) for e in (None, shuffled)
    )
    assert told.rules == plain.rules
    assert told.learned_ == replace(plain.learned_, rules=told.rules, examples=GRAPH.n_facts)
    ours, theirs = (model.rank(DATASET.test, graph=GRAPH, known=GRAPH) for model in (plain, told))
    np.testing.assert_array_equal(ours.best, theirs.best)
    np.testing.assert_array_equal(ours.worst, theirs.worst)


@pytest.mark.parametrize("learner", [Tabular(walks=20_000, aggregation="max_plus"), StableRule(**SMALL)])
def test_only_what_has_examples_is_concluded(learner: Tabular | StableRule) -> None:
    some = of_relation(GRAPH, "grandparent_of")
    model = learner.fit(GRAPH, examples=some)
    assert set(model.rules.relations) == {"grandparent_of", "~grandparent_of"}
    assert model.learned_.examples == len(some)
    assert {r for rule in model.rules for r in rule.rule.body} > {"parent_of", "child_of"}  # the graph stays whole
    assert all(0 < (rule.support or 0) <= (rule.body_count or 0) for rule in model.rules)


def test_a_bias_in_the_examples_is_one_in_the_rules() -> None:
    """Half of the people were born where they live, half where they work; the second half is withheld."""
    people = [(f"p{i}", "lives_in", f"town{i % 7}") for i in range(80)]
    people += [(f"p{i}", "works_in", f"town{(i + 1) % 7}") for i in range(80)]
    at_home = [(f"p{i}", "born_in", f"town{i % 7}") for i in range(40)]
    at_work = [(f"p{i}", "born_in", f"town{(i + 1) % 7}") for i in range(40, 80)]
    graph = graph_of(people + at_home + at_work)
    biased = Triples(np.array([ids(graph, *fact) for fact in people + at_home]))

    def counts(relation: str, examples: Triples | None) -> dict[tuple[str, ...], tuple[float | None, float | None]]:
        rules = Tabular(walks=5000, max_length=1, constants=False).fit(graph, examples=examples).rules
        return {rule.rule.body: (rule.support, rule.body_count) for rule in rules.filter(head_relation=relation)}

    assert counts("born_in", None) == {("lives_in",): (40, 80), ("works_in",): (40, 80)}
    assert counts("born_in", biased) == {("lives_in",): (40, 80)}
    # Other conclusions see nothing of it: a fact that is withheld is a step as before.
    assert counts("works_in", biased) == counts("works_in", None) == {("born_in",): (40, 80)}


def test_given_rules_are_measured_on_examples(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)\n")
    facts = of_relation(GRAPH, "grandparent_of")
    whole = GivenRules(file=str(path)).fit(GRAPH)
    half = GivenRules(file=str(path)).fit(GRAPH, examples=facts.take(np.arange(0, len(facts), 2)))
    all_pairs, some_pairs = whole.rules[0], half.rules[0]
    assert all_pairs.support is not None
    assert some_pairs.support is not None
    assert 0 < some_pairs.support < all_pairs.support
    # What is no example any more is no counterexample either.
    assert (all_pairs.body_count or 0) - all_pairs.support == (some_pairs.body_count or 0) - some_pairs.support
    assert half.learned_.examples == (len(facts) + 1) // 2
    assert half.learned_.notes == whole.learned_.notes


@pytest.mark.parametrize("learner", [Tabular(walks=1000), StableRule(**SMALL), GivenRules(file="none.txt")])
def test_examples_that_can_not_serve(learner: Tabular | StableRule | GivenRules) -> None:
    with pytest.raises(InputError, match="'examples' is empty"):
        learner.fit(GRAPH, examples=Triples.empty())
    foreign = DATASET.test.take(~GRAPH.contains(DATASET.test))
    with pytest.raises(InputError, match=f"{len(foreign):,} of {len(foreign):,} are not in it, such as"):
        learner.fit(GRAPH, examples=foreign)


def test_a_model_remembers_how_many_examples_there_were(tmp_path: Path) -> None:
    some = some_facts(GRAPH, 0, 0.5)
    Tabular(walks=5000, aggregation="max_plus").fit(GRAPH, examples=some).save(tmp_path / "m")
    assert load_model(tmp_path / "m").learned_.examples == len(some.distinct())
    assert Tabular(walks=5000, aggregation="max_plus").fit(GRAPH).learned_.examples is None


# --- a run that is killed ------------------------------------------------------------------------------------------


class Killed(Exception):
    pass


def test_a_checkpoint_of_other_examples_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, others = some_facts(GRAPH, 0), some_facts(GRAPH, 1)
    folder = tmp_path / "run"
    expected = StableRule(**SMALL).fit(GRAPH, examples=some).rules
    keep = Checkpoints.keep

    def keep_and_die(self: Checkpoints, *state: Any) -> None:
        keep(self, *state)
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(Checkpoints, "is_due", lambda _: True)
        dying.setattr(Checkpoints, "keep", keep_and_die)
        with pytest.raises(Killed):
            StableRule(**SMALL).fit(GRAPH, examples=some, checkpoint=folder)
    for wrong in (others, None):
        with pytest.raises(ReadError, match="from another run: examples"):
            StableRule(**SMALL).fit(GRAPH, examples=wrong, checkpoint=folder, resume=True)
    again = some.take(np.arange(len(some))[::-1])
    assert StableRule(**SMALL).fit(GRAPH, examples=again, checkpoint=folder, resume=True).rules == expected
