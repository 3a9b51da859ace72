"""What scripts/release checks before anything is built, and what it finds in what was built."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = '[project]\nname = "stablerule"\nversion = "0.2.0"\n'
LABORATORY = '[project]\nversion = "0.2.0"\ndependencies = [\n    "stablerule[learn]>=0.2,<0.3",\n]\n'
CHANGELOG = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-01-31

- Something new.

## [0.1.0] - 2025-01-01

- First.
"""
CITATION = "title: StableRule\nversion: 0.2.0\ndate-released: 2026-01-31\n"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("release_checks")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """scripts/release as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts" / "release"))
    spec = importlib.util.spec_from_loader("release", loader)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    return script


def test_files_that_agree_can_be_released(checks: Any) -> None:
    assert checks.find_faults(LIBRARY, LABORATORY, CHANGELOG, CITATION) == []
    assert checks.find_section(CHANGELOG, "0.2.0") == ("2026-01-31", "- Something new.")


@pytest.mark.parametrize(
    ("which", "old", "new", "fault"),
    [
        (0, '"0.2.0"', '"0.2.dev1"', "expected a version such as 0.2.0, found '0.2.dev1'"),
        (1, '"0.2.0"', '"0.1.0"', "lab/pyproject.toml has version 0.1.0, pyproject.toml 0.2.0"),
        (1, ">=0.2,<0.3", ">=0.1,<0.2", 'does not depend on "stablerule[learn]>=0.2,<0.3"'),
        (2, "] - 2026-01-31", "]", "no line '## [0.2.0] - YYYY-MM-DD'"),
        (2, "- Something new.", "", "nothing under [0.2.0]"),
        (2, "## [Unreleased]\n", "## [Unreleased]\n\n- Later.\n", "entries under [Unreleased]"),
        (3, "0.2.0", "0.1.0", "CITATION.cff: version is 0.1.0, expected 0.2.0"),
        (3, "date-released: 2026-01-31\n", "", "CITATION.cff: date-released is missing, expected 2026-01-31"),
    ],
)
def test_files_that_differ_are_named(checks: Any, which: int, old: str, new: str, fault: str) -> None:
    texts = [LIBRARY, LABORATORY, CHANGELOG, CITATION]
    texts[which] = texts[which].replace(old, new)
    (found,) = [one for one in checks.find_faults(*texts) if fault in one]
    assert found.startswith(("pyproject.toml", "lab/pyproject.toml", "CHANGELOG.md", "CITATION.cff"))


def test_the_state_of_the_checkout_is_checked(checks: Any) -> None:
    assert checks.find_state_faults("", ["v0.1.0"], "0.2.0") == []
    changed, tagged = checks.find_state_faults(" M README.md\n?? x\n", ["v0.2.0"], "0.2.0")
    assert "such as 'M README.md'" in changed
    assert tagged.startswith("The tag v0.2.0 exists")


def test_the_contents_of_wheels_are_checked(checks: Any) -> None:
    names = [one.format(version="0.2.0") for one in checks.WHEELS["stablerule"]]
    assert checks.check_wheel("stablerule", "0.2.0", names) == []
    for strange in ("tests/test_x.py", "stablerule/__pycache__/x.pyc", "stablerule/.env", "stablerule/graph/x.pyc"):
        assert checks.check_wheel("stablerule", "0.2.0", [*names, strange]) == [
            f"The wheel of stablerule has {strange}, which does not belong there."
        ]
    for lacking in names:
        rest = [name for name in names if name != lacking]
        assert checks.check_wheel("stablerule", "0.2.0", rest) == [f"The wheel of stablerule lacks {lacking}."]


def test_the_contents_of_source_distributions_are_checked(checks: Any) -> None:
    top = "stablerule_lab-0.2.0/"
    names = [
        top + name
        for name in ("LICENSE", "README.md", "pyproject.toml", "PKG-INFO", ".gitignore", "src/stablerule_lab/py.typed")
    ]
    assert checks.check_sdist("stablerule_lab", "0.2.0", names) == []
    assert checks.check_sdist("stablerule_lab", "0.2.0", names[1:]) == ["The sdist of stablerule_lab lacks LICENSE."]
    for strange in ("results/cache/x", ".venv/bin/python", "src/x.pyc"):
        assert checks.check_sdist("stablerule_lab", "0.2.0", [*names, top + strange]) == [
            f"The sdist of stablerule_lab has {strange}, which does not belong there."
        ]


def test_a_release_stops_before_anything_is_built(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "lab").mkdir()
    for name, text in (("pyproject.toml", LIBRARY), ("lab/pyproject.toml", LABORATORY), ("CITATION.cff", CITATION)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n", encoding="utf-8")
    line = [sys.executable, str(tmp_path / "scripts" / "release")]
    ended = subprocess.run(line, check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "This can't be released:\n  CHANGELOG.md has no line '## [0.2.0] - YYYY-MM-DD'." in ended.stderr
    assert not (tmp_path / "dist").exists()
    assert not (tmp_path / ".venv").exists()


def test_a_tag_is_made_on_request_when_all_else_is_done(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(script.environment, "ROOT", str(tmp_path))
    monkeypatch.setattr(script.environment, "prepare", lambda *extras: done.append("prepare"))
    for name in ("build", "try_wheels", "try_sdists"):
        monkeypatch.setattr(script, name, lambda *_, name=name: done.append(name))
    monkeypatch.setattr(script, "check_files", lambda: "0.2.0")
    for command in (["init", "-q"], ["config", "user.name", "x"], ["config", "user.email", "x@example.org"]):
        script.git(*command)
    (tmp_path / "a").touch()
    with pytest.raises(script.SetupError, match="not committed, such as '\\?\\? a'"):
        script.release([])
    assert done == []
    script.git("add", "a")
    script.git("commit", "-qm", "All")
    assert script.release([]) == 0
    assert script.git("tag", "--list") == ""
    assert script.release(["--tag"]) == 0
    assert script.git("tag", "--list").split() == ["v0.2.0"]
    assert done == ["prepare", "build", "try_wheels", "try_sdists"] * 2
    with pytest.raises(script.SetupError, match="The tag v0.2.0 exists"):
        script.release(["--tag"])
    with pytest.raises(script.SetupError, match="takes --tag or nothing"):
        script.release(["--push"])


def test_the_steps_of_the_demo_are_read_from_it(script: Any) -> None:
    commands = [step for step in script.read_demo() if not callable(step)]
    assert {command[0] for command in commands} == {"stablerule"}
    assert any(command[1] == "learn" for command in commands)
