"""Makes or reuses the project's `.venv` for the scripts beside this file.

    find a Python -> make .venv, or find it sound -> install what is missing -> run commands in it

The decisions are in `decisions.py`, what touches the machine is here. A second run finds the stamp in `.venv`, does
nothing, and so needs no network.
"""
# ruff: noqa: UP006, UP035, UP045
# The old spellings of types stay: this file also runs on Python 3.6, to say there that a newer one is needed.

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from typing import Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, TextIO, Tuple

from decisions import (
    NOT_BEGUN,
    NOT_ENDED,
    TRIED,
    Found,
    Interpreter,
    SetupError,
    Stamp,
    advise,
    check_space,
    choose_python,
    doing,
    exit_code,
    fault,
    fingerprint,
    is_ci,
    missing,
    requirements,
    unknown_extras,
)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYPROJECT = os.path.join(ROOT, "pyproject.toml")
STAMP = os.path.join(VENV, "stablerule-environment.json")
LOG = os.path.join(VENV, "install.log")

GRACE = 5  # seconds that a command has to end by itself after Ctrl-C


def child_environment(outer: Mapping[str, str], ci: bool) -> Dict[str, str]:
    """Environment variables for commands in `.venv`: as if it was activated, shielded from other Pythons' settings."""
    dropped = {"PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"} | ({"FORCE_COLOR", "CLICOLOR_FORCE"} if ci else set())
    inner = {name: value for name, value in outer.items() if name not in dropped}
    inner["VIRTUAL_ENV"] = VENV
    inner["PATH"] = os.pathsep.join([BIN] + ([outer["PATH"]] if outer.get("PATH") else []))
    inner["PIP_USER"] = "0"
    if ci:
        inner.update(NO_COLOR="1", PY_COLORS="0")
    return inner


PROBE = """
import importlib.util, json, sys
has = lambda name: importlib.util.find_spec(name) is not None
print(json.dumps([getattr(sys, "_base_executable", None) or sys.executable, sys.version_info[:3], sys.prefix,
                  has("venv") and has("ensurepip"), has("pip")]))
"""


