"""The set-up's decisions, on made-up machines: no network, no pip, no second Python."""

import ast
import importlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


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
    """Stands in for venv and pip: keeps what was run, answers as told."""

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


# --- which Python


def test_the_running_python_is_taken_when_it_will_do(env: Any, python: Callable[..., Any]) -> None:
    assert env.choose_python(iter([python("3.11.0"), python("3.14.0")])).number == "3.11.0"


def test_another_python_is_taken_when_the_running_one_is_too_old(env: Any, python: Callable[..., Any]) -> None:
    assert env.choose_python(iter([python("3.9.18"), python("3.13.0"), python("3.12.1")])).number == "3.13.0"


def test_another_python_is_taken_when_the_running_one_has_no_venv(env: Any, python: Callable[..., Any]) -> None:
    assert env.choose_python(iter([python("3.12.1", has_venv=False), python("3.11.7")])).number == "3.11.7"


def test_looking_for_pythons_stops_at_the_first_usable_one(env: Any, python: Callable[..., Any]) -> None:
    found = iter([python("3.12.1"), python("3.11.7")])
    env.choose_python(found)
    assert next(found).number == "3.11.7"


def test_too_old_a_python_says_which_it_is_and_what_to_do(env: Any, python: Callable[..., Any]) -> None:
    with pytest.raises(env.SetupError) as error:
        env.choose_python(iter([python("3.6.15"), python("3.10.13")]))
    message = str(error.value)
    assert "needs Python 3.11 or newer; this is Python 3.6.15 (/usr/bin/python3.6.15)" in message
    assert "python3.14, python3.13, python3.12, python3.11" in message
    assert "What to do: install a newer Python" in message


def test_no_python_at_all_is_said(env: Any) -> None:
    with pytest.raises(env.SetupError, match="none was found"):
        env.choose_python(iter([]))


def test_a_missing_venv_module_names_the_package_to_install(env: Any, python: Callable[..., Any]) -> None:
    with pytest.raises(env.SetupError) as error:
        env.choose_python(iter([python("3.11.2", has_venv=False), python("3.9.1")]))
    assert "Python 3.11.2 (/usr/bin/python3.11.2) cannot make virtual environments" in str(error.value)
    assert "apt install python3-venv (or python3.11-venv)" in str(error.value)


def test_the_running_python_tells_of_itself(env: Any) -> None:
    found = env.probe([sys.executable])
    assert found.version == sys.version_info[:3]
    assert Path(found.prefix) == Path(sys.prefix)
    assert Path(found.executable).exists()


@pytest.mark.parametrize("program", ["raise SystemExit(127)", "print('not what was asked')"])
def test_a_python_that_does_not_answer_is_passed_over(env: Any, program: str) -> None:
    # Standing in for a shim of an inactive version; the probe's own arguments come after, and are not read.
    assert env.probe([sys.executable, "-c", program]) is None
    assert env.probe(["no-such-python"]) is None


@pytest.mark.parametrize("name", ["decisions.py", "environment.py", "demo", "test", "quick"])
def test_old_pythons_can_read_the_scripts(name: str) -> None:
    ast.parse((SCRIPTS / name).read_text(), feature_version=(3, 6))


# --- disk


def test_enough_space_passes(env: Any) -> None:
    env.check_space(100e9, ["core", "dev", "learn"], "/project")


def test_too_little_space_says_how_much_is_needed_and_how_much_is_there(env: Any) -> None:
    with pytest.raises(env.SetupError) as error:
        env.check_space(0.34e9, ["core", "learn"], "/project")
    assert "3.0 GB of disk space are needed in /project, and 0.3 GB are free.\nWhat to do: " in str(error.value)


def test_learning_needs_more_space_than_the_core_and_nothing_new_needs_little(env: Any) -> None:
    needed = importlib.import_module("decisions").space_needed
    assert needed([]) < needed(["core"]) < needed(["core", "learn"])


