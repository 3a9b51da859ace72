"""Runs the code blocks of documents: Python blocks as they stand, console blocks with their output.

Each document runs in an empty folder that has the tables of examples/, so its blocks may read and write files.
"""

from __future__ import annotations

import doctest
import os
import shlex
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from typer.testing import CliRunner

if TYPE_CHECKING:
    from sybil import Example

TABLES = Path(__file__).parents[1] / "examples"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def collect_documents(folder: Path) -> Any:
    """Return the hook that collects the README and the docs of a folder."""
    folder_of_document = OwnFolder()
    return Sybil(
        parsers=[
            PythonCodeBlockParser(doctest_optionflags=FLAGS),
            CodeBlockParser(language="console", evaluator=run_console),
        ],
        path=str(folder),
        patterns=["README.md", "docs/*.md", "docs/**/*.md"],
        setup=folder_of_document.enter,
        teardown=folder_of_document.leave,
    ).pytest()


class OwnFolder:
    """The folder of the document that runs; pytest runs one after another."""

    def enter(self, namespace: dict[str, Any]) -> None:
        """Make the folder, and go there."""
        self.before, self.folder = Path.cwd(), TemporaryDirectory()
        for table in TABLES.glob("*.csv"):
            shutil.copy(table, self.folder.name)
        os.chdir(self.folder.name)

    def leave(self, namespace: dict[str, Any]) -> None:
        """Go back to where the tests run, and remove the folder."""
        os.chdir(self.before)
        self.folder.cleanup()


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
