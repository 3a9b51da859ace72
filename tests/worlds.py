"""Small graphs that several tests use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from stablerule import Dataset, Rule

if TYPE_CHECKING:
    from stablerule import Graph
    from stablerule.datasets import World
    from stablerule.reasoning import Reasoner

Fact = tuple[str, str, str]

# Few names, so that facts repeat, reverse and loop.
entities = st.sampled_from(["a", "b", "c", "d", "e", "Ünï", "x y", 'q"t'])
relations = st.sampled_from(["r", "s", "t"])
facts = st.tuples(entities, relations, entities)
fact_lists = st.lists(facts, min_size=1, max_size=40)


def random_graph(seed: int, entities: int = 12, relations: int = 3, count: int = 30) -> Graph:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(n, size=count) for n in (entities, relations, entities)], 1)
    names = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows.tolist()]
    return Dataset.from_names("random", train=names).graph


# What says the same with another name: child_of is parent_of the other way round, sibling_of holds both ways.
SAME = {
    "child_of": "~parent_of",
    "grandchild_of": "~grandparent_of",
    "great_grandchild_of": "~great_grandparent_of",
    "niece_or_nephew_of": "~uncle_or_aunt_of",
    "child_in_law_of": "~parent_in_law_of",
}
SYMMETRIC = {"sibling_of", "spouse_of", "cousin_of", "sibling_in_law_of"}


def plainly(rule: Rule) -> tuple[str, ...]:
    """A rule with one name for each thing."""

    def one_name(relation: str) -> str:
        name, back = relation.removeprefix("~"), relation.startswith("~")
        if name in SAME:
            name, back = SAME[name][1:], not back
        return f"~{name}" if back and name not in SYMMETRIC else name

    return one_name(rule.head_relation), *map(one_name, rule.body)


def share_found(model: Reasoner, world: World) -> float:
    """How many of the true rules were kept among the best 200 for their relation, under any of their names."""
    kept = {relation: {plainly(s.rule) for s in rules} for relation, rules in model.rules.per_relation().items()}
    return sum(plainly(rule) in kept.get(rule.head_relation, set()) for rule in world.rules) / len(world.rules)