def probe(command: List[str]) -> Optional[Interpreter]:
    """Ask a Python what it is; None when it does not run, as pyenv's shims of inactive versions do not."""
    try:
        output = subprocess.check_output(
            [*command, "-I", "-c", PROBE], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60
        )
        executable, version, prefix, has_venv, has_pip = json.loads(output.decode("utf-8"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(executable, tuple(version), prefix, has_venv, has_pip)


def pythons() -> Iterator[Interpreter]:
    """The running Python first, then those on PATH, newest first."""
    commands = [[sys.executable]] if sys.executable else []
    commands += [["python" + number] for number in TRIED]
    if os.name == "nt":
        commands += [["py", "-" + number] for number in TRIED]
    for command in commands:
        python = probe(command)
        if python is not None:
            yield python


def read_text(path: str) -> str:
    """Empty when there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read_stamp() -> Optional[Stamp]:
    """None when there is no stamp, or none that this version of the script has written."""
    try:
        fields = json.loads(read_text(STAMP))
        return Stamp(**dict(fields, extras=frozenset(fields["extras"])))
    except (ValueError, TypeError, KeyError):
        return None


def write_stamp(stamp: Stamp) -> None:
    with open(STAMP + ".new", "w", encoding="utf-8") as file:
        json.dump(dict(stamp._asdict(), extras=sorted(stamp.extras)), file, indent=1)
    os.replace(STAMP + ".new", STAMP)


def read_made_at(stamp: Optional[Stamp]) -> Optional[str]:
    """Where `.venv` was made: from our stamp, or from the command that Python 3.11 and newer note in it."""
    if stamp is not None:
        return os.path.join(stamp.root, ".venv")
    settings = read_text(os.path.join(VENV, "pyvenv.cfg"))
    noted = re.search(r'(?m)^command = .* -m venv (?:--prompt="[^"]*" |--\S+ )*(.+)$', settings)
    return noted.group(1).strip() if noted else None


class Progress:
    """Lines with the seconds since the start; on a terminal also one line that lives."""

    def __init__(self, stream: TextIO, animated: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.animated, self.clock = stream, animated, clock
        self.start = self.told = clock()
        self.width = 0

    def say(self, text: str) -> None:
        self.clear()
        self.stream.write(f"[{self.clock() - self.start:6.1f} s] {text}\n")
        self.stream.flush()
        self.told = self.clock()

    def live(self, text: str) -> None:
        """Show that work goes on: in place on a terminal, elsewhere by a line now and then."""
        if not self.animated:
            if self.clock() - self.told >= 15:
                self.say("  " + text)
            return
        line = f"[{self.clock() - self.start:6.1f} s]   {text}"
        line = line[: shutil.get_terminal_size().columns - 1]
        self.stream.write("\r" + line + " " * (self.width - len(line)))
        self.stream.flush()
        self.width = len(line)

    def clear(self) -> None:
        if self.width:
            self.stream.write("\r" + " " * self.width + "\r")
            self.width = 0


def wait(process: "subprocess.Popen[bytes]", tick: Callable[[], None]) -> int:
    """Wait for `process` with `tick` five times a second; after Ctrl-C it gets a moment to end by itself."""
    try:
        while True:
            try:
                return process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                tick()
    except KeyboardInterrupt:
        for end in (process.poll, process.terminate, process.kill):
            end()
            try:
                process.wait(timeout=GRACE)
                break
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                continue
        raise


def run_logged(command: List[str], progress: Progress) -> Tuple[int, str]:
    """Run a command of the set-up at the project's root; its output goes to the log and is returned."""
    with open(LOG, "ab") as log:
        begin = log.tell()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=child_environment(os.environ, is_ci(os.environ)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        code = wait(process, lambda: progress.live(doing(read_log(begin))))
    return code, read_log(begin)


def read_log(begin: int) -> str:
    with open(LOG, "rb") as log:
        log.seek(begin)
        return log.read().decode("utf-8", "replace")


def explain_failure(what: str, code: int, log: str, python: str) -> str:
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    last = "\n".join("    " + line[:160] for line in lines[-12:])
    cure = "the system ended it, most likely for want of memory." if exit_code(code) == 137 else advise(log, python)
    return f"{what} failed (exit code {exit_code(code)}). Its last lines:\n\n{last}\n\nLog: {LOG}\nWhat to do: {cure}"


def remove_venv() -> None:
    try:
        if os.path.islink(VENV) or os.path.isfile(VENV):
            os.remove(VENV)
        elif os.path.exists(VENV):
            shutil.rmtree(VENV)
    except OSError as error:
        raise SetupError(
            f"{VENV} cannot be removed: {error}\nWhat to do: close what uses it, remove it by hand."
        ) from error


def make_venv(progress: Progress, extras: FrozenSet[str]) -> None:
    python = choose_python(pythons())
    remove_venv()
    check_space(shutil.disk_usage(ROOT).free, {"core"} | extras, ROOT)
    progress.say(f"making .venv with Python {python.number} ({python.executable})")
    stamp = Stamp(False, ROOT, python.minor, frozenset(), NOT_BEGUN)
    try:
        os.mkdir(VENV)
        write_stamp(stamp)
    except OSError as error:
        raise SetupError(f"{VENV} cannot be made: {error}\nWhat to do: see who may write there.") from error
    code, log = run_logged([python.executable, "-m", "venv", VENV], progress)
    if code:
        raise SetupError(explain_failure("Making .venv", code, log, python.number))
    write_stamp(stamp._replace(made=True))


def install(progress: Progress, stamp: Optional[Stamp], wanted: Stamp, reason: str) -> None:
    """Bring `.venv` to `wanted`. The stamp is void while pip changes packages, and kept if pip never came so far."""
    lacking = wanted.extras - (stamp.extras if stamp else frozenset())
    check_space(shutil.disk_usage(VENV).free, lacking, ROOT)
    asked = requirements(wanted.extras)
    progress.say(f"installing {' and '.join(asked)} ({reason}); log: {os.path.relpath(LOG, ROOT)}")
    write_stamp(wanted._replace(extras=stamp.extras if stamp else frozenset(), fingerprint=NOT_ENDED))
    options = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command = [os.path.join(BIN, "python"), "-m", "pip", "install", *options]
    if read_text(constraints()):
        command += ["-c", constraints()]
    code, log = run_logged(command + [word for one in asked for word in ("-e", one)], progress)
    if code:
        if stamp is not None and "Installing collected packages" not in log:
            write_stamp(stamp)
        raise SetupError(explain_failure(f"pip install -e {' -e '.join(map(repr, asked))}", code, log, wanted.python))
    unknown = unknown_extras(log)
    write_stamp(wanted._replace(extras=wanted.extras - unknown))
    if lacking & unknown:
        raise SetupError(
            f"pyproject.toml has no extra named {', '.join(sorted(lacking & unknown))}.\n"
            "What to do: add it under [project.optional-dependencies], or mend the script that asks for it."
        )


def look() -> Found:
    if not os.path.lexists(VENV):
        return Found(None, None, "is not there")
    python, stamp = probe([os.path.join(BIN, "python")]), read_stamp()
    return Found(python, stamp, fault(python, stamp, read_made_at(stamp), VENV))


def constraints() -> str:
    """Path of the versions that are known to work together (scripts/make_constraints writes them)."""
    return os.path.join(ROOT, "constraints.txt")


def read_projects() -> str:
    """Say what the installation depends on: the versions, and the project files of the library and the laboratory."""
    return "\n".join(map(read_text, (constraints(), PYPROJECT, os.path.join(ROOT, "lab", "pyproject.toml"))))


def prepare(*extras: str) -> None:
    """Have a `.venv` with the project and at least these extras in it; what earlier runs added stays.

    The laboratory is asked for like an extra, as LABORATORY.
    """
    progress = Progress(sys.stdout, sys.stdout.isatty() and not is_ci(os.environ))
    found = look()
    if found.fault:
        if os.path.lexists(VENV):
            progress.say(f".venv {found.fault}: making it anew")
        make_venv(progress, frozenset(extras))
        found = look()
    if found.python is None or found.fault:
        raise SetupError(f".venv was just made, and {found.fault}.\nWhat to do: read {LOG}")
    kept = found.stamp.extras if found.stamp else frozenset()
    wanted = Stamp(True, ROOT, found.python.minor, kept | frozenset(extras), fingerprint(read_projects()))
    reason = missing(found.stamp, wanted)
    if reason:
        install(progress, found.stamp, wanted, reason)
    progress.say(f".venv is ready (Python {found.python.number})")


def tool(name: str) -> str:
    """Path of a command in `.venv`, from the project's root, as one would type it."""
    return os.path.join(os.path.relpath(BIN, ROOT), name)


def run(command: List[str]) -> int:
    """Run a command of `.venv` at the project's root, with its output in view."""
    try:
        process = subprocess.Popen(
            [os.path.join(BIN, command[0]), *command[1:]],
            cwd=ROOT,
            env=child_environment(os.environ, is_ci(os.environ)),
        )
    except OSError as error:
        message = f"{tool(command[0])} does not run: {error}\nWhat to do: remove .venv, and run this again."
        raise SetupError(message) from error
    return exit_code(wait(process, lambda: None))


def run_steps(steps: List[List[str]]) -> int:
    """Run commands one after the other, each with a heading and its seconds, up to the first that fails."""
    start = time.monotonic()
    for command in steps:
        name, begin = " ".join(map(shlex.quote, command)), time.monotonic()
        print(f"\n=== {name}", flush=True)
        code = run(command)
        print(f"--- {time.monotonic() - begin:.1f} s", flush=True)
        if code:
            print(f"\nFailed (exit code {code}): {name}\nTo run it alone: {tool(name)}", flush=True)
            return code
    print(f"\nAll passed in {time.monotonic() - start:.1f} s.", flush=True)
    return 0


def main(work: Callable[[List[str]], int], about: str) -> None:
    """Run a script: help on request, trouble as a message, Ctrl-C without a traceback."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(about.strip())
        sys.exit(0)
    try:
        sys.exit(work(arguments))
    except SetupError as trouble:
        sys.stdout.flush()
        sys.stderr.write(f"\n{trouble}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        sys.exit(130)
    except BrokenPipeError:  # scripts/test | head: nobody reads on, and Python must not flush at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
