"""The train-side experiment on a small world."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stablerule.datasets import newsroom
from stablerule.learning import Tabular
from stablerule.learning.extraction import smooth_sample_counts
from stablerule.samples import sample_rules
from stablerule.shifts.splits import bias_examples
from stablerule_lab.experiments.cells import cell_name
from stablerule_lab.experiments.path_groups import shared_groups
from stablerule_lab.experiments.train_side import runs as train_side
from stablerule_lab.experiments.train_side.body_level import group_likelihood, smooth_counts_at
from stablerule_lab.experiments.train_side.summary import summarise

WORLD = newsroom(people=300, missing=0.2, seed=0).dataset


@pytest.fixture(autouse=True)
def _small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_side, "_dataset", lambda _: WORLD)
    monkeypatch.setattr("stablerule_lab.experiments.train_side.body_level.WALKS", 2000)


def test_groups_are_shared_by_the_splits_and_kept(tmp_path: Path) -> None:
    first = shared_groups(WORLD, tmp_path)
    assert {name: len(labels) for name, labels in first.items()} == {n: len(p) for n, p in WORLD.splits.items()}
    (kept,) = tmp_path.iterdir()
    before = kept.stat().st_mtime_ns
    assert all(np.array_equal(first[name], labels) for name, labels in shared_groups(WORLD, tmp_path).items())
    assert kept.stat().st_mtime_ns == before


def test_a_cell_judges_the_favoured_group_and_the_others(tmp_path: Path) -> None:
    (cell,) = train_side.cells(("newsroom",), ("tabular",), (0.9,), (0,))
    found = train_side.evaluate_cell(cell, tmp_path)
    groups = set(found["groups"]) - {train_side.WHOLE}
    assert groups <= {"favoured", "other 1", "other 2", "other 3", "other 4"}
    assert sum(figures["n"] for figures in found["groups"].values()) == 2 * len(WORLD.test)
    assert found["examples"] < len(WORLD.train)
    assert found["peak_gb"] > 0
    assert set(found["log_likelihood"]) <= {*groups, train_side.WHOLE}


def test_the_summary_pairs_methods_of_one_seed(tmp_path: Path) -> None:
    cells = train_side.cells(("newsroom",), ("tabular", "nodecor"), (0.9,), (0, 1))
    results = []
    random = np.random.default_rng(0)
    groups = np.array(["favoured", "other 1"] * 10)
    for cell in cells:
        ranks = random.random(20) + (cell["method"] == "tabular")
        np.save(tmp_path / f"{cell_name(cell)}.npy", ranks)
        np.save(tmp_path / f"groups,newsroom,test,{cell['seed']}.npy", groups)
        by_group = {name: {"n": 10, "mrr": float(ranks[groups == name].mean())} for name in ("favoured", "other 1")}
        results.append({"cell": cell, "result": {"groups": by_group, "log_likelihood": {"favoured": -1.0}}})
    rows = {row["method"]: row for row in summarise(results, tmp_path)}
    gain = rows["tabular"]["difference"]["mean"]
    assert gain["difference"] == pytest.approx(rows["tabular"]["mean"] - rows["nodecor"]["mean"])
    for interval in ("seeds", "queries"):
        low, high = gain[interval]
        assert low < gain["difference"] < high
    assert gain["queries"][0] > 0.5
    assert "difference" not in rows["nodecor"]
    assert rows["tabular"]["seeds"] == 2


def test_smoothed_counts_at_other_cells_are_those_of_the_same_cells() -> None:
    samples = sample_rules(WORLD.graph, 5000)
    assert smooth_counts_at(samples, samples, 5.0) == pytest.approx(smooth_sample_counts(samples, 5.0))
    others = sample_rules(WORLD.graph, 5000, seed=1)
    found = smooth_counts_at(samples, others, 5.0)
    assert ((found > 0) & (found <= 1)).all()


def test_likelihood_is_higher_for_what_was_learned_from(tmp_path: Path) -> None:
    groups = shared_groups(WORLD, tmp_path)["train"]
    drawn = bias_examples(WORLD.train, groups, 0.9, seed=0)
    examples = WORLD.train.take(drawn.mask)
    model = Tabular(walks=20_000).fit(WORLD.graph, examples=examples)
    held_out = WORLD.train.take(~drawn.mask)
    both = np.array(["seen"] * len(examples) + ["not seen"] * len(held_out))
    facts = type(examples).concat(examples, held_out)
    found = group_likelihood(model, WORLD.graph, examples, facts, both, seed=0)
    assert found["seen"] > found["not seen"]


def test_differences_over_seeds_need_no_single_ranks(tmp_path: Path) -> None:
    results = []
    for seed, gain in ((0, 0.1), (1, 0.3), (2, 0.2)):
        for cell in train_side.cells(("newsroom",), ("tabular", "nodecor"), (0.9,), (seed,)):
            more = gain if cell["method"] == "tabular" else 0.0
            by_group = {"favoured": {"n": 9, "mrr": 0.6 + more}, "other 1": {"n": 9, "mrr": 0.2 + 2 * more}}
            by_group[train_side.FITTED] = {"n": 5, "mrr": 1.0}
            results.append({"cell": cell, "result": {"groups": by_group, "log_likelihood": {"other 1": more - 1}}})
    rows = {row["method"]: row for row in summarise(results, tmp_path)}
    found = rows["tabular"]["difference"]
    assert found["mean"]["difference"] == pytest.approx(0.3)
    assert found["worst"]["difference"] == pytest.approx(0.4)
    assert found["likelihood"]["difference"] == pytest.approx(0.2)
    half = 4.302652729 * np.std([0.15, 0.45, 0.3], ddof=1) / np.sqrt(3)
    assert found["mean"]["seeds"] == pytest.approx([0.3 - half, 0.3 + half])
    assert "queries" not in found["mean"]
    assert rows["nodecor"]["mean"] == pytest.approx(0.4)  # what was fitted to is not judged


def test_variants_change_what_they_say_and_nothing_else(tmp_path: Path) -> None:
    asked = (
        "tabular",
        "equal evidence",
        "envelope",
        "mean - deviation",
        "decorrelated evidence",
        "worst-group evidence",
    )
    found = {}
    for cell in train_side.cells(("newsroom",), asked, (0.9,), (0,), "valid"):
        found[cell["method"]] = train_side.evaluate_cell(cell, tmp_path)["groups"]
        assert train_side.FITTED in found[cell["method"]]
    assert {n: g["n"] for n, g in found["tabular"].items()} == {n: g["n"] for n, g in found["envelope"].items()}
    assert all(0 <= figures["mrr"] <= 1 for groups in found.values() for figures in groups.values())
