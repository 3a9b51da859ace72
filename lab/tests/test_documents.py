"""Figures in the laboratory's documents come from its cells."""

from __future__ import annotations

from pathlib import Path

from stablerule_lab.experiments.cells import read_cells
from stablerule_lab.experiments.specs import EXPERIMENTS
from stablerule_lab.experiments.train_side.spec import tables
from stablerule_lab.experiments.train_side.summary import summarise

ROOT = Path(__file__).parents[1]


def test_the_tables_about_weights_are_those_of_the_cells() -> None:
    """From the files of the cells alone: the single ranks are not kept."""
    text = (ROOT / "docs" / "weights.md").read_text()
    spec = EXPERIMENTS["train-side"]
    kept = read_cells(spec.cell_file(ROOT / "results"))
    for mark, split, reference in (
        ("results/train-side", "test", "nodecor"),
        ("results/train-side, split valid", "valid", "tabular"),
        ("small", "test", "small nodecor"),
    ):
        cells = [one for one in kept if one["cell"]["split"] == split]
        rows = [row for row in summarise(cells, ROOT / "nowhere", reference=reference) if row["bias"] == 0.9]
        made = {line for table in tables(rows, reference) for line in table.markdown()}
        said = {line for line in _section(text, mark).splitlines() if line.startswith("| ") and " | 0.9 | " in line}
        assert said
        assert said <= made


def test_the_tables_of_methods_are_those_of_the_cells() -> None:
    spec = EXPERIMENTS["methods"]
    cells = spec.own(read_cells(spec.cell_file(ROOT / "results")), spec.options)
    made = [line for table in spec.tables(spec.summarise(cells, {}), {}) for line in table.markdown()]
    said = _section((ROOT / "docs" / "methods.md").read_text(), "results/methods")
    lines = [line for line in said.splitlines() if line.startswith("| ")]
    assert len(lines) > 50
    assert lines == [line for line in made if line.startswith("| ")]


def _section(text: str, mark: str) -> str:
    """What stands between the comment with a mark and the one that ends it."""
    begin, end = f"<!-- {mark} -->", "<!-- end -->"
    return text.partition(begin)[2].partition(end)[0]
