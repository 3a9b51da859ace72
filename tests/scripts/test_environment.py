"""What a user meets who runs a script: on made-up machines, without network, pip or a second Python."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPTS = Path(__file__).parents[2] / "scripts"
# What anybody may start, with whatever Python there is.
ANYBODYS = ["decisions.py", "environment.py", "site_check.py", "demo", "docs", "in_venv", "release", "test"]


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, loaded anew and moved to an empty project."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("environment", SCRIPTS / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "made-up"\n')
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "PYPROJECT", str(tmp_path / "pyproject.toml"))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    for name in ("BIN", "LOG", "STAMP"):
        monkeypatch.setattr(module, name, str(tmp_path / ".venv" / Path(getattr(module, name)).name))
    return module


@pytest.fixture
def python(env: Any) -> Callable[..., Any]:
    """A Python of any kind, by default a usable one in `.venv`."""

    def make(version: str = "3.12.1", **facts: Any) -> Any:
        defaults = {"executable": f"/usr/bin/python{version}", "prefix": env.VENV, "has_venv": True, "has_pip": True}
        return env.Interpreter(version=tuple(map(int, version.split("."))), **{**defaults, **facts})

    return make


class Machine:
    """Replaces venv and pip: records what was run, and answers as it was set."""

    def __init__(self, env: Any, interpreter: Any) -> None:
        self.env, self.interpreter = env, interpreter
        self.commands: list[list[str]] = []
        self.code, self.log, self.interrupted = 0, "", False
        env.probe = lambda command: self.interpreter
        env.pythons = lambda: iter([self.interpreter])
        env.run_logged = self.run

    def run(self, command: list[str], progress: object) -> tuple[int, str]:
        self.commands.append(command)
        if self.interrupted:
            raise KeyboardInterrupt
        return (self.code, self.log) if "pip" in command else (0, "")

    def installed(self) -> list[str]:
        """What pip was asked for since the last look."""
        asked = [
            word for command in self.commands if "pip" in command for word in command[command.index("-e") + 1 :: 2]
        ]
        self.commands.clear()
        return asked


@pytest.fixture
def machine(env: Any, python: Callable[..., Any]) -> Machine:
    return Machine(env, python())


# --- before anything is made


def test_the_first_python_that_is_new_enough_and_whole_is_taken(env: Any, python: Callable[..., Any]) -> None:
    found = [python("3.9.18"), python("3.12.1", has_venv=False), python("3.13.0"), python("3.11.7")]
    assert env.choose_python(iter(found)).number == "3.13.0"


def test_without_a_usable_python_the_message_says_what_to_install(env: Any, python: Callable[..., Any]) -> None:
    with pytest.raises(env.SetupError, match=r"needs Python 3\.11 or newer; this is Python 3\.6\.15") as error:
        env.choose_python(iter([python("3.6.15"), python("3.10.13")]))
    assert "What to do: install a newer Python" in str(error.value)
    with pytest.raises(env.SetupError, match="cannot make virtual environments") as error:
        env.choose_python(iter([python("3.11.2", has_venv=False), python("3.9.1")]))
    assert "apt install python3-venv (or python3.11-venv)" in str(error.value)


@pytest.mark.parametrize("name", ANYBODYS)
def test_old_pythons_can_read_the_scripts(name: str) -> None:
    ast.parse((SCRIPTS / name).read_text(), feature_version=(3, 6))


def test_a_full_disk_stops_the_setup_before_anything_is_made(
    env: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5))
    with pytest.raises(env.SetupError, match=r"GB of disk space are needed in .*, and 0\.0 GB are free"):
        env.prepare("dev")
    assert machine.commands == []
    assert not Path(env.VENV).exists()


# --- making, reusing and mending `.venv`


def test_a_second_run_installs_nothing_and_extras_add_up(env: Any, machine: Machine) -> None:
    env.prepare()
    assert [command[1:3] for command in machine.commands] == [["-m", "venv"], ["-m", "pip"]]
    assert machine.installed() == ["."]
    env.prepare("dev")
    assert machine.installed() == [".[dev]"]
    env.prepare("learn")
    assert machine.installed() == [".[dev,learn]"]
    env.prepare("dev")
    assert machine.installed() == []
    env.prepare("laboratory")
    assert machine.installed() == [".[dev,learn]", "./lab[dev]"]


def test_a_changed_project_file_is_installed_again_but_not_for_the_settings_of_tools(
    env: Any, machine: Machine
) -> None:
    env.prepare("dev")
    machine.installed()
    text = '[project]\nname = "made-up"\n\n[tool.ruff]\nline-length = 100\n'
    Path(env.PYPROJECT).write_text(text)
    env.prepare()
    machine.installed()
    Path(env.PYPROJECT).write_text(text.replace("100", "120"))
    env.prepare()
    assert machine.installed() == []
    Path(env.PYPROJECT).write_text(text.replace("[tool.ruff]", 'dependencies = ["numpy"]\n[tool.ruff]'))
    env.prepare()
    assert machine.installed() == [".[dev]"]
    (Path(env.ROOT) / "lab").mkdir()
    (Path(env.ROOT) / "lab" / "pyproject.toml").write_text('[project]\nname = "made-up-lab"\n')
    env.prepare()
    assert machine.installed() == [".[dev]"]


def test_every_fault_of_an_environment_is_named(env: Any, python: Callable[..., Any]) -> None:
    def fault(interpreter: Any, made: bool = True, made_at: str = env.VENV) -> Any:
        stamp = env.Stamp(made=made, root=env.ROOT, python="3.12", extras=frozenset(), fingerprint="f")
        return env.fault(interpreter, stamp, made_at, env.VENV)

    assert fault(python()) is None
    assert env.fault(python(), None, None, env.VENV) is None, "made by hand: neither stamp nor place known"
    assert fault(None) == "is broken (no Python that runs in it)"
    assert fault(python(prefix="/usr")) == "is broken (no Python that runs in it)"
    assert fault(python("3.9.1")) == "has Python 3.9.1, older than 3.11"
    assert fault(python(has_pip=False)) == "has no pip"
    assert fault(python(), made=False) == "was left half made"
    assert fault(python(), made_at="/old/.venv") == "was made elsewhere (/old/.venv) and moved here"


def test_what_is_installed_keeps_to_the_constraints(env: Any, machine: Machine) -> None:
    env.prepare()
    assert "-c" not in machine.commands[-1]
    for version in ("2.0", "2.1"):
        (Path(env.ROOT) / "constraints.txt").write_text(f"numpy=={version}\n")
        env.prepare()
        options = machine.commands[-1]
        assert options[options.index("-c") + 1] == str(Path(env.ROOT) / "constraints.txt")
        machine.installed()
    env.prepare()
    assert machine.installed() == []


def test_the_constraints_name_no_build_of_torch() -> None:
    text = (SCRIPTS.parent / "constraints.txt").read_text(encoding="utf-8")
    names = re.findall(r"(?m)^([a-z0-9-]+)==", text)
    assert {"numpy", "numba", "polars", "pytest", "mkdocs-material"} <= set(names)
    assert not {"torch", "triton", "stablerule"} & set(names)
    assert not [name for name in names if name.startswith(("nvidia", "cuda"))]
    assert "+" not in re.sub(r"(?m)^#.*$", "", text)


def test_tools_run_only_where_they_are_installed(env: Any, tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    line = [sys.executable, str(tmp_path / "scripts" / "in_venv"), "ruff", "check"]
    ended = subprocess.run(line, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (1, "\n.venv is not there.\nWhat to do: run scripts/test once.\n")


def test_a_faulty_environment_is_made_again_with_a_line_that_says_so(
    env: Any, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(env.VENV).mkdir()
    leftover = Path(env.VENV) / "leftover"
    leftover.touch()
    env.write_stamp(env.Stamp(made=True, root="/elsewhere", python="3.12", extras=frozenset(), fingerprint="f"))
    env.prepare()
    assert ".venv was made elsewhere (/elsewhere/.venv) and moved here: making it anew" in capsys.readouterr().out
    assert not leftover.exists()


def test_what_was_interrupted_is_done_again(env: Any, machine: Machine) -> None:
    machine.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        env.prepare("dev")
    assert env.look().fault == "was left half made"
    machine.interrupted = False
    env.prepare("dev")
    machine.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        env.prepare("learn")
    machine.interrupted = False
    machine.installed()
    env.prepare()
    assert machine.installed() == [".[dev]"]


def test_pip_that_fails_is_run_again_only_where_it_had_begun_to_change_packages(env: Any, machine: Machine) -> None:
    env.prepare()
    machine.installed()
    for log, message, again in (
        ("ERROR: No matching distribution found for torch", r"no build for Python 3\.12", []),
        ("Installing collected packages: torch\nERROR: [Errno 28] No space left", "the disk is full", ["."]),
    ):
        machine.code, machine.log = 1, log
        with pytest.raises(env.SetupError, match=message):
            env.prepare("learn")
        machine.code, machine.log = 0, ""
        machine.installed()
        env.prepare()
        assert machine.installed() == again


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("Retrying: NewConnectionError\nERROR: No matching distribution found for x", "cannot be reached"),
        ("Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE", "PIP_CERT"),
        ("ERROR: Could not install packages: [Errno 13] Permission denied: 'x'", "who owns"),
        ("ERROR: Could not find a version that satisfies the requirement x", "no build for Python 3.15"),
        ("something never seen", "read the whole log"),
    ],
)
def test_the_advice_fits_the_cause(env: Any, log: str, advice: str) -> None:
    assert advice in env.advise(log, "3.15")


def test_progress_shows_no_address_which_may_hold_a_password(env: Any) -> None:
    assert env.doing("Looking in indexes: https://user:secret@host/simple\n") == "working"
    log = "Collecting numpy\n  Downloading https://user:secret@host/a/numpy-2.4-cp311.whl (16 MB)\n"
    assert env.doing(log) == "Downloading numpy-2.4"


# --- running commands


def test_commands_run_as_in_an_activated_environment(env: Any) -> None:
    inner = env.child_environment({"PATH": "/bin", "PYTHONPATH": "/other", "HOME": "/me"}, ci=False)
    assert inner["PATH"] == env.BIN + os.pathsep + "/bin"
    assert inner["VIRTUAL_ENV"] == env.VENV
    assert inner["HOME"] == "/me"
    assert "PYTHONPATH" not in inner


def test_steps_stop_at_the_first_failure_and_say_how_to_run_it_alone(
    env: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def run(command: list[str]) -> int:
        ran.append(command[0])
        return 3 if command[0] == "mypy" else 0

    env.run = run
    assert env.run_steps([["ruff", "check", "."], ["mypy", "a b"], ["pytest"]]) == 3
    assert ran == ["ruff", "mypy"]
    output = capsys.readouterr().out
    assert f"Failed (exit code 3): mypy 'a b'\nTo run it alone: {env.tool('mypy')} 'a b'\n" in output


def test_ctrl_c_ends_the_command_too(env: Any) -> None:
    env.GRACE = 0.1
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    def press() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        env.wait(process, press)
    assert process.returncode not in (None, 0)


@pytest.mark.parametrize(
    ("error", "code", "printed"), [(KeyboardInterrupt(), 130, "\n"), (None, 7, ""), ("no disk", 1, "\nno disk\n")]
)
def test_scripts_end_without_a_traceback(
    env: Any,
    error: BaseException | str | None,
    code: int,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(arguments: list[str]) -> int:
        if error is not None:
            raise env.SetupError(error) if isinstance(error, str) else error
        return 7

    monkeypatch.setattr(sys, "argv", ["script"])
    with pytest.raises(SystemExit) as end:
        env.main(work, "about")
    assert end.value.code == code
    assert capsys.readouterr().err == printed


@pytest.mark.parametrize("script", ["demo", "docs", "faults", "in_venv", "make_constraints", "release", "test"])
def test_help_is_printed_without_setting_anything_up(script: str, tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    line = [sys.executable, str(tmp_path / "scripts" / script), "--help"]
    ended = subprocess.run(line, check=True, capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith(f"scripts/{script}")
    assert not (tmp_path / ".venv").exists()
    assert os.access(SCRIPTS / script, os.X_OK)


def test_the_library_is_tested_before_the_laboratory_and_the_fast_way_leaves_out_what_is_slow(env: Any) -> None:
    steps = runpy.run_path(str(SCRIPTS / "test"))["steps"]
    *checks, library, laboratory = steps([])
    assert [check[0] for check in checks] == ["ruff", "ruff", "mypy", "lint-imports", "lint-imports"]
    assert laboratory == [*library, "lab"]
    *also_checked, fast = steps(["--fast"])
    assert also_checked == checks
    assert fast[-3:] == ["-m", "not slow", "tests"]
    assert steps(["lab/tests", "-x"]) == [*checks, [*library, "lab/tests", "-x"]]
    *_, some = steps(["lab/tests", "--fast"])
    assert some == ["pytest", "-x", "-q", "--ff", "lab/tests"]
