"""Kills, interrupts and a full disk at named points of commands that write: at the nth call that changes a disk.

Run by `python -m tests.faults.kills COUNT SEED`, in a process of its own, which prints a JSON object. It forks a child
for every command, so that nothing is imported twice; it must not use polars itself, whose threads a child would lack.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stablerule.cli import main
from stablerule.io import atomic, folders
from stablerule.learning.checkpoints import Checkpoints

# What changes a disk, or makes ready to.
CALLS = frozenset(
    {
        *("open", "rename", "replace", "mkdir", "rmdir", "unlink", "remove", "fsync", "chmod", "chown", "flock"),
        *("close", "truncate", "BufferedWriter.write", "FileIO.write", "TextIOWrapper.write"),
        *("PyDataFrame.write_parquet", "PyDataFrame.write_ipc"),
    }
)
KINDS = ("kill", "interrupt", "full disk")
# How long an interrupted command may take to end; a machine that does other things needs more.
PATIENCE = 60


@dataclass(frozen=True)
class Work:
    """A command that writes `output`; `again` are the options that go on after a kill, or begin anew."""

    name: str
    words: tuple[str, ...]
    output: str
    again: tuple[str, ...] = ("--overwrite",)
    # Beside the output, while a run is not finished.
    unfinished: tuple[str, ...] = ()
    # Whether an interrupt ends the work early and saves what there is.
    saves_early: bool = False
    share: int = 1


SMALL = ("walks=2000", "training.steps=12", "training.size=8", "training.batch_size=100")
WORKS = (
    Work("convert", ("data", "convert", "data", "out", "--to", "csv.gz"), "out", share=6),
    Work("split", ("split", "data", "-o", "out", "--kind", "random", "--seed", "1"), "out", share=6),
    Work("split into folders", ("split", "data", "-o", "out", "--kind", "inductive"), "out", share=6),
    Work("evaluate", ("evaluate", "model", "data", "--json", "out.json"), "out.json", ()),
    Work("ask", ("ask", "model", "--queries", "queries.tsv", "-o", "out.tsv"), "out.tsv"),
    Work(
        "complete", ("complete", "model", "-o", "out.tsv"), "out.tsv", ("--resume", "--overwrite"), ("out.tsv.partial",)
    ),
    Work("learn", ("learn", "data", "-o", "out", "--method", "tabular", "--max-length", "1"), "out"),
    Work(
        "learn with checkpoints",
        ("learn", "data", "-o", "out", "--max-length", "1", *(f"--set={one}" for one in SMALL)),
        "out",
        ("--resume", "--overwrite"),
        ("out.checkpoint",),
        saves_early=True,
    ),
)


@dataclass
class Kills:
    """How many there were of each kind, and what went wrong."""

    ended: Counter[str] = field(default_factory=Counter)
    by_work: Counter[str] = field(default_factory=Counter)
    slowest_interrupt: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal; what it printed; and how many points it passed."""

    code: int
    printed: str
    points: int
    seconds: float  # after the interrupt


def run_command(words: tuple[str, ...], *, at: int | None = None, kind: str = "", exchange: bool = True) -> Ended:
    """Run a command in a forked child, with a fault at the nth point."""
    began = Path("points")
    began.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        code = 70
        try:
            code = _run_as_child(words, at, kind, exchange=exchange)
        finally:
            os._exit(code)
    for _ in range(PATIENCE * 100):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Ended(-99, f"no end after {PATIENCE} s", 0, PATIENCE)
    points, _, hit = began.read_text().partition(" ") if began.exists() else ("0", "", "")
    seconds = time.time() - float(hit) if hit else 0.0
    return Ended(os.waitstatus_to_exitcode(status), Path("printed").read_text(errors="replace"), int(points), seconds)