def test_a_full_disk_stops_the_setup_before_anything_is_made(
    env: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5))
    with pytest.raises(env.SetupError, match=r"and 0\.0 GB are free"):
        env.prepare("dev")
    assert machine.commands == []
    assert not Path(env.VENV).exists()


# --- is .venv sound


def stamp(env: Any, **fields: Any) -> Any:
    defaults = {"made": True, "root": env.ROOT, "python": "3.12", "extras": frozenset(), "fingerprint": "f"}
    return env.Stamp(**{**defaults, **fields})


def test_a_sound_environment_has_no_fault(env: Any, python: Callable[..., Any]) -> None:
    assert env.fault(python(), stamp(env), env.VENV, env.VENV) is None
    assert env.fault(python(), None, None, env.VENV) is None, "made by hand: neither stamp nor place known"


def test_each_fault_has_its_own_words(env: Any, python: Callable[..., Any]) -> None:
    def fault(interpreter: Any, made: bool = True, made_at: str = env.VENV) -> Any:
        return env.fault(interpreter, stamp(env, made=made), made_at, env.VENV)

    assert fault(None) == "is broken (no Python that runs in it)"
    assert fault(python(prefix="/usr")) == "is broken (no Python that runs in it)"
    assert fault(python("3.9.1")) == "has Python 3.9.1, older than 3.11"
    assert fault(python(has_pip=False)) == "has no pip"
    assert fault(python(), made=False) == "was left half made"
    assert fault(python(), made_at="/old/.venv") == "was made elsewhere (/old/.venv) and moved here"


def test_an_environment_seen_through_a_link_was_not_moved(env: Any, tmp_path: Path, python: Callable[..., Any]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real, link = str(tmp_path / "real" / ".venv"), str(tmp_path / "link" / ".venv")
    assert env.fault(python(prefix=real), None, link, real) is None


def test_no_environment_is_told_from_a_broken_one(env: Any) -> None:
    assert env.look().fault == "is not there"
    Path(env.VENV).mkdir()
    assert env.look().fault == "is broken (no Python that runs in it)"


def test_a_real_environment_is_looked_at(env: Any, tmp_path: Path) -> None:
    venv.create(env.VENV, with_pip=False)
    assert env.look().fault == "has no pip"
    (Path(env.VENV) / "pyvenv.cfg").unlink()
    assert env.look().fault == "is broken (no Python that runs in it)", "its Python runs, as the one it links to"


def test_a_moved_environment_without_stamp_is_known_by_its_settings(env: Any, tmp_path: Path) -> None:
    venv.create(tmp_path / "old place" / ".venv", with_pip=False, prompt="two words")
    shutil.move(tmp_path / "old place" / ".venv", env.VENV)
    assert env.look().fault == f"was made elsewhere ({tmp_path / 'old place' / '.venv'}) and moved here"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"extras": ["dev"]}', '{"extras": 1, "unknown": 2}'])
def test_an_unreadable_stamp_is_no_stamp(env: Any, text: str) -> None:
    Path(env.VENV).mkdir()
    Path(env.STAMP).write_text(text)
    assert env.read_stamp() is None


def test_a_stamp_comes_back_as_it_was_written(env: Any) -> None:
    Path(env.VENV).mkdir()
    written = stamp(env, extras=frozenset({"learn", "dev"}))
    env.write_stamp(written)
    assert env.read_stamp() == written
    assert json.loads(Path(env.STAMP).read_text())["extras"] == ["dev", "learn"]
    assert os.listdir(env.VENV) == [Path(env.STAMP).name]


# --- must pip run


def test_nothing_is_missing_when_all_that_is_wanted_is_there(env: Any) -> None:
    assert env.missing(stamp(env), stamp(env)) is None
    assert env.missing(stamp(env, extras=frozenset({"dev", "learn"})), stamp(env, extras=frozenset({"dev"}))) is None


