"""The decisions file: SQLite, in which every write is a transaction that is on the disk before anybody is told."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from stablerule.errors import ReadError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = 1
APPLICATION = 0x5374526C  # "StRl", by which the file is known
PATIENCE = 10.0  # seconds that a write waits for another process
SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, model TEXT NOT NULL, options TEXT NOT NULL, input BLOB,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'cancelled', 'failed')),
  done REAL NOT NULL DEFAULT 0, total REAL NOT NULL DEFAULT 0, said TEXT NOT NULL DEFAULT '',
  result TEXT, problem TEXT, created TEXT NOT NULL, ended TEXT
) STRICT;
CREATE TABLE parts (job INTEGER NOT NULL REFERENCES jobs, part TEXT NOT NULL, PRIMARY KEY (job, part)) STRICT;
CREATE TABLE candidates (
  id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES jobs, head TEXT NOT NULL, relation TEXT NOT NULL,
  tail TEXT NOT NULL, score REAL NOT NULL, probability REAL, rule TEXT NOT NULL, path TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX candidate_fact ON candidates (job, relation, head, tail);
CREATE INDEX candidate_order ON candidates (job, probability DESC, score DESC);
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, head TEXT NOT NULL, relation TEXT NOT NULL,
  tail TEXT NOT NULL, verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'unsure')), comment TEXT NOT NULL,
  who TEXT NOT NULL, at TEXT NOT NULL, model TEXT NOT NULL, score REAL, probability REAL, rule TEXT NOT NULL,
  path TEXT NOT NULL, undone TEXT
) STRICT;
CREATE INDEX decision_fact ON decisions (relation, head, tail) WHERE undone IS NULL;
CREATE VIEW verdicts AS SELECT * FROM decisions d WHERE undone IS NULL AND NOT EXISTS (
  SELECT 1 FROM decisions later WHERE later.undone IS NULL AND later.id > d.id
  AND later.relation = d.relation AND later.head = d.head AND later.tail = d.tail
);
"""


class Store:
    """One file with jobs, candidates and decisions.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> store = Store(Path(mkdtemp()) / "model.decisions.db")
    >>> with store.write() as connection:
    ...     _ = connection.execute("INSERT INTO settings VALUES ('who', 'Ann')")
    >>> [row["value"] for row in store.read("SELECT value FROM settings")]
    ['Ann']
    """

    def __init__(self, path: Path) -> None:
        self.path, self._one_at_a_time = path, threading.RLock()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise WriteError(f"{path}: can't be written: {error.strerror}.") from error
        try:
            self._connection = sqlite3.connect(path, PATIENCE, isolation_level=None, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self._prepare()
        except sqlite3.Error as error:
            raise ReadError(f"is no decisions file ({error}). Choose another with --decisions.", path=path) from error

    def _prepare(self) -> None:
        run = self._connection.execute
        known, version = run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0]
        some = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if some and known != APPLICATION:
            raise ReadError("is a database of something else. Choose another with --decisions.", path=self.path)
        if version > FORMAT:
            raise ReadError("was written by a newer stablerule. Update this one.", path=self.path)
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA foreign_keys = ON")
        if not some:
            with self.write() as connection:
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for one transaction: all of the block is kept, or nothing."""
        with self._one_at_a_time:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def read(self, question: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows that answer a question."""
        with self._one_at_a_time:
            return self._connection.execute(question, values).fetchall()

    def setting(self, name: str, make: str) -> str:
        """Return what is kept under a name; at first, what is given."""
        with self.write() as connection:
            connection.execute("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", (name, make))
        return str(self.read("SELECT value FROM settings WHERE name = ?", name)[0]["value"])

    def close(self) -> None:
        """Let go of the file."""
        with self._one_at_a_time:
            self._connection.close()
