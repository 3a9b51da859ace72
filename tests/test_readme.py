"""The lines of the README work as pasted, and print what it shows."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def script() -> Any:
    """scripts/make_capture as a module."""
    loader = importlib.machinery.SourceFileLoader("make_capture", str(ROOT / "scripts" / "make_capture"))
    spec = importlib.util.spec_from_loader("make_capture", loader)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    return script


@pytest.mark.slow
def test_the_lines_print_what_the_readme_shows(script: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    picture, text = script.capture(README, tmp_path)
    advice = "if the change is right, run scripts/make_capture and look at the picture"
    assert text == README, advice
    assert picture == script.PICTURE.read_text(encoding="utf-8"), advice


def test_ten_lines_are_ten_and_the_readme_is_short(script: Any) -> None:
    for language, heading in (("sh", script.SHELL), ("py", script.PYTHON)):
        assert 8 < len(script.find_block(README, language, heading).splitlines()) <= 10
    assert len(README.splitlines()) <= 150