def test_why_pip_must_run_is_said(env: Any) -> None:
    wanted = stamp(env, extras=frozenset({"dev", "learn"}))
    assert env.missing(None, wanted) == "nothing known to be installed"
    assert env.missing(stamp(env, fingerprint=env.NOT_BEGUN), wanted) == "nothing installed yet"
    assert env.missing(stamp(env, fingerprint=env.NOT_ENDED), wanted) == "the last installation did not end"
    assert env.missing(stamp(env, python="3.11"), wanted) == "Python is now 3.12"
    assert env.missing(stamp(env, fingerprint="other"), wanted) == "pyproject.toml has changed"
    assert env.missing(stamp(env), wanted) == "missing: dev, learn"


def test_the_fingerprint_heeds_what_is_installed_and_not_the_linters(env: Any) -> None:
    text = '[project]\nname = "x"\n\n[tool.ruff]\nline-length = 100\n\n[tool.hatch.build]\nsources = ["src"]\n'
    assert env.fingerprint(text) == env.fingerprint(text.replace("100", "120"))
    assert env.fingerprint(text) != env.fingerprint(text.replace('"x"', '"y"'))
    assert env.fingerprint(text) != env.fingerprint(text.replace('"src"', '"lib"'))
    assert env.fingerprint(text) != env.fingerprint(text + '[project.scripts]\nx = "y:z"\n')


def test_the_requirements_name_extras_in_order(env: Any) -> None:
    assert env.requirements([]) == ["."]
    assert env.requirements({"learn", "dev"}) == [".[dev,learn]"]
    assert env.requirements({"learn", "dev", "laboratory"}) == [".[dev,learn]", "./lab[dev]"]


# --- the whole set-up, with venv and pip played


def test_a_second_run_installs_nothing_and_extras_add_up(env: Any, machine: Machine) -> None:
    env.prepare()
    assert [command[1:3] for command in machine.commands] == [["-m", "venv"], ["-m", "pip"]]
    assert machine.installed() == ["."]
    env.prepare()
    assert machine.installed() == []
    env.prepare("dev")
    assert machine.installed() == [".[dev]"]
    env.prepare("learn")
    assert machine.installed() == [".[dev,learn]"]
    env.prepare()
    env.prepare("dev")
    assert machine.installed() == []
    env.prepare("laboratory")
    assert machine.installed() == [".[dev,learn]", "./lab[dev]"]


def test_a_changed_project_file_is_installed_anew(env: Any, machine: Machine) -> None:
    env.prepare("dev")
    Path(env.PYPROJECT).write_text('[project]\nname = "made-up"\ndependencies = ["numpy"]\n')
    machine.installed()
    env.prepare()
    assert machine.installed() == [".[dev]"]
    (Path(env.ROOT) / "lab").mkdir()
    (Path(env.ROOT) / "lab" / "pyproject.toml").write_text('[project]\nname = "made-up-lab"\n')
    env.prepare()
    assert machine.installed() == [".[dev]"]


