"""Body coverage by group, against plain enumeration."""

from __future__ import annotations

import pytest

from stablerule import Tabular, newsroom
from stablerule.errors import InputError
from stablerule.shifts import group_by_names, measure_body_coverage

WORLD = newsroom(people=200, train_mix=0.5, test_mix=0.5, seed=0)
DATASET = WORLD.dataset
RULES = Tabular(walks=20_000, constants=False, aggregation="count").fit(DATASET.graph).rules
GROUPS = group_by_names(DATASET.test, DATASET.graph, WORLD.groups, measure=False)


def test_a_body_covers_the_facts_that_it_links() -> None:
    found = measure_body_coverage(DATASET.test, GROUPS, RULES, DATASET.graph, relation="works_for", top=30)
    rule = "works_for(X, Y) <- plays_in(X, A), squad_of(A, Y)"
    rows = {row["group"]: row for row in found.filter(found["rule"] == rule).to_dicts()}
    graph, words = DATASET.graph, DATASET.vocabulary
    plays, squad = words.relation_id("plays_in"), words.relation_id("squad_of")
    for group in ("footballer", "journalist"):
        facts = [fact for fact, name in zip(DATASET.test.rows.tolist(), WORLD.groups, strict=True) if name == group]
        linked = [any(t in graph.tails(a, squad) for a in graph.tails(h, plays).tolist()) for h, _, t in facts]
        assert rows[group]["covered"] == pytest.approx(sum(linked) / len(linked))
        assert rows[group]["facts"] == len(facts)
    assert rows["journalist"]["covered"] == 0
    assert rows["footballer"]["ratio"] > 1.5


def test_bad_input() -> None:
    with pytest.raises(InputError, match="a group for each"):
        measure_body_coverage(DATASET.valid, GROUPS, RULES, DATASET.graph)
    assert not len(measure_body_coverage(DATASET.test, GROUPS, RULES, DATASET.graph, relation="column_of"))
