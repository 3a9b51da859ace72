"""Figures in the laboratory's documents come from its cells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stablerule_lab.experiments.document import MARK, Results, fill, has_marks

ROOT = Path(__file__).parents[1]
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if has_marks(page)]
FIGURE = re.compile(r"(?<![\w.])\d*\.\d+%?(?!\.?\d|\w)")  # .057, 0.358, 22.4%
CITED = {".476", ".338"}  # RotatE's own publication
CHOSEN = {".02", "1.5"}  # our learning rate, and a threshold


@pytest.fixture(scope="module")
def results() -> Results:
    return Results(ROOT / "results")


def test_the_pages_with_tables_are_known() -> None:
    assert {page.name for page in PAGES} == {"methods.md", "paper.md", "tables.md", "weights.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_of_the_cells(page: Path, results: Results) -> None:
    text = page.read_text()
    assert fill(text, results, page) == text


@pytest.mark.parametrize("name", ["paper", "tables"])
def test_every_figure_is_linked_and_there(name: str) -> None:
    text = (ROOT / "docs" / f"{name}.md").read_text()
    linked = {ROOT / "docs" / path for path in re.findall(rf"\]\((images/{name}/[^)]+)\)", text)}
    assert linked == set((ROOT / "docs" / "images" / name).iterdir())


@pytest.mark.parametrize("name", ["paper", "weights"])
def test_a_figure_in_the_prose_stands_in_a_table(name: str) -> None:
    """So that prose that has gone stale is found when the cells change."""
    made = "\n".join(found.group() for page in PAGES for found in MARK.finditer(page.read_text()))
    prose = MARK.sub("", (ROOT / "docs" / f"{name}.md").read_text())
    said, in_tables = ({found.removeprefix("0") for found in FIGURE.findall(text)} for text in (prose, made))
    assert len(said) > 5
    assert said - in_tables <= CITED | CHOSEN