def test_a_faulty_environment_is_made_anew_with_a_line_that_says_so(
    env: Any, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(env.VENV).mkdir()
    leftover = Path(env.VENV) / "leftover"
    leftover.touch()
    env.write_stamp(stamp(env, root="/elsewhere"))
    env.prepare()
    assert ".venv was made elsewhere (/elsewhere/.venv) and moved here: making it anew" in capsys.readouterr().out
    assert not leftover.exists()


def test_a_file_or_a_dangling_link_in_the_place_of_the_environment_is_replaced(env: Any) -> None:
    Path(env.VENV).write_text("")
    env.remove_venv()
    Path(env.VENV).symlink_to("nowhere")
    env.remove_venv()
    assert not os.path.lexists(env.VENV)


def test_an_interrupted_making_is_known_the_next_time(env: Any, machine: Machine) -> None:
    machine.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        env.prepare()
    assert env.look().fault == "was left half made"


def test_an_interrupted_installation_is_resumed(env: Any, machine: Machine) -> None:
    env.prepare("dev")
    machine.installed()
    machine.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        env.prepare("learn")
    machine.interrupted = False
    machine.installed()
    env.prepare()
    assert machine.installed() == [".[dev]"]
    (Path(env.ROOT) / "lab").mkdir()
    (Path(env.ROOT) / "lab" / "pyproject.toml").write_text('[project]\nname = "made-up-lab"\n')
    env.prepare()
    assert machine.installed() == [".[dev]"]


def test_pip_that_fails_before_it_changed_anything_leaves_the_environment_usable(env: Any, machine: Machine) -> None:
    env.prepare()
    machine.installed()
    machine.code, machine.log = 1, "ERROR: No matching distribution found for torch"
    with pytest.raises(env.SetupError, match=r"no build for Python 3\.12"):
        env.prepare("learn")
    machine.installed()
    env.prepare()
    assert machine.installed() == []


def test_pip_that_fails_midway_is_run_again(env: Any, machine: Machine) -> None:
    env.prepare()
    machine.code, machine.log = 1, "Installing collected packages: torch\nERROR: [Errno 28] No space left on device"
    with pytest.raises(env.SetupError, match="the disk is full"):
        env.prepare("learn")
    machine.code, machine.log = 0, ""
    machine.installed()
    env.prepare()
    assert machine.installed() == ["."]


def test_an_extra_that_does_not_exist_is_an_error_though_pip_only_warns(env: Any, machine: Machine) -> None:
    machine.log = "WARNING: made-up 0.1.0 does not provide the extra 'bogus'"
    with pytest.raises(env.SetupError, match=r"no extra named bogus\.\nWhat to do: add it"):
        env.prepare("bogus")
    assert env.read_stamp().extras == frozenset()


def test_an_extra_that_is_no_more_is_forgotten(env: Any, machine: Machine) -> None:
    env.prepare("old")
    machine.log = "WARNING: made-up 0.1.0 does not provide the extra 'old'"
    env.prepare("dev")
    assert env.read_stamp().extras == {"dev"}


# --- what pip's failure means


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("Retrying: NewConnectionError\nERROR: No matching distribution found for x", "cannot be reached"),
        ("ReadTimeoutError: HTTPSConnectionPool: Read timed out.", "cannot be reached"),
        ("Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE", "PIP_CERT"),
        ("ERROR: Could not install packages: [Errno 13] Permission denied: 'x'", "who owns"),
        ("ERROR: Could not find a version that satisfies the requirement x", "no build for Python 3.15"),
        ("something never seen", "read the whole log"),
    ],
)
def test_the_cure_fits_the_cause(env: Any, log: str, advice: str) -> None:
    assert advice in env.advise(log, "3.15")


def test_a_failure_shows_the_last_lines_the_log_and_the_cure(env: Any) -> None:
    log = "\n".join(f"line {number}" for number in range(30))
    message = env.explain_failure("pip install -e '.'", 2, log, "3.12")
    assert message.startswith("pip install -e '.' failed (exit code 2). Its last lines:")
    assert "line 29" in message
    assert "line 17\n" not in message
    assert f"Log: {env.LOG}\nWhat to do: read the whole log" in message


def test_death_for_want_of_memory_is_named(env: Any) -> None:
    assert "want of memory" in env.explain_failure("pip", -9, "Collecting x", "3.12")


# --- progress


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", "working"),
        ("Looking in indexes: https://user:secret@host/simple\n", "working"),
        ("Collecting numpy>=1.26 (from x)\n", "Collecting numpy>=1.26"),
        ("Collecting numpy\n  Downloading https://host/a/numpy-2.4-cp311.whl (16 MB)\n", "Downloading numpy-2.4"),
        ("Obtaining file:///tmp/project\n  Installing build dependencies: started\n", "Installing build dependencies"),
        ("Installing collected packages: a, b, c\n", "Installing collected packages"),
    ],
)
def test_what_pip_is_at_is_told_without_addresses(env: Any, log: str, words: str) -> None:
    assert env.doing(log) == words


def test_off_a_terminal_progress_is_a_plain_line_now_and_then(env: Any) -> None:
    now, stream = [0.0], io.StringIO()
    progress = env.Progress(stream, animated=False, clock=lambda: now[0])
    for second in range(40):
        now[0] = float(second)
        progress.live("Downloading torch")
    assert stream.getvalue() == "[  15.0 s]   Downloading torch\n[  30.0 s]   Downloading torch\n"


