"""Runs the code blocks of documents: Python blocks as they stand, console blocks with their output."""

from __future__ import annotations

import doctest
import shlex
from typing import TYPE_CHECKING, Any

from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from sybil import Example

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def collect_documents(folder: Path) -> Any:
    """Return the hook that collects the README and the docs of a folder."""
    return Sybil(
        parsers=[
            PythonCodeBlockParser(doctest_optionflags=FLAGS),
            CodeBlockParser(language="console", evaluator=run_console),
        ],
        path=str(folder),
        patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    ).pytest()


def run_console(example: Example) -> str | None:
    """Run each `$ stablerule ...` line and hold what follows it against what is printed."""
    from stablerule.cli.main import app  # so that collecting tests stays fast

    checker = doctest.OutputChecker()
    for part in str(example.parsed).split("$ ")[1:]:
        command, _, expected = part.partition("\n")
        program, *words = shlex.split(command)
        if program != "stablerule":
            return f"a console block may only run stablerule, not {program}"
        result = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if expected.strip() and not checker.check_output(expected, result.stdout, FLAGS):
            return f"{command} printed\n{result.stdout}\nexpected\n{expected}"
    return None