def _run_as_child(words: tuple[str, ...], at: int | None, kind: str, *, exchange: bool) -> int:
    printed = os.open("printed", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    patch = pytest.MonkeyPatch()
    patch.setattr(Checkpoints, "is_due", lambda _: True)
    if not exchange:
        patch.setattr(folders, "exchange_paths", lambda *_: False)
    points = Points(at, kind)
    sys.argv = ["stablerule", *words]
    sys.setprofile(points.watch)
    try:
        main.run()
    except SystemExit as end:
        sys.setprofile(None)
        points.write()
        sys.stdout.flush()
        return end.code if isinstance(end.code, int) else 0
    return 71


class Points:
    """Counts the calls that change a disk from the first look at an output on, and lets the nth one fail."""

    def __init__(self, at: int | None, kind: str) -> None:
        self.at, self.kind, self.count, self.hit = at, kind, 0, ""
        self.counting = False

    def watch(self, frame: FrameType, event: str, function: Any) -> None:
        """Be called by Python before each call."""
        if not self.counting:
            self.counting = event == "call" and frame.f_code.co_filename == atomic.__file__
            return
        if event != "c_call" or getattr(function, "__qualname__", "") not in CALLS:
            return
        self.count += 1
        if self.count != self.at:
            return
        sys.setprofile(None)
        self.hit = str(time.time())
        self.write()
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if self.kind == "full disk":
            raise OSError(errno.ENOSPC, "No space left on device")

    def write(self) -> None:
        """Leave the figures for the parent."""
        Path("points").write_text(f"{self.count} {self.hit}")


def read_whole(path: Path) -> dict[str, str]:
    """Return what is in a file or folder, by names; of JSON, which has times in it, only that it is whole."""
    found = {}
    for file in sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []:
        if file.is_file():
            data = file.read_bytes()
            kind = sha256(data).hexdigest()
            if file.suffix == ".json":
                json.loads(data)
                kind = "JSON"
            found[str(file.relative_to(path))] = kind
    return found


def judge_fault(work: Work, kind: str, ended: Ended, states: list[dict[str, str]]) -> str | None:
    """Say what is wrong after a fault, None if nothing is."""
    expected = {"kill": (-signal.SIGKILL, 0), "interrupt": (130, 0), "full disk": (2, 0)}[kind]
    if ended.code not in expected:
        return f"ended with {ended.code}: {ended.printed[-300:]}"
    if "Traceback" in ended.printed or "Exception ignored" in ended.printed:
        return f"printed a traceback: {ended.printed[-300:]}"
    atomic.restore_folder(Path(work.output))
    found = read_whole(Path(work.output))
    if found in states or (kind == "interrupt" and work.saves_early and list(found) in map(list, states)):
        return None
    return f"neither the old nor the new is there: {sorted(found)}"


def prepare() -> None:
    """Write what the commands read, in a child: it uses polars."""
    child = os.fork()
    if not child:
        code = 1
        try:
            from stablerule import write_dataset
            from stablerule.datasets import households
            from stablerule.learning import Tabular

            world = households(families=2, seed=0).dataset
            write_dataset(world, "data")
            dataset = world.graph, world.valid
            Tabular(max_length=1).fit(*dataset).save("model", source=str(Path("data").resolve()))
            rows = world.frame("test").head(5).rows()
            Path("queries.tsv").write_text("".join(f"{row[0]}\t{row[1]}\t?\n" for row in rows))
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the files for the commands can't be made")


def try_faults(count: int, seed: int, *, report: Callable[[str], object] = lambda _: None) -> Kills:
    """Run all commands with faults, at points spread over the whole command; a run without one follows every third."""
    found, chance = Kills(), random.Random(seed)
    prepare()
    works = [work for work in WORKS for _ in range(work.share)]
    shares = Counter(works[turn % len(works)] for turn in range(count))
    for work, share in shares.items():
        clean = run_command(work.words)
        if clean.code:
            raise SystemExit(f"{work.name} does not run: {clean.printed}")
        whole = read_whole(Path(work.output))
        offset = chance.randrange(clean.points)
        for turn in range(share):
            at = 1 + (offset + (turn * clean.points) // share) % clean.points
            kind = KINDS[(turn + offset) % len(KINDS)]
            problem = _try_one(work, at, kind, whole, chance, found)
            if turn % 3 == 0 or turn == share - 1:
                problem = problem or _go_on(work, whole)
            found.ended[kind] += 1
            found.by_work[work.name] += 1
            if problem:
                found.faults.append(f"{work.name}, {kind} at point {at} of {clean.points}: {problem}")
                _clear(work)
        report(f"{work.name}: {share} faults at {clean.points} points")
        _clear(work)
    return found


def _try_one(work: Work, at: int, kind: str, whole: dict[str, str], chance: random.Random, found: Kills) -> str | None:
    """Run once with a fault: over what is there, which a fault may have left as well, or where nothing is."""
    if chance.random() < 0.3:
        _clear(work)
    before = read_whole(Path(work.output))
    ended = run_command((*work.words, *work.again), at=at, kind=kind, exchange=chance.random() < 0.5)
    if kind == "interrupt":
        found.slowest_interrupt = max(found.slowest_interrupt, ended.seconds)
    return judge_fault(work, kind, ended, [whole, before])


def _go_on(work: Work, whole: dict[str, str]) -> str | None:
    """Run once more without a fault, and look whether all is there, and nothing else."""
    again = run_command((*work.words, *work.again))
    if again.code:
        return f"the next run ends with {again.code}: {again.printed[-300:]}"
    if read_whole(Path(work.output)) != whole:
        return "the next run writes something else"
    left = [name for name in os.listdir() if name.startswith(".") or name in work.unfinished]
    return f"left behind: {left}" if left else None


def _clear(work: Work) -> None:
    for name in (work.output, *work.unfinished):
        if Path(name).is_dir():
            shutil.rmtree(name)
        else:
            Path(name).unlink(missing_ok=True)


def main_of_kills() -> None:
    """Print what was found as JSON."""
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = try_faults(count, seed, report=lambda text: sys.stderr.write(f"{text}\n"))
        os.chdir("/")
    result = {
        "ended": dict(found.ended),
        "by_work": dict(found.by_work),
        "slowest_interrupt_s": round(found.slowest_interrupt, 2),
        "faults": found.faults,
    }
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main_of_kills()
