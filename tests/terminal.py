"""The command line as the tests type it."""

from __future__ import annotations

import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from stablerule.cli.main import app
from stablerule.errors import StableRuleError

WIDTH = "100"
# A process that was started in the background ignores Ctrl-C, and so would its children.
START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from stablerule.cli import main, output
"""


def run(*words: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": WIDTH})


def fails(*words: str | Path) -> str:
    """Run a command that can't work: nothing on standard output; return the message."""
    result = run(*words)
    assert isinstance(result.exception, StableRuleError), result.output
    assert result.stdout == ""
    return str(result.exception)


def program(*words: str | Path, before: str = "") -> list[str]:
    """Return the command line for a process of its own, which runs some Python `before`."""
    return [sys.executable, "-c", f"{START}{before}\nmain.run()", *map(str, words)]
