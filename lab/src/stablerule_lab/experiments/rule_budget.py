"""How good are the best few rules of a learner? MRR by the number of rules kept for each relation.

Rules have no constants. A learner's score chooses the rules; then the best rule that fires decides (`max_plus`), by the
same score, or by measured confidence, so that only the choice is the learner's.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stablerule.datasets import load
from stablerule.evaluation import evaluate
from stablerule.extending import Aggregation, RuleReasoner, RuleSearcher, encode_rules, join_options
from stablerule.registry import MODELS
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.methods import LARGE, QUICK_GRAPHS, SMALL
from stablerule_lab.experiments.path_groups import groups_of_test
from stablerule_lab.experiments.process import run_apart
from stablerule_lab.pages.plots import legend_below, new_figure, series
from stablerule_lab.pages.results_page import Drawing
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.extending import By, Ranks
    from stablerule.graph import Dataset, Graph, Triples
    from stablerule.rules import RuleSet
    from stablerule_lab.experiments.cells import Cell

KEPT = (1, 2, 5, 10, 20, 50, 100, 200, 400)
CHAINS = {"rules_per_relation": KEPT[-1], "constants": False, "aggregation": "max_plus"}
WEIGHED: tuple[By, ...] = ("score", "confidence")


@dataclass(frozen=True)
class Choosing:
    """A learner with its options, and the measure that chooses its rules."""

    learner: str
    options: dict[str, Any] = field(default_factory=dict)
    by: Literal["score", "confidence"] = "score"


METHODS: dict[str, Choosing] = {
    "stablerule": Choosing("stablerule"),
    "nodecor": Choosing("stablerule", {"decorrelation": None}),
    "network alone": Choosing("stablerule", {"training.smoothing": None}),
    "network alone nodecor": Choosing("stablerule", {"training.smoothing": None, "decorrelation": None}),
    "tabular": Choosing("tabular"),
    # Many candidates, so that sample counts do not choose before confidence does.
    "plain confidence": Choosing("tabular", {"rules_per_relation": 2000}, by="confidence"),
}


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the learner, its settings, and what chooses."""
    how = METHODS[str(cell["method"])]
    return {"learner": how.learner, "settings": join_options(CHAINS, how.options), "by": how.by}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `evaluate_cell` in a separate process."""
    return run_apart(evaluate_cell, cell, cache)


def evaluate_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Train once, then evaluate growing numbers of rules."""
    dataset, how = load(str(cell["graph"])), METHODS[str(cell["method"])]
    model = MODELS[how.learner].with_options(made_with(cell)["settings"] | {"seed": cell["seed"]})
    model.fit(dataset.graph, dataset.valid)
    if not isinstance(model, RuleReasoner):
        raise TypeError(f"{how.learner} learns no rules.")
    labels = groups_of_test(dataset, cache)["density"]
    return {
        "curve": [budget | _evaluate(model.rules, how, budget, dataset, labels) for budget in budgets(model.rules)],
        "data": dataset.sha256,
    }


def budgets(rules: RuleSet) -> list[dict[str, int]]:
    """List the numbers of rules to keep, up to the first that keeps all."""
    most = max((len(some) for some in rules.per_relation().values()), default=0)
    return [{"kept": kept} for kept in KEPT if kept == KEPT[0] or KEPT[KEPT.index(kept) - 1] < most]


def _evaluate(
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
    """Rank answers by the best rule that fires, then by the next."""

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


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph, method and number of rules: means over seeds."""
    found = defaultdict(list)
    for one in results:
        for point in one["result"]["curve"]:
            found[one["cell"]["graph"], one["cell"]["method"], point["kept"]].append(point)
    return [
        {"graph": graph, "method": method, "kept": kept, "seeds": len(points)}
        | {"rules": float(np.mean([point["rules"] for point in points]))}
        | {by: _mean([point[by] for point in points]) for by in WEIGHED if by in points[0]}
        for (graph, method, kept), points in found.items()
    ]


def _mean(points: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([point[name] for point in points])) for name in points[0]}


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a table for each graph and each deciding measure."""
    return [table for by in WEIGHED for table in tables_by(rows, by)]


def tables_by(rows: list[dict[str, Any]], by: str) -> list[Table]:
    """Return a table for each graph: a line for each method, a column for each number of rules."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        lines = []
        for method in dict.fromkeys(row["method"] for row in rows if row["graph"] == graph):
            curve = {r["kept"]: r for r in rows if r["graph"] == graph and r["method"] == method}
            # Where confidence chooses, it also decides.
            figures = {kept: point.get(by, point.get("confidence", {})).get("mrr") for kept, point in curve.items()}
            seeds = str(max(point["seeds"] for point in curve.values()))
            cells_of_line = (f"{figures[k]:.3f}" if figures.get(k) is not None else "" for k in KEPT)
            lines.append((method, seeds, *cells_of_line))
        headings = ("method", "seeds", *(f"{kept} rules" for kept in KEPT))
        made.append(Table(f"{graph}, by {by}", headings, tuple(lines)).without_empty())
    return made


def curves(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw the MRR by the number of rules: a panel for each graph and deciding measure, a line for each method."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    if not graphs:
        return []
    figure, panels = new_figure(len(WEIGHED), len(graphs), height=2.4)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for place, panel in enumerate(panels):
        graph, by = graphs[place // len(WEIGHED)], WEIGHED[place % len(WEIGHED)]
        for i, method in enumerate(methods):
            points = [row for row in rows if (row["graph"], row["method"]) == (graph, method)]
            shown = [(p["kept"], p.get(by, p.get("confidence", {})).get("mrr")) for p in points]
            panel.plot(*zip(*shown, strict=True) if shown else ([], []), **series(i), label=method)
        panel.set(xscale="log", title=f"{graph}, decided by {by}", ylabel="MRR", xlabel="rules for each relation")
        panel.set_xticks(KEPT, [str(kept) for kept in KEPT])
        panel.minorticks_off()
    legend_below(figure, panels[0])
    caption = (
        "Test MRR by the number of rules kept for each relation. The learner's score chooses the rules. The best rule "
        "that fires decides, by its score (left) or its measured confidence (right)."
    )
    return [Drawing("curves", caption, figure)]


RULE_BUDGET = Experiment(
    name="rule-budget",
    store="rule-budget",
    about="Which scores choose the best few rules?",
    needs="a minute a cell, five on large graphs",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=tuple(METHODS),
    seeds=(0, 1, 2),
    is_cheap=lambda graph, method: graph in QUICK_GRAPHS,
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    figures=curves,
)
