"""How time and memory grow: what is swept, and what is told. No test here looks at a clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import households
from stablerule_lab.experiments import efficiency
from stablerule_lab.experiments.cells import Cell
from stablerule_lab.experiments.efficiency import SWEEPS, cells, figures, measure, part_of, summarise, tables

WORLD = households(families=12, seed=0).dataset


def test_every_value_of_every_sweep_is_a_cell_once() -> None:
    asked = cells(("g",), ("stablerule", "nodecor"), (0,), {})
    assert len({tuple(cell.items()) for cell in asked}) == len(asked)
    swept = {str(cell["sweep"]) for cell in asked if cell["method"] == "nodecor"}
    assert swept == set(SWEEPS) - {"weight_steps", "moment_order"}  # there are no weights


@pytest.mark.parametrize("sweep", ["facts", "relations"])
def test_a_share_of_a_graph(sweep: str) -> None:
    half, whole = (part_of(WORLD, sweep, share, 0) for share in (0.5, 1.0))
    assert whole.n_facts == WORLD.graph.n_facts
    kept = half.n_facts if sweep == "facts" else np.unique(half.triples.relations).size
    total = WORLD.graph.n_facts if sweep == "facts" else WORLD.graph.n_relations
    assert kept == pytest.approx(total / 2, abs=1)
    assert WORLD.graph.contains(half.triples).all()


def test_a_cell_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(efficiency, "load", lambda _: WORLD)
    small = {"walks": 3000, "training.size": 8, "training.steps": 6, "training.batch_size": 200}
    monkeypatch.setattr(efficiency, "OPTIONS", efficiency.OPTIONS | small)
    monkeypatch.setattr(efficiency, "STEPS", 6)
    monkeypatch.setattr(efficiency, "FEW", 2)
    cell: Cell = {"graph": "umls", "method": "stablerule", "sweep": "moment_order", "value": 3, "seed": 0}
    found = measure(cell, tmp_path)
    assert found["facts"] == WORLD.graph.n_facts
    assert found["relations"] == WORLD.graph.n_relations
    assert found["bodies"] > 100
    assert {"milliseconds_a_step", "seconds", "peak_gb"} <= set(found)


def test_the_best_of_several_runs_and_the_exponent() -> None:
    def one(value: float, ms: float, seed: int) -> dict[str, Any]:
        cell = {"graph": "g", "method": "stablerule", "sweep": "size", "value": value, "seed": seed}
        numbers = {"milliseconds_a_step": ms, "seconds": 2 * ms, "peak_gb": 1.0, "bodies": 5}
        return {"cell": cell, "result": numbers}

    rows = summarise([one(64, 2, 0), one(64, 9, 1), one(128, 8, 0), one(256, 32, 0)], {})
    assert rows[0]["slopes"]["milliseconds_a_step"] == pytest.approx(2)
    (table,) = tables(rows, {})
    assert table.rows[0][:5] == ("size", "stablerule", "64", "256", "2 to 32")
    # By the formula 40 d + 2 d^2: 10,752 at 64 and 141,312 at 256, a slope of log(13.14) / log(4).
    assert table.rows[0][-2:] == ("2.00", "1.86")
    assert "</svg>" in figures(rows, {})[0].svg


@pytest.mark.parametrize("sweep", ["facts", "relations", "max_length"])
def test_the_formula_knows_nothing_of_the_graph(sweep: str) -> None:
    assert efficiency.claimed("stablerule", sweep, 2) is None
