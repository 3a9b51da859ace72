"""The line of jobs: they are kept in the decisions file, so that a reload, an end or a kill loses none."""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from stablerule.errors import OptionError, StableRuleError, UnknownName

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping

    from stablerule.explorer.decisions.store import Store

State = Literal["waiting", "running", "done", "cancelled", "failed"]
ENDED = ("done", "cancelled", "failed")
NOTES = logging.getLogger(__name__)
OFTEN = 1.0  # seconds between two notes in the file
MOST_WAITING = 20


@dataclass(frozen=True)
class Job:
    """Something that takes long, and how far it is; result: what it found, where that is not kept elsewhere."""

    id: int
    kind: str
    model: str
    options: dict[str, Any]
    state: State
    done: float
    total: float
    said: str
    problem: str | None
    created: str
    ended: str | None
    has_result: bool = False

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return 1.0 if self.state == "done" else min(self.done / self.total, 1.0) if self.total else 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ENDED


@dataclass
class Task:
    """What a running job is given: its options, what was uploaded, and how to say how far it is.

    `advance` ends the work with an error when somebody cancelled it, or when the server ends.
    """

    id: int
    options: dict[str, Any]
    given: bytes | None
    advance: Callable[[float, str], None]
    start: Callable[[float, float], None]


class Cancelled(Exception):
    """Somebody does not want the result any more."""


class Stopped(Exception):
    """The server ends; the job goes on when it is started again."""


Work = Any  # (Task) -> plain values, or None


@dataclass
class _Running:
    id: int
    cancelled: bool = False
    done: float = 0.0
    total: float = 0.0
    said: str = ""
    noted: float = field(default_factory=time.monotonic)


class Jobs:
    """Does the jobs of one model, one at a time. kinds: how each kind is done."""

    def __init__(self, store: Store, model: str, kinds: Mapping[str, Work]) -> None:
        self.store, self.model, self._kinds = store, model, kinds
        self._wake, self._stopping = threading.Condition(), False
        self._running: _Running | None = None
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin to work; what was running when a server ended goes on."""
        with self.store.write() as connection:
            connection.execute("UPDATE jobs SET state = 'waiting' WHERE state = 'running' AND model = ?", (self.model,))
        self._thread.start()

    def stop(self) -> None:
        """End soon: a running job is left to the next start."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(5)

    @property
    def is_stopping(self) -> bool:
        """Whether the server ends."""
        return self._stopping

    def add(self, kind: str, options: Mapping[str, Any], given: bytes | None = None) -> Job:
        """Put a job in the line."""
        if kind not in self._kinds:
            raise OptionError(f"Argument 'kind' must be one of {', '.join(self._kinds)}, got {kind!r}.")
        waiting = self.store.read("SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running')")[0][0]
        if waiting >= MOST_WAITING:
            raise OptionError(f"{MOST_WAITING} jobs are waiting already. Cancel one, or wait.")
        text = json.dumps(dict(options), ensure_ascii=False)
        with self.store.write() as connection:
            cursor = connection.execute(
                "INSERT INTO jobs (kind, model, options, input, state, created) VALUES (?, ?, ?, ?, 'waiting', ?)",
                (kind, self.model, text, given, _now()),
            )
            number = int(cursor.lastrowid or 0)
        with self._wake:
            self._wake.notify_all()
        return self.show(number)

    def show(self, number: int) -> Job:
        """Return how far a job is."""
        found = self.store.read("SELECT * FROM jobs WHERE id = ?", number)
        if not found:
            raise UnknownName(f"There is no job {number}.")
        return self._read(found[0])

    def list_all(self, kind: str | None = None, most: int = 50) -> list[Job]:
        """Return jobs of this model, the last one first."""
        where, values = ("AND kind = ?", [kind]) if kind else ("", [])
        question = f"SELECT * FROM jobs WHERE model = ? {where} ORDER BY id DESC LIMIT ?"
        return [self._read(row) for row in self.store.read(question, self.model, *values, most)]

    def result(self, number: int) -> Any:
        """Return what a job found; None while it has found nothing."""
        found = self.store.read("SELECT result FROM jobs WHERE id = ?", number)
        return json.loads(found[0]["result"]) if found and found[0]["result"] else None

    def cancel(self, number: int) -> Job:
        """End a job; what it has found so far is kept."""
        self.show(number)
        running = self._running
        if running is not None and running.id == number:
            running.cancelled = True
        with self.store.write() as connection:
            connection.execute(
                "UPDATE jobs SET state = 'cancelled', ended = ? WHERE id = ? AND state IN ('waiting', 'running')",
                (_now(), number),
            )
        return self.show(number)

    def _read(self, row: sqlite3.Row) -> Job:
        names = ("id", "kind", "model", "state", "done", "total", "said", "problem", "created", "ended")
        values = {name: row[name] for name in names}
        running = self._running
        if running is not None and running.id == row["id"] and row["state"] == "running":
            values |= {"done": running.done, "total": running.total, "said": running.said}
        return Job(**values, options=json.loads(row["options"]), has_result=row["result"] is not None)

    def _work(self) -> None:
        while True:
            with self._wake:
                number = self._find_next()
                while number is None and not self._stopping:
                    self._wake.wait(5)
                    number = self._find_next()
                if number is None or self._stopping:
                    return
            self._do(number)

    def _find_next(self) -> int | None:
        question = "SELECT id FROM jobs WHERE state = 'waiting' AND model = ? ORDER BY id LIMIT 1"
        found = self.store.read(question, self.model)
        return found[0]["id"] if found else None

    def _do(self, number: int) -> None:
        row = self.store.read("SELECT * FROM jobs WHERE id = ?", number)[0]
        running = self._running = _Running(number, done=row["done"], total=row["total"])
        self._note(number, "state = 'running'")
        task = Task(number, json.loads(row["options"]), row["input"], self._advance, self._begin)
        try:
            result = self._kinds[row["kind"]](task)
        except Cancelled:
            pass  # the file says so
        except Stopped:
            self._note(number, "done = ?, total = ?", running.done, running.total)
        except Exception as error:
            known = isinstance(error, StableRuleError)
            if not known:
                NOTES.error("job %d: %s", number, error, exc_info=error)
            problem = str(error) if known else "This should not have happened; the server's log says more."
            self._note(number, "state = 'failed', problem = ?, ended = ?", problem, _now())
        else:
            text = None if result is None else json.dumps(result, ensure_ascii=False)
            ended = "state = 'done', done = ?, total = ?, said = '', result = ?, ended = ?"
            self._note(number, ended, running.total, running.total, text, _now())
        finally:
            self._running = None

    def _note(self, number: int, what: str, *values: Any) -> None:
        """Change a job, unless somebody has cancelled it."""
        with self.store.write() as connection:
            connection.execute(f"UPDATE jobs SET {what} WHERE id = ? AND state != 'cancelled'", (*values, number))

    def _begin(self, total: float, done: float) -> None:
        if self._running is not None:
            self._running.total, self._running.done = total, done
        self._advance(0, "")

    def _advance(self, amount: float, said: str) -> None:
        running = self._running
        if running is None:
            return
        running.done += amount
        running.said = said or running.said
        if running.cancelled:
            raise Cancelled
        if self._stopping:
            raise Stopped
        if time.monotonic() - running.noted > OFTEN:
            running.noted = time.monotonic()
            self._note(running.id, "done = ?, total = ?, said = ?", running.done, running.total, running.said)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
