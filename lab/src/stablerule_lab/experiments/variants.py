"""Learn from one dataset, judge on the test facts of the same or another, whole and by groups of paths."""

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
OF_A_RUN = ("device", "seed")  # options that are no settings of a method


@dataclass(frozen=True)
class Variant:
    """A learner, and the options that make it another row of a table.

    by_walks: its rules answer without object identity, and equal answers are tied, or ordered as usual. as_printed: the
    hyper-parameters of the paper lie under the options. minutes: a budget of its own.
    """

    learner: str
    options: dict[str, Any] = field(default_factory=dict)
    by_walks: Literal["tied", "ordered"] | None = None
    as_printed: bool = False
    minutes: float | None = None

    def settings(self, graph: str) -> dict[str, Any]:
        """The options that it has on a graph."""
        below = printed_settings(graph) if self.as_printed else settings_for(self.learner, graph, self.options)
        return join_options(below, self.options)


def printed_settings(graph: str) -> dict[str, Any]:
    """Return all options of StableRule as the paper prints them for a graph."""
    options = StableRule.paper(cited_graph(graph)).options
    return {name: value for name, value in options.items() if name not in OF_A_RUN}


def learn_and_judge(
    cell: Cell,
    variant: Variant,
    graph: str,
    minutes: float,
    learned_from: Dataset,
    asked: Dataset,
    cache: Path,
) -> dict[str, Any]:
    """Learn within a budget, and judge.

    graph: whose settings are used.
    """
    need_balanced_clusters("Judging by groups of paths")  # before any work
    began = time.perf_counter()
    model = learn(cell, variant, graph, minutes, learned_from)
    learned = time.perf_counter()
    walks = ByWalks(model.rules, asked.graph, ordered=variant.by_walks == "ordered") if variant.by_walks else None
    found = evaluate(walks or model, asked)
    ranked = time.perf_counter()
    peak = peak_memory()  # before the groups, which are no part of the method
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
    """Learn with the settings for a graph, within a budget."""
    model = MODELS[variant.learner].with_options(variant.settings(graph) | {"seed": cell["seed"]})
    return model.fit(dataset.graph, dataset.valid, minutes=minutes)


def costs(model: Reasoner, learning: float, ranking: float, peak: float) -> dict[str, Any]:
    """Tell what a result has cost, in seconds and bytes, and how learning ended."""
    course = model.learned_.course
    return {
        "seconds": {"learn": round(learning, 1), "rank": round(ranking, 1)},
        "peak_gb": round(peak / 1e9, 2),
        "cores": count_cores(),
        "ended_by": model.learned_.ended_by,
        "epochs": None if course is None else len(course.epochs) or None,
    }


def group_figures(found: Evaluation, labels: list[str]) -> dict[str, Any]:
    """The figures of each group, and the deviation that groups by chance would have; a label for each fact asked."""
    grouped = replace(found, groups=[*labels, *labels])  # the second half asks for the heads
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
