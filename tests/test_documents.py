"""Figures in documents come from the results files."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_figures_of_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results" / "reading.json").read_text())
    readme = (ROOT / "README.md").read_text()
    million, twenty = results["million"], results["twenty_million"]
    assert f"CPU time | {million['stablerule']['cpu_seconds']:.2f} s |" in readme
    assert f"{million['pykeen']['cpu_seconds']:.2f} s ({million['times_faster']:.1f} times as much)" in readme
    assert f"peak memory | {twenty['stablerule']['peak_gb']:.1f} GB |" in readme
    assert f"PyKEEN {results['versions']['pykeen']}" in readme


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        assert f"({page.name})" in listed