def test_on_a_terminal_progress_is_one_line_that_is_wiped_away(env: Any) -> None:
    stream = io.StringIO()
    progress = env.Progress(stream, animated=True, clock=lambda: 0.0)
    progress.live("Downloading torch")
    progress.live("done")
    progress.say("ready")
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().split("\r")[-1] == "[   0.0 s] ready\n"


# --- running commands


def test_commands_run_as_in_an_activated_environment(env: Any) -> None:
    inner = env.child_environment({"PATH": "/bin", "PYTHONPATH": "/other", "HOME": "/me", "FORCE_COLOR": "1"}, ci=False)
    assert inner["PATH"] == env.BIN + os.pathsep + "/bin"
    assert inner["VIRTUAL_ENV"] == env.VENV
    assert inner["HOME"] == "/me"
    assert inner["FORCE_COLOR"] == "1"
    assert "PYTHONPATH" not in inner
    assert env.child_environment({}, ci=False)["PATH"] == env.BIN


def test_continuous_integration_gets_no_colours(env: Any) -> None:
    assert env.is_ci({"CI": "true"})
    assert not env.is_ci({"CI": "false"})
    assert not env.is_ci({})
    inner = env.child_environment({"FORCE_COLOR": "1"}, ci=True)
    assert inner["NO_COLOR"] == "1"
    assert "FORCE_COLOR" not in inner


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
    assert "=== ruff check .\n--- 0.0 s\n" in output
    assert f"Failed (exit code 3): mypy 'a b'\nTo run it alone: {env.tool('mypy')} 'a b'\n" in output


def test_steps_that_pass_end_with_the_seconds(env: Any, capsys: pytest.CaptureFixture[str]) -> None:
    env.run = lambda command: 0
    assert env.run_steps([["ruff"], ["mypy"]]) == 0
    assert capsys.readouterr().out.endswith("\nAll passed in 0.0 s.\n")


def test_a_missing_tool_is_trouble_with_a_cure(env: Any) -> None:
    with pytest.raises(env.SetupError, match="does not run"):
        env.run(["no-such-tool"])


def test_death_by_signal_has_the_exit_code_of_shells(env: Any) -> None:
    assert [env.exit_code(returned) for returned in (0, 5, -9)] == [0, 5, 137]


def test_ctrl_c_ends_the_command_too(env: Any) -> None:
    env.GRACE = 0.1
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    def press() -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        env.wait(process, press)
    assert process.returncode is not None
    assert time.monotonic() - start < 30


# --- the scripts themselves


@pytest.mark.parametrize(
    ("error", "code", "said"), [(KeyboardInterrupt(), 130, "\n"), (None, 7, ""), ("no disk", 1, "\nno disk\n")]
)
def test_scripts_end_quietly(
    env: Any, error: BaseException | str | None, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(arguments: list[str]) -> int:
        if error is not None:
            raise env.SetupError(error) if isinstance(error, str) else error
        return 7

    with pytest.raises(SystemExit) as end:
        env.main(work, "about")
    assert end.value.code == code
    assert capsys.readouterr().err == said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(SCRIPTS, tmp_path / "project" / "scripts")
    return tmp_path / "project"


def start(project: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    script, *arguments = command
    line = [sys.executable, str(project / "scripts" / script), *arguments]
    return subprocess.run(line, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("script", ["demo", "test", "quick"])
def test_scripts_tell_what_they_do(project: Path, script: str) -> None:
    ended = start(project, script, "--help")
    assert ended.returncode == 0
    assert ended.stdout.startswith(f"scripts/{script}")
    assert os.access(SCRIPTS / script, os.X_OK)


def test_quick_does_not_set_up_anything(project: Path) -> None:
    ended = start(project, "quick")
    assert ended.returncode == 1
    assert ended.stderr == "\n.venv is not there.\nWhat to do: run scripts/test once.\n"
    assert not (project / ".venv").exists()
