"""The same scores, the same figures as PyKEEN; tests/golden/make_pykeen_ranks.py asked it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stablerule.evaluation import evaluate
from stablerule.reasoning.ranks import FORMS
from tests.evaluation.worlds import dataset_of, table_model

GOLDEN = Path(__file__).parents[1] / "golden" / "pykeen_ranks.json"


@pytest.mark.parametrize("kind", [float, np.float32, int])
def test_the_figures_are_those_of_pykeen(kind: type) -> None:
    golden = json.loads(GOLDEN.read_text())
    splits = {name: [[int(i) for i in row.split()] for row in golden[name]] for name in ("train", "valid", "test")}
    scores: NDArray[Any] = np.array([[list(map(int, row)) for row in rows] for rows in golden["scores"]], dtype=kind)
    dataset = dataset_of(golden["entities"], golden["relations"], **splits)
    found = evaluate(table_model(scores, batch_size=5), dataset)
    for form in FORMS:
        sides = {"both": found.figures(form), **found.by_direction(form)}
        assert sides.keys() == golden["metrics"].keys()
        for side, figures in sides.items():
            assert figures.metrics == pytest.approx(golden["metrics"][side][form], abs=1e-9)
