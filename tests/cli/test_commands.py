"""What the command line imports, and what an interrupt does meanwhile."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points

import pytest
from rich.text import Text

import stablerule
from stablerule import datasets
from stablerule.cli.main import COMMANDS, GROUPS
from stablerule.registry import LABORATORY_COMMANDS
from tests.terminal import run

SLOW_TO_IMPORT = ("numba", "numpy", "polars", "scipy", "torch", "stablerule.graph")
LISTING = f"import atexit; atexit.register(lambda: print([m for m in {SLOW_TO_IMPORT} if m in sys.modules]))"
# Sends the process Ctrl-C while the module NAME is being imported.
INTERRUPTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


def start(before: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, after some Python."""
    script = f"import sys; {before}\nfrom stablerule.__main__ import run\nrun()"
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


def read_help(*group: str) -> str:
    """Return the words of a group's help, without frames and without the styles of a terminal that CI may force."""
    return " ".join(Text.from_ansi(run(*group, "--help").stdout).plain.replace("│", " ").split())


@pytest.mark.parametrize("whole", COMMANDS)
def test_the_help_of_a_group_shows_the_first_line_of_each_command(whole: str) -> None:
    where, about = COMMANDS[whole]
    module, _, function = where.partition(":")
    first = (inspect.getdoc(getattr(import_module(module), function)) or "").split("\n\n")[0]
    assert about == " ".join(first.split())
    group, _, name = whole.rpartition(".")
    assert f" {name} {about} " in read_help(*group.split())


def test_every_group_is_listed() -> None:
    shown = read_help()
    assert {whole.partition(".")[0] for whole in COMMANDS if "." in whole} == set(GROUPS)
    assert all(f" {name} {about} " in shown for name, about in GROUPS.items())


@pytest.mark.parametrize("words", [("--help",), ("data", "--help"), ("--version",), ("no-such-command",)])
def test_help_imports_no_command(words: tuple[str, ...]) -> None:
    done = start(LISTING, *words)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout


def test_the_package_is_imported_name_by_name() -> None:
    script = f"import sys; {LISTING}; import stablerule; stablerule.StableRuleError; dir(stablerule)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
    for package in (stablerule, datasets):
        seen_by_type_checkers = {
            name.name: statement.module
            for statement in ast.walk(ast.parse(inspect.getsource(package)))
            if isinstance(statement, ast.ImportFrom) and statement.module != "stablerule.importing"
            for name in statement.names
        }
        assert set(package.__all__) == set(seen_by_type_checkers)
        for name, module in seen_by_type_checkers.items():
            assert getattr(package, name) is getattr(import_module(f"{module}"), name)
            assert name in dir(package)
    with pytest.raises(AttributeError, match="module 'stablerule' has no attribute 'lode'"):
        stablerule.lode  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("module", ["stablerule.cli.main", "typer", "stablerule.cli.data", "numpy", "polars"])
def test_ctrl_c_while_a_module_is_imported_ends_quietly(module: str) -> None:
    done = start(INTERRUPTING.replace("NAME", repr(module)), "data", "check", "geography")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_a_process_that_ignores_ctrl_c_goes_on() -> None:
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    before = INTERRUPTING.replace("NAME", "'typer'").replace(
        "signal.signal(signal.SIGINT, signal.default_int_handler)", ignoring
    )
    done = start(before, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("stablerule ")


def test_work_can_be_interrupted_and_keeps_what_it_has() -> None:
    """Once a command runs, Ctrl-C is an exception again, even where something wraps it in another error."""
    wrapping = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from stablerule.cli import data
def interrupted(name):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt as error:
        print("kept", file=sys.stderr)
        raise RuntimeError("wrapped") from error
data.load = interrupted
"""
    done = start(wrapping, "data", "get", "geography")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kept\nInterrupted.\n")


def test_what_the_laboratory_says_of_its_commands_is_known_to_the_library() -> None:
    for entry in entry_points(group="stablerule.commands"):
        if entry.name in LABORATORY_COMMANDS:
            first = (inspect.getdoc(entry.load()) or "").split("\n\n")[0]
            assert LABORATORY_COMMANDS[entry.name] == " ".join(first.split())
