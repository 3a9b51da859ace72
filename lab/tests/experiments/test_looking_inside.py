"""Groups in the plane, curves while learning, correlations before and after weighting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import StableRule, households
from stablerule.learning import Decorrelation
from stablerule_lab.experiments import group_planes, training
from stablerule_lab.experiments.cells import Cell
from stablerule_lab.experiments.group_planes import figures as plane_figures
from stablerule_lab.experiments.group_planes import in_plane
from stablerule_lab.experiments.group_planes import summarise as plane_rows
from stablerule_lab.experiments.group_planes import tables as plane_tables
from stablerule_lab.experiments.training import figures, summarise, tables
from stablerule_lab.inside.correlations import _correlations, feature_correlations

WORLD = households(families=12, missing=0.1, seed=0).dataset
SMALL: dict[str, Any] = {
    "walks": 4000,
    "training.size": 8,
    "training.steps": 30,
    "training.batch_size": 400,
    "training.warm_up": 5,
}


def test_correlations_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    points, counts = random.normal(size=(50, 4)), random.integers(1, 4, size=50)
    points[:, 3] = 2.0  # does not move
    expected = np.corrcoef(np.repeat(points[:, :3], counts, axis=0).T) - np.eye(3)
    found = _correlations(points, counts.astype(float))
    np.testing.assert_allclose(found[:3, :3], expected, atol=1e-12)
    np.testing.assert_allclose(found[3], 0, atol=1e-12)


def test_weights_lower_the_dependence_and_cost_samples() -> None:
    options = SMALL | {"constants": False, "aggregation": "max_plus"}
    model = StableRule.with_options(options).fit(WORLD.graph)
    found = feature_correlations(model, WORLD.graph, Decorrelation(weight_steps=50))
    assert found.before.shape == found.after.shape == (8, 8)
    assert found.dependence < 1
    assert 0.5 <= found.share < 1  # the floor
    free = feature_correlations(
        model, WORLD.graph, Decorrelation(weight_steps=200, weight_penalty=0.0, share_floor=0.0)
    )
    np.testing.assert_array_equal(free.before, found.before)
    assert free.dependence < found.dependence
    assert free.share < found.share


def test_a_run_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "load", lambda _: WORLD)
    monkeypatch.setattr(training, "LEARNING_ONLY", training.LEARNING_ONLY | SMALL)
    cells: list[Cell] = [{"graph": "umls", "method": "stablerule", "seed": seed} for seed in (0, 1)]
    results = [{"cell": cell, "result": training.look(cell, tmp_path)} for cell in cells]
    (row,) = summarise(results, {})
    assert row["seeds"] == 2
    assert len(row["loss"]) == 6  # 30 steps, every fifth
    assert row["loss"][-1] < row["loss"][0]
    assert row["dependence"][0] is None  # the warm-up
    assert row["dependence"][-1] < 1
    by_graph, table = tables([row], {})
    assert [line[0] for line in by_graph.rows] == ["equal weights", *training.WEIGHTS_IN_WORDS.values()]
    assert [line[1] for line in table.rows] == list(training.WEIGHTS)
    assert [drawing.name for drawing in figures([row], {})] == ["curves", "correlations"]
    assert all("</svg>" in drawing.svg for drawing in figures([row], {}))


def test_batches_of_two_sizes_are_held_against_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "load", lambda _: WORLD)
    monkeypatch.setattr(training, "LEARNING_ONLY", training.LEARNING_ONLY | SMALL | {"training.steps": 120})
    sizes = {"batches of 500": {"training.batch_size": 20}, "batches of 8000": {"training.batch_size": 2000}}
    monkeypatch.setattr(training, "BATCHES", sizes)
    cells: list[Cell] = [{"graph": "umls", "method": name, "seed": 0} for name in sizes]
    rows = summarise([{"cell": cell, "result": training.look(cell, tmp_path)} for cell in cells], {})
    assert "weights" not in training.made_with(cells[0])
    small, large = (row["fluctuation"] for row in rows)
    assert small > 2 * large  # chance alone would make it ten times
    (table,) = tables(rows, {})
    assert table.rows == (("umls", "1", f"{small:.3f}", f"{large:.3f}"),)
    assert figures(rows, {}) == []
    assert tables(rows[:1], {}) == []  # there is nothing to hold it against


def test_groups_lie_in_the_plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_planes, "load", lambda _: WORLD)
    cell: Cell = {"graph": "umls", "method": "by_paths", "seed": 0}
    (row,) = plane_rows([{"cell": cell, "result": group_planes.look(cell, tmp_path)}], {})
    counts = np.bincount(WORLD.test.relations)
    assert WORLD.vocabulary.relation_id(row["relation"]) == counts.argmax()
    assert len(row["points"]) == len(row["labels"]) == min(row["facts"], group_planes.MOST_POINTS)
    assert 0 < row["separation"] <= 1
    assert {one["group"] for one in row["coverage_of_bodies"]} <= set(row["groups"])
    assert any(one["covered"] > 0 for one in row["coverage_of_bodies"])
    assert [drawing.name for drawing in plane_figures([row], {})] == ["planes", "coverage-umls"]
    assert all("</svg>" in drawing.svg for drawing in plane_figures([row], {}))
    groups, coverage = plane_tables([row], {})
    assert groups.rows[0][0] == "umls"
    most = {name: max(o["covered"] for o in row["coverage_of_bodies"] if o["group"] == name) for name in row["groups"]}
    assert all(linked >= most[name] for linked, name in zip(row["linked"], row["groups"], strict=True))
    assert len(coverage.rows) == len({one["rule"] for one in row["coverage_of_bodies"]})


def test_the_plane_keeps_what_differs_most() -> None:
    points = np.zeros((10, 5))
    points[:, 3], points[:, 1] = np.arange(10), 0.1 * np.arange(10)[::-1] ** 2
    flat = in_plane(points)
    assert flat.shape == (10, 2)
    assert flat.var(0).sum() == pytest.approx(points.var(0).sum())
    assert in_plane(points[:, 3:4]).shape == (10, 2)
