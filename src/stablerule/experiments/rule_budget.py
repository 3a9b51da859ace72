"""How good are the best few rules of a learner? MRR against the number of rules kept for each relation.

Chains alone. A learner's own scores choose the rules; then the best rule that fires decides (`max_plus`), by the same
scores, or by the measured confidence, so that only the choice is the learner's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from stablerule.datasets import load
from stablerule.evaluation import evaluate
from stablerule.experiments.apart import run_apart
from stablerule.experiments.path_groups import groups_of_test
from stablerule.reasoning import RuleReasoner
from stablerule.reasoning.option_types import join_options
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule.registry import MODELS

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.experiments.cells import Cell
    from stablerule.graph import Dataset, Graph, Triples
    from stablerule.reasoning.ranks import Ranks
    from stablerule.reasoning.scoring.theory import By
    from stablerule.rules import RuleSet

KEPT = (1, 2, 5, 10, 20, 50, 100, 200, 400)
CHAINS = {"rules_per_relation": KEPT[-1], "constants": False, "aggregation": "max_plus"}
WEIGHED: tuple[By, ...] = ("score", "confidence")


@dataclass(frozen=True)
class Choosing:
    """A learner with its options, and which of its numbers chooses the rules."""

    learner: str
    options: dict[str, Any] = field(default_factory=dict)
    by: Literal["score", "confidence"] = "score"


METHODS: dict[str, Choosing] = {
    "stablerule": Choosing("stablerule"),
    "nodecor": Choosing("stablerule", {"decorrelation": None}),
    "network alone": Choosing("stablerule", {"training.smoothing": None}),
    "network alone nodecor": Choosing("stablerule", {"training.smoothing": None, "decorrelation": None}),
    "tabular": Choosing("tabular"),
    # Among far more rules than are kept: the counts of samples should not have chosen before confidence does.
    "plain confidence": Choosing("tabular", {"rules_per_relation": 2000}, by="confidence"),
}


def made_with(cell: Cell) -> dict[str, Any]:
    """Say what a result depends on beside its cell: the learner, its settings, and what chooses."""
    how = METHODS[str(cell["method"])]
    return {"learner": how.learner, "settings": join_options(CHAINS, how.options), "by": how.by}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn and judge in a process of its own."""
    return run_apart(judge, cell, cache)


def judge(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn once, then judge ever more of the rules."""
    dataset, how = load(str(cell["graph"])), METHODS[str(cell["method"])]
    model = MODELS[how.learner].with_options(made_with(cell)["settings"] | {"seed": cell["seed"]})
    model.fit(dataset.graph, dataset.valid)
    if not isinstance(model, RuleReasoner):
        raise TypeError(f"{how.learner} learns no rules")
    labels = groups_of_test(dataset, cache)["density"]
    return {
        "curve": [budget | _judged(model.rules, how, budget, dataset, labels) for budget in budgets(model.rules)],
        "data": dataset.sha256,
    }


def budgets(rules: RuleSet) -> list[dict[str, int]]:
    """List how many rules are kept, up to the first number that keeps all."""
    most = max((len(some) for some in rules.per_relation().values()), default=0)
    return [{"kept": kept} for kept in KEPT if kept == KEPT[0] or KEPT[KEPT.index(kept) - 1] < most]


def _judged(
    rules: RuleSet, how: Choosing, budget: dict[str, int], dataset: Dataset, labels: list[str]
) -> dict[str, Any]:
    some = rules.top_per_relation(budget["kept"], how.by)
    told: dict[str, Any] = {"rules": len(some)}
    for by in WEIGHED if how.by == "score" else (how.by,):
        found = evaluate(BestRule(some, by), dataset, resamples=2)
        grouped = replace(found, groups=[*labels, *labels]).by_group()
        told[by] = {"mrr": found.mrr, "coverage": found.coverage}
        if grouped is not None:
            told[by] |= {"mean": grouped.mean["mrr"], "worst": grouped.worst["mrr"].value}
    return told


class BestRule:
    """Ranks by the best rule that fires, then the next."""

    def __init__(self, rules: RuleSet, by: By) -> None:
        self._rules, self._by = rules, by
        self._search: RuleSearcher | None = None

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank the answers; see `Ranker.rank`."""
        if self._search is None or self._search.graph is not graph:
            self._search = RuleSearcher(
                encode_rules(self._rules, graph, self._by), Aggregation("max_plus", by=self._by)
            )
        return self._search.rank(queries.heads, queries.relations, queries.tails, known)
