"""Train on a dataset, and evaluate on all test facts of the same or another one, and by groups of paths."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from stablerule.evaluation import evaluate
from stablerule.extending import RANK_FORMS as ALL_FORMS
from stablerule.extending import count_cores, join_options, need_balanced_clusters
from stablerule.learning import StableRule
from stablerule.registry import MODELS
from stablerule_lab.experiments.by_walks import ByWalks
from stablerule_lab.experiments.path_groups import ALIGNMENTS, groups_of_test
from stablerule_lab.experiments.printed import cited_graph
from stablerule_lab.experiments.process import peak_memory
from stablerule_lab.methods.settings import settings_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stablerule.evaluation import Evaluation
    from stablerule.extending import Reasoner, Ties
    from stablerule.graph import Dataset
    from stablerule_lab.experiments.cells import Cell

FORMS: tuple[Ties, ...] = ("realistic", "optimistic")  # of groups
FIGURES = ("mrr", "hits@1", "hits@3", "hits@10")
OF_A_RUN = ("device", "seed")  # options of a run, not settings of a method


@dataclass(frozen=True)
class Variant:
    """A learner with options: a row of a table.

    by_walks: answer by walks that may repeat entities, with equal answers tied, or ordered as usual. as_printed: start
    from the paper's settings. minutes: its own time budget.
    """

    learner: str
    options: dict[str, Any] = field(default_factory=dict)
    by_walks: Literal["tied", "ordered"] | None = None
    as_printed: bool = False
    minutes: float | None = None

    def settings(self, graph: str) -> dict[str, Any]:
        """Return its options for a graph."""
        below = printed_settings(graph) if self.as_printed else settings_for(self.learner, graph, self.options)
        return join_options(below, self.options)


def printed_settings(graph: str) -> dict[str, Any]:
    """Return StableRule's options with the paper's settings for a graph."""
    options = StableRule.paper(cited_graph(graph)).options
    return {name: value for name, value in options.items() if name not in OF_A_RUN}


def train_and_evaluate(
    cell: Cell,
    variant: Variant,
    graph: str,
    minutes: float,
    learned_from: Dataset,
    asked: Dataset,
    cache: Path,
) -> dict[str, Any]:
    """Train within a time budget, and evaluate.

    graph: the graph whose settings are used.
    """
    need_balanced_clusters("Evaluation by groups of paths")  # before any work
    began = time.perf_counter()
    model = learn(cell, variant, graph, minutes, learned_from)
    learned = time.perf_counter()
    walks = ByWalks(model.rules, asked.graph, ordered=variant.by_walks == "ordered") if variant.by_walks else None
    found = evaluate(walks or model, asked)
    ranked = time.perf_counter()
    peak = peak_memory()  # before the groups, which are not part of the method
    by_paths = groups_of_test(asked, cache)
    return {
        "whole": {form: _figures(found.figures(form).metrics) for form in ALL_FORMS},
        "interval": list(found.intervals()["mrr"]),
        "directions": {name: _figures(row.metrics) for name, row in found.by_direction().items()},
        "coverage": found.coverage,
        "no_candidate": found.no_candidate,
        "groups": {align: group_figures(found, by_paths[align]) for align in ALIGNMENTS},
        **costs(model, learned - began, ranked - learned, peak),
        "settings": variant.settings(graph),
        "minutes": minutes,
        "data": learned_from.sha256 if learned_from is asked else [learned_from.sha256, asked.sha256],
    }


def learn(cell: Cell, variant: Variant, graph: str, minutes: float, dataset: Dataset) -> Reasoner:
    """Train with the settings for a graph, within a time budget."""
    model = MODELS[variant.learner].with_options(variant.settings(graph) | {"seed": cell["seed"]})
    return model.fit(dataset.graph, dataset.valid, minutes=minutes)


def costs(model: Reasoner, learning: float, ranking: float, peak: float) -> dict[str, Any]:
    """Return the cost of a result in seconds and memory, and how training ended."""
    course = model.learned_.course
    return {
        "seconds": {"learn": round(learning, 1), "rank": round(ranking, 1)},
        "peak_gb": round(peak / 1e9, 2),
        "cores": count_cores(),
        "ended_by": model.learned_.ended_by,
        "epochs": None if course is None else len(course.epochs) or None,
    }


def group_figures(found: Evaluation, labels: list[str]) -> dict[str, Any]:
    """Return the figures of each group, and the deviation of random groups; labels: the group of each fact."""
    grouped = replace(found, groups=[*labels, *labels])  # the second half queries for heads
    told: dict[str, Any] = {"groups": {}, "by_chance": {}}
    for form in FORMS:
        one = grouped.by_group(form)
        if one is None:
            continue
        told["by_chance"][form] = one.by_chance["mrr"].mean
        for name, row in one.groups.items():
            told["groups"].setdefault(name, {"n": row.n})[form] = _figures(row.metrics)
    return told


def _figures(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: metrics[name] for name in FIGURES}
