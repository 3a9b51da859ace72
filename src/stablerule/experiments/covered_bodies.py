"""How often the bodies of a learner's best rules link the facts of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stablerule.registry import METHODS
from stablerule.shifts import body_coverage

if TYPE_CHECKING:
    from stablerule.graph import Graph, Triples
    from stablerule.reasoning import Reasoner
    from stablerule.shifts import Grouping

SHOWN, OF_BEST = 10, 50  # rules


def covered_bodies(
    model: Reasoner, facts: Triples, groups: Grouping, graph: Graph, *, relation: str
) -> list[dict[str, Any]]:
    """Return the rows of `body_coverage` for rules that matter; none for learners without rules.

    They are those with the most support among the best by the learner's score: what scores best of all may hold for
    two facts only.
    """
    if not METHODS[model.method].explains:
        return []
    chains = model.rules.filter(kind="chains", head_relation=relation)
    best = chains.top(OF_BEST, "confidence" if chains.to_frame()["score"].null_count() else "score")
    return body_coverage(facts, groups, best.top(SHOWN, "support"), graph, relation=relation, top=SHOWN).to_dicts()
