"""Confidence by groups of entities."""

from __future__ import annotations

import numpy as np
import pytest

from stablerule import Dataset, Rule, RuleSet
from stablerule.learning.extraction import number_learned_rules
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.evidence_examples import Examples
from stablerule.reasoning.scoring.evidence import COLUMNS
from stablerule.rules.measuring import measure_rules
from stablerule_lab.experiments.stable_confidence import GROUPS, entity_groups, stable_rules
from stablerule_lab.experiments.train_side.weighted_evidence import _worst_group

# In one kind of place `lives_in` follows from `works_in`, in the other it does not.
LOCAL = [(f"local {i}", "works_in", f"town {i % 7}") for i in range(40)]
REMOTE = [(f"remote {i}", "works_in", f"town {i % 7}") for i in range(40)]
HOMES = [(f"local {i}", "lives_in", f"town {i % 7}") for i in range(40)]
FARMS = [(f"remote {i}", "lives_in", f"farm {i}") for i in range(40)] + [
    (f"remote {i}", "owns", f"farm {i}") for i in range(40)
]
PAID = [(person, "is_paid_in", town) for person, _, town in LOCAL + REMOTE]  # which follows everywhere
GRAPH = Dataset.from_names("work", train=LOCAL + REMOTE + HOMES + FARMS + PAID).graph
EVERYTHING = ExampleFacts.all_of(GRAPH)


def measured(*rules: Rule) -> RuleSet:
    frame = RuleSet(rules).to_frame()
    found = measure_rules(GRAPH, *number_learned_rules(frame, GRAPH))
    return RuleSet.from_frame(frame.with_columns(confidence=found.confidence, support=found.support))


def test_groups_are_of_equal_size_and_alike_inside() -> None:
    labels = entity_groups(GRAPH)
    sizes = np.bincount(labels)
    assert len(sizes) == GROUPS
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("how", ["envelope", "mean - deviation"])
def test_a_rule_that_holds_in_one_place_only_falls_further(how: str) -> None:
    partly = Rule("lives_in", ("works_in",))
    everywhere = Rule("is_paid_in", ("works_in",))
    before = measured(partly, everywhere)
    after = stable_rules(before, GRAPH, EVERYTHING, how)  # type: ignore[arg-type]
    old, new = ({s.rule: s.confidence or 0.0 for s in rules} for rules in (before, after))
    assert new[partly] / old[partly] < 0.6
    assert new[everywhere] / old[everywhere] > 0.9


def test_rules_with_constants_keep_their_confidence() -> None:
    constant = Rule("lives_in", ("works_in",), ("town 1", "town 1"))
    rules = RuleSet.from_frame(RuleSet([constant]).to_frame().with_columns(confidence=0.25))
    both = rules.union(measured(Rule("lives_in", ("works_in",))))
    after = stable_rules(both, GRAPH, EVERYTHING, "envelope")
    assert {s.rule: s.confidence for s in after}[constant] == 0.25


def test_the_worst_group_counts_for_more() -> None:
    """Two columns of evidence, each of which is right in one group; the larger group would decide alone."""
    random = np.random.default_rng(0)
    n = 200
    groups = (np.arange(n) >= 180).astype(np.int64)
    rows = np.zeros((n, 2, len(COLUMNS)), np.float32)
    rows[np.arange(n), 0, groups] = 1
    rows[np.arange(n), 1, 1 - groups] = 1
    rows += 0.1 * random.standard_normal(rows.shape).astype(np.float32)
    examples = Examples(rows, np.ones((n, 2), np.float32), np.zeros(n, np.int32))
    importance = _worst_group(examples, GRAPH, groups, 1.0, 0)
    assert importance.mean() == pytest.approx(1)
    assert importance[groups == 1].mean() > 2 * importance[groups == 0].mean()
