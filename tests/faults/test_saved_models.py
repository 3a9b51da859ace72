"""Damaged models and graphs end in an answer or in an error of ours, also where their checksums were made anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stablerule import open_graph, save_graph
from stablerule.errors import ReadError
from tests.faults.malformed import read_damaged
from tests.faults.readers import WORLD
from tests.faults.saved_readers import make_saved_readers, seal_anew

QUICK = 60


@pytest.mark.slow
def test_damaged_models_and_graphs(tmp_path: Path) -> None:
    readers = make_saved_readers(tmp_path)
    for reader in readers:
        reader.read()
    found = read_damaged(readers, QUICK, seed=0)
    assert found.faults == []
    assert found.inputs == QUICK
    assert found.refused.total() > QUICK / 2


@pytest.mark.parametrize("name", ["offsets", "fact_offsets"])
def test_offsets_whose_differences_overflow(tmp_path: Path, name: str) -> None:
    """They seem to rise, and numpy itself would write out of bounds."""
    save_graph(WORLD.graph, tmp_path / "graph")
    file = tmp_path / "graph" / f"{name}.npy"
    values = np.load(file)
    values[1:4] = 2**62, -(2**62), 2**62
    np.save(file, values)
    with seal_anew(file), pytest.raises(ReadError, match="must rise from 0"):
        open_graph(tmp_path / "graph")
