"""The lines of the README work as pasted, and print what it says."""

from __future__ import annotations

import html
import os
import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stablerule.cli.main import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.slow


def find_block(language: str, heading: str) -> str:
    """Return the first block of a language under a heading."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return section.partition(f"```{language}\n")[2].partition("\n```")[0]


def read_picture() -> list[str]:
    """Return what the picture shows: its title, the prompt, the command, and the lines that it printed."""
    texts = re.findall(r">([^<]*)</text>", (ROOT / "docs" / "images" / "answer.svg").read_text(encoding="utf-8"))
    return [html.unescape(text).replace("\xa0", " ").rstrip() for text in texts]


def test_ten_lines_of_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    lines = [shlex.split(line, comments=True) for line in find_block("sh", "Ten lines of shell").splitlines()]
    assert len(lines) == 10
    for program, *words in lines:
        if program == "mv":
            os.replace(*words)
            continue
        assert program == "stablerule"
        result = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
        assert result.exit_code == 0, result.output
        if words[0] == "ask":
            shown = read_picture()
            missing = [line for line in result.stdout.splitlines() if line.rstrip() not in shown]
            assert not missing, "the picture shows something else: run scripts/make_capture"
    new, hidden = (set(Path(name).read_text(encoding="utf-8").splitlines()) for name in ("new.tsv", "hidden.tsv"))
    found = {"\t".join(line.split("\t")[:3]) for line in new} & hidden
    assert f"Of the 1,000 new facts in `new.tsv`, {len(found)} are among the hidden ones." in README
    low, high, answers = map(
        float, re.findall(r"\(MRR\) between (\S+) and (\S+)\. Measured .* is (\S+)\.\n", README)[0]
    )
    printed = CliRunner().invoke(app, [*words[:-2], "--labels"]).stdout
    assert [round(float(number), 2) for number in re.findall(r"interval (\S+) to (\S+?),", printed)[0]] == [low, high]
    assert round(float(re.findall(r"Measured MRR.*: (\S+)", printed)[0]), 2) == answers


def test_ten_lines_of_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = find_block("py", "Ten lines of Python")
    assert 0 < len([line for line in code.splitlines() if line]) <= 10
    program = tmp_path / "program.py"
    program.write_text(code, encoding="utf-8")
    runpy.run_path(str(program))
    assert capsys.readouterr().out.rstrip("\n") == find_block("text", "Ten lines of Python")


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150
