"""What the set-up decides, as small functions of plain facts, so that the tests can put any machine before them."""
# ruff: noqa: UP006, UP035, UP045
# The old spellings of types stay: this file also runs on Python 3.6, to say there that a newer one is needed.

import hashlib
import os
import re
from typing import FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Tuple

OLDEST = (3, 11)
TRIED = ("3.14", "3.13", "3.12", "3.11")
GIGABYTE = 10**9
# The part of an environment that is no extra: the laboratory, a distribution of its own, with its tools.
LABORATORY = "laboratory"
# On Linux the core takes 0.5 GB, all tools and a CPU build of torch 1.9 GB; pip's downloads need room as well.
SPACE = {"core": 1.0 * GIGABYTE, "dev": 0.4 * GIGABYTE, LABORATORY: 0.4 * GIGABYTE, "learn": 2.0 * GIGABYTE}
SMALL = 0.2 * GIGABYTE

NOT_BEGUN, NOT_ENDED = "installation not begun", "installation not ended"


class SetupError(Exception):
    """Set-up cannot go on; the message says what was found and what to do."""


class Interpreter(NamedTuple):
    """What a Python says of itself; for one inside an environment, `executable` is the Python it was made from."""

    executable: str
    version: Tuple[int, ...]
    prefix: str
    has_venv: bool
    has_pip: bool

    @property
    def number(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def minor(self) -> str:
        return ".".join(map(str, self.version[:2]))


class Stamp(NamedTuple):
    """What was done to a `.venv`, kept inside it."""

    made: bool  # False while the environment is being made, so that a half-made one is known
    root: str
    python: str
    extras: FrozenSet[str]
    fingerprint: str  # of what the installation depends on, or how far it came


class Found(NamedTuple):
    """What is at `.venv`; `fault` is why it cannot be used."""

    python: Optional[Interpreter]
    stamp: Optional[Stamp]
    fault: Optional[str]


def choose_python(found: Iterable[Interpreter]) -> Interpreter:
    """Take the first that is new enough and can make environments; look no further than needed."""
    seen = []
    for python in found:
        seen.append(python)
        if python.version[:2] >= OLDEST and python.has_venv:
            return python
    new_enough = [python for python in seen if python.version[:2] >= OLDEST]
    if new_enough:
        raise SetupError(explain_no_venv(new_enough[0]))
    raise SetupError(explain_no_python(seen[0] if seen else None))


def explain_no_python(running: Optional[Interpreter]) -> str:
    this = f"this is Python {running.number} ({running.executable})" if running else "none was found"
    names = ", ".join("python" + number for number in TRIED)
    return (
        f"StableRule needs Python {OLDEST[0]}.{OLDEST[1]} or newer; {this},\n"
        f"and on PATH none of {names} runs.\n"
        "What to do: install a newer Python (from your system's packages or python.org), then run this again,\n"
        "or name it yourself: /path/to/python3.12 scripts/..."
    )


def explain_no_venv(python: Interpreter) -> str:
    return (
        f"Python {python.number} ({python.executable}) cannot make virtual environments:\n"
        "its venv or ensurepip module is missing.\n"
        f"What to do: on Debian or Ubuntu, as root, apt install python3-venv (or python{python.minor}-venv);\n"
        "elsewhere install the full Python, not a minimal one. Then run this again."
    )


def space_needed(parts: Iterable[str]) -> float:
    """Bytes that installing `parts` ("core" and names of extras) may take."""
    return sum((SPACE.get(part, SMALL) for part in parts), 0.0) or SMALL


def check_space(free: float, parts: Iterable[str], where: str) -> None:
    """Stop before pip fills the disk."""
    needed = space_needed(parts)
    if free < needed:
        raise SetupError(
            f"{needed / GIGABYTE:.1f} GB of disk space are needed in {where}, and {free / GIGABYTE:.1f} GB are free.\n"
            "What to do: free some space (pip cache purge often helps), or move the project to a larger disk,\n"
            "then run this again."
        )


def fingerprint(pyproject: str) -> str:
    """Hash what an installation depends on in a project file or several: not the settings of linters and tests."""
    tables = ("\n" + pyproject).split("\n[")
    kept = [table for table in tables if not re.match(r"\[?tool\.(?!hatch\b)", table)]
    return hashlib.sha256("\n[".join(kept).encode("utf-8")).hexdigest()


def fault(python: Optional[Interpreter], stamp: Optional[Stamp], made_at: Optional[str], venv: str) -> Optional[str]:
    """Why the `.venv` at hand must be made anew; None when it is sound. `made_at` is where it was made, if known."""
    if stamp is not None and not stamp.made:
        return "was left half made"
    if made_at is not None and os.path.realpath(made_at) != os.path.realpath(venv):
        return f"was made elsewhere ({made_at}) and moved here"
    if python is None or os.path.realpath(python.prefix) != os.path.realpath(venv):
        return "is broken (no Python that runs in it)"
    if python.version[:2] < OLDEST:
        return "has Python {}, older than {}.{}".format(python.number, *OLDEST)
    if not python.has_pip:
        return "has no pip"
    return None


def missing(stamp: Optional[Stamp], wanted: Stamp) -> Optional[str]:
    """Why pip must run; None when everything wanted is there."""
    if stamp is None:
        return "nothing known to be installed"
    if stamp.fingerprint in (NOT_BEGUN, NOT_ENDED):
        return "nothing installed yet" if stamp.fingerprint == NOT_BEGUN else "the last installation did not end"
    if stamp.python != wanted.python:
        return f"Python is now {wanted.python}"
    if stamp.fingerprint != wanted.fingerprint:
        return "pyproject.toml or constraints.txt has changed"
    lacking = wanted.extras - stamp.extras
    return "missing: " + ", ".join(sorted(lacking)) if lacking else None


def requirements(parts: Iterable[str]) -> List[str]:
    """Spell what pip is to install in place: the project with its extras, and the laboratory if it is a part."""
    parts = set(parts)
    names = ",".join(sorted(parts - {LABORATORY}))
    return [f".[{names}]" if names else "."] + ["./lab[dev]"] * (LABORATORY in parts)


def unknown_extras(log: str) -> FrozenSet[str]:
    """Extras that pip did not find in pyproject.toml: it only warns of them, and they would be missed later."""
    return frozenset(re.findall(r"does not provide the extra '([^']+)'", log))


def advise(log: str, python: str) -> str:
    """Say what to do after pip failed with this log.

    Causes come before their consequences: a missing network also ends in "no matching distribution".
    """
    for pattern, advice in ADVICE:
        if re.search(pattern, log, re.IGNORECASE):
            return advice.format(python=python)
    return "read the whole log, mend what it names, and run this again."


ADVICE = (
    (
        r"no space left|errno 28|not enough space|disk quota",
        "the disk is full. Free some space, also where temporary files go (TMPDIR), and run this again.\n"
        "If the log names nvidia packages, torch came as a CUDA build of several GB; a CPU build is taken where\n"
        "PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL lead to one.",
    ),
    (
        r"certificate_verify_failed|sslerror|\[ssl",
        "the connection is not trusted. Behind a company's proxy set PIP_CERT to its certificate file, and run\n"
        "this again.",
    ),
    (
        r"name resolution|name or service not known|getaddrinfo|newconnectionerror|connection refused|max retries"
        r"|connection broken|failed to establish|network is unreachable|timed? ?out|proxyerror|connectionreset"
        r"|connection reset|remote end closed",
        "the package index cannot be reached. Check the network (a proxy goes into HTTPS_PROXY, a mirror into\n"
        "PIP_INDEX_URL, a folder of wheels into PIP_FIND_LINKS), and run this again: what came through is kept.",
    ),
    (
        r"permission denied|errno 13|access is denied",
        "a file may not be written. See who owns the project's folder and .venv, and run this again.",
    ),
    (
        r"resolutionimpossible|conflicting dependencies",
        "no versions fit together. If pyproject.toml asks for more than constraints.txt allows, run\n"
        "scripts/make_constraints; else delete the line in constraints.txt that the log names, and run this again.",
    ),
    (
        r"no matching distribution|could not find a version|requires a different python|failed building wheel",
        "a package has no build for Python {python} on this machine, or the index in use lacks it. Remove .venv\n"
        "and start this with another Python (3.11 to 3.14), or see the log for the package's name: if the index has\n"
        "another version of it, delete its line in constraints.txt.",
    ),
)


def doing(log: str) -> str:
    """Tell in a few words what pip is at, without addresses."""
    lines = re.findall(
        r"(?m)^\s*(?:(Collecting|Downloading|Using cached|Processing|Obtaining) (\S+)"
        r"|((?:Installing|Building|Preparing|Getting|Checking)[^:\n(]*))",
        log,
    )
    if not lines:
        return "working"
    verb, thing, whole = lines[-1]
    file = thing.rstrip("/").rsplit("/", 1)[-1]
    name = "-".join(file.split("-")[:2]) if file.endswith(".whl") else file
    return f"{verb} {name}" if verb else whole.strip()


def is_ci(outer: Mapping[str, str]) -> bool:
    return outer.get("CI", "").lower() in ("1", "true")


def exit_code(returned: int) -> int:
    """Spell death by signal the way shells do."""
    return returned if returned >= 0 else 128 - returned
