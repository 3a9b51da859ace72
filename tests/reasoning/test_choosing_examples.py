"""Without valid facts the examples choose how to answer, and no other fact of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stablerule import Graph, Tabular, newsroom
from stablerule.learning import fitting
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning import choosing
from stablerule.reasoning.choosing import choose_aggregation
from stablerule.reasoning.learned import Choice
from tests.paths.withholding import both_ways, some_facts

DATASET = newsroom(people=400, valid=0.3, seed=0).dataset
GRAPH = DATASET.graph
LEARNER = Tabular(walks=20_000, rules_per_relation=30)


def chosen_on(model: Tabular) -> str:
    assert model.learned_.choice is not None
    return model.learned_.choice.chosen_on


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_facts_that_choose_are_examples(share: float) -> None:
    some = some_facts(GRAPH, 0, share)
    facts = choosing._draw_training_queries(GRAPH, ExampleFacts.of(GRAPH, some), seed=0)
    chosen = both_ways(facts, GRAPH)
    assert chosen <= both_ways(some, GRAPH)
    assert len(facts) == min(len(some.distinct()), choosing.MOST_JUDGED)
    links = [len(GRAPH.relations_between(h, t)) for h, _, t in facts.rows.tolist()]
    assert links == sorted(links)  # other links of the pair are those of the whole graph


def test_few_examples_choose_nothing_but_valid_does() -> None:
    few = GRAPH.triples.take(np.arange(0, 200, 10))
    model = LEARNER.fit(GRAPH, examples=few)
    assert chosen_on(model) == "nothing: 40 queries are too few to choose, at least 60 are needed"
    assert model.learned_.examples == 20
    model.fit(GRAPH, DATASET.valid, examples=few)
    assert chosen_on(model) == "the validation facts"


def test_a_fact_that_is_withheld_is_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Graph] = []

    def spy(encoded: Any, valid: Any, known: Graph, **rest: Any) -> Choice:
        seen.append(known)
        return choose_aggregation(encoded, valid, known, **rest)

    monkeypatch.setattr(fitting, "choose_aggregation", spy)
    model = Tabular(walks=20_000, rules_per_relation=30).fit(GRAPH, examples=some_facts(GRAPH, 1))
    assert chosen_on(model) == "training facts, each hidden in turn"
    assert [known.sha256 for known in seen] == [GRAPH.sha256]
