"""A document whose tables and figures come from the cells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stablerule.errors import InputError
from stablerule_lab.experiments.cells import cell_name, is_fresh, read_cells
from stablerule_lab.experiments.document import Results, fill, inlined
from stablerule_lab.experiments.methods import QUICK_GRAPHS
from stablerule_lab.experiments.runner import run_cells
from stablerule_lab.experiments.specs import EXPERIMENTS
from stablerule_lab.pages.document_page import document_page
from tests.terminal import fails, run

TEXT = """# About

Words | stay, and [links](../README.md) lead to the same place from elsewhere, and [out](https://example.org).

<!-- table rule-budget umls -->
old
<!-- end -->

<!-- figure rule-budget curves -->
<!-- end -->

<!-- table natural -->
<!-- end -->
"""
POINT = {"kept": 1, "rules": 3, "score": {"mrr": 0.25}, "confidence": {"mrr": 0.5}}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    spec = EXPERIMENTS["rule-budget"]
    asked = spec.cells(("umls", "family"), ("tabular",), (0,), {})
    found = Results(tmp_path / "results")
    run_cells(asked, spec.cell_file(found.folder), lambda _: {"curve": [POINT]}, made_with=spec.made_with)
    return found


def test_tables_are_filled_and_filling_again_changes_nothing(results: Results, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    once = fill(TEXT, results, page)
    assert "old" not in once
    assert "| tabular | 1 | 0.250 |" in once
    assert "**family" not in once  # another title
    assert "](images/page/rule-budget-curves.svg)" in once
    assert once.count("not run yet") == 1
    assert "*natural: not run yet.*" in once
    assert fill(once, results, page) == once
    assert "Words | stay, and [links](../README.md)" in once


def test_a_page_stands_alone(results: Results, tmp_path: Path) -> None:
    page = document_page(inlined(TEXT, results, tmp_path / "docs" / "p.md", results.folder / "p.html"))
    assert "<title>About</title>" in page
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "<p><svg" not in page  # the figure is one element, and no paragraphs
    assert '<div class="wide"><table>' in page
    assert "<!-- table" not in page
    assert 'href="../README.md"' in page
    assert 'href="https://example.org"' in page


def test_a_mark_without_an_end_swallows_nothing(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no <!-- end -->"):
        fill("<!-- table natural -->\nwords\n\n<!-- table natural -->\n<!-- end -->", results, tmp_path)


def test_what_is_missing_is_listed(results: Results, tmp_path: Path) -> None:
    told = fill("<!-- missing rule-budget -->\n<!-- end -->", results, tmp_path)
    assert "- kinship, wn18rr, fb15k-237, yago3-10-quarter: all" in told
    assert "- umls, family: stablerule, nodecor" in told
    assert "run of planned):\n\n- umls, family: tabular 1 of 3" in told


def test_nothing_is_missing_when_all_that_is_planned_is_there(results: Results, tmp_path: Path) -> None:
    spec = EXPERIMENTS["rule-budget"]
    for graph in spec.graphs:  # dear ones need one seed
        cells = spec.cells((graph,), spec.methods, (0, 1, 2) if graph in QUICK_GRAPHS else (0,), {})
        run_cells(cells, spec.cell_file(results.folder), lambda _: {"curve": [POINT]}, made_with=spec.made_with)
    told = fill("<!-- missing rule-budget -->\n<!-- end -->", results, tmp_path)
    assert told.count("All planned cells have been run.") == 1
    assert "1 of" not in told


def test_what_is_left_out_is_listed_with_the_reason(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = {(graph, "nodecor"): "it is slow" for graph in ("wn18rr", "umls")} | {("umls", "tabular"): "it is done"}
    monkeypatch.setitem(EXPERIMENTS, "rule-budget", replace(EXPERIMENTS["rule-budget"], left_out=why))
    told = fill("<!-- missing rule-budget -->\n<!-- end -->", results, tmp_path)
    assert "Skipped (it is slow):\n\n- umls, wn18rr: nodecor\n" in told
    assert "- umls: stablerule, network alone" in told
    assert "it is done" not in told


def test_what_does_not_exist_is_named(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No experiment 'ruel-budget'. Closest: 'rule-budget'"):
        fill("<!-- table ruel-budget -->\n<!-- end -->", results, tmp_path)
    with pytest.raises(InputError, match="has no figure 'curve'. Closest: 'curves'"):
        fill("<!-- figure rule-budget curve -->\n<!-- end -->", results, tmp_path)


def test_the_command_writes_both(results: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(TEXT)
    result = run("experiment", "paper", "--page", page, "--results", results.folder)
    assert result.exit_code == 0, result.output
    assert "| tabular |" in page.read_text()
    assert (tmp_path / "images" / "page" / "rule-budget-curves.svg").read_text().startswith("<svg")
    assert "<svg" in (results.folder / "built" / "paper.html").read_text()
    assert "No page" in fails("experiment", "paper", "--page", tmp_path / "none.md")


def test_every_result_in_the_repository_says_what_it_was_made_with_and_is_not_stale() -> None:
    results = Path(__file__).parents[2] / "results"
    specs = list(EXPERIMENTS.values())
    files = set(results.glob("*.jsonl"))
    assert files == {spec.cell_file(results) for spec in specs}
    for file in files:
        own = [spec for spec in specs if spec.cell_file(results) == file]
        kept = read_cells(file)
        assert [json.loads(line) for line in file.read_text().splitlines()] == kept, f"{file.name}: not sorted"
        for one in kept:
            told = f"{file.name}: {cell_name(one['cell'])}"
            spec = next(spec for spec in own if one["cell"]["method"] in spec.all_methods)
            assert "settings" in one["made_with"], told
            assert is_fresh(one, spec.made_with), told
            assert one["seconds"] > 0, told
            assert one["result"]["data"], told
            assert {"python", "stablerule"} <= set(one["versions"]), told
            # Cells of train-side told no memory before they had processes of their own.
            assert one["result"].get("peak_gb", 0) > 0 or spec.name == "train-side", told
