"""The queue: new facts that nobody has decided about, the most likely first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from stablerule.errors import OptionError
from stablerule.explorer.views.paging import Paging

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from stablerule.explorer.decisions.store import Store

Order = Literal["likely", "unlikely", "random"]
Show = Literal["open", "unsure", "decided", "all"]
# Random, but the same for everybody and every time: what is decided does not move the others.
ORDERS = {
    "likely": "candidates.probability DESC NULLS LAST, candidates.score DESC, candidates.id",
    "unlikely": "candidates.probability ASC NULLS LAST, candidates.score ASC, candidates.id",
    "random": "(candidates.id * 2654435761) % 4294967291, candidates.id",
}
SHOWN = {
    "open": "verdict IS NULL",
    "unsure": "verdict = 'unsure'",
    "decided": "verdict IS NOT NULL",
    "all": "TRUE",
}
JOINED = (
    "FROM candidates LEFT JOIN verdicts ON verdicts.relation = candidates.relation "
    "AND verdicts.head = candidates.head AND verdicts.tail = candidates.tail"
)
COLUMNS = (
    "candidates.id, candidates.job, candidates.head, candidates.relation, candidates.tail, candidates.score, "
    "candidates.probability, candidates.rule, candidates.path, verdict, verdicts.comment, verdicts.id AS decision"
)


@dataclass(frozen=True)
class QueueFilter:
    """Which candidates of a job are wanted."""

    job: int
    relation: str | None = None
    min_probability: float | None = None
    max_probability: float | None = None
    rule: str | None = None
    show: Show = "open"

    def conditions(self, *, show: bool = True) -> tuple[str, list[Any]]:
        """Return SQL and its values."""
        if self.show not in SHOWN:
            raise OptionError(f"Argument 'show' must be one of {', '.join(SHOWN)}, got {self.show!r}.")
        parts, values = ["candidates.job = ?"], [self.job]
        for column, sign, value in (
            ("relation", "=", self.relation),
            ("probability", ">=", self.min_probability),
            ("probability", "<=", self.max_probability),
            ("rule", "=", self.rule),
        ):
            if value is not None:
                parts.append(f"candidates.{column} {sign} ?")
                values.append(value)  # type: ignore[arg-type]
        return " AND ".join([*parts, SHOWN[self.show]] if show else parts), values


@dataclass(frozen=True)
class Candidate:
    """A new fact with what speaks for it, and what was decided if anything was."""

    id: int
    job: int
    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    rule: str
    path: list[str]
    verdict: str | None = None
    comment: str | None = None
    decision: int | None = None


@dataclass(frozen=True)
class Queue:
    """A page of candidates, and how far the queue is: by verdict, of those that meet the other conditions."""

    candidates: list[Candidate]
    total: int
    page: int
    pages: int
    of: int
    accepted: int
    rejected: int
    unsure: int

    @property
    def decided(self) -> int:
        """How many have a verdict, unsure or not."""
        return self.accepted + self.rejected + self.unsure


def add_candidates(
    store: Store, job: int, part: str, rows: Iterable[Mapping[str, Any]], *, keep: int, done: float
) -> None:
    """Keep the new facts of one part of a job, and of all parts together the best; the part is done with that."""
    with store.write() as connection:
        connection.executemany(
            "INSERT INTO candidates (job, head, relation, tail, score, probability, rule, path) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                (
                    job,
                    row["head"],
                    row["relation"],
                    row["tail"],
                    row["score"],
                    row.get("probability"),
                    row.get("rule") or "",
                    json.dumps(row.get("path") or [], ensure_ascii=False),
                )
                for row in rows
            ),
        )
        connection.execute(
            "DELETE FROM candidates WHERE job = ? AND id NOT IN (SELECT id FROM candidates WHERE job = ? "
            "ORDER BY probability DESC NULLS LAST, score DESC, relation, head, tail LIMIT ?)",
            (job, job, keep),
        )
        connection.execute("INSERT INTO parts VALUES (?, ?) ON CONFLICT DO NOTHING", (job, part))
        connection.execute("UPDATE jobs SET done = ? WHERE id = ?", (done, job))


def list_finished_parts(store: Store, job: int) -> set[str]:
    """Return the parts of a job that are done."""
    return {row["part"] for row in store.read("SELECT part FROM parts WHERE job = ?", job)}


def list_candidates(
    store: Store, wanted: QueueFilter, *, order: Order = "likely", page: int = 1, size: int = 20
) -> Queue:
    """Return a page of the candidates that meet all conditions."""
    if order not in ORDERS:
        raise OptionError(f"Argument 'order' must be one of {', '.join(ORDERS)}, got {order!r}.")
    where, values = wanted.conditions()
    every, own = wanted.conditions(show=False)
    rows = store.read(f"SELECT verdict, count(*) {JOINED} WHERE {every} GROUP BY 1", *own)
    counts: dict[str | None, int] = {row[0]: row[1] for row in rows}
    total = int(store.read(f"SELECT count(*) {JOINED} WHERE {where}", *values)[0][0])
    paging = Paging(page, size, total)
    question = f"SELECT {COLUMNS} {JOINED} WHERE {where} ORDER BY {ORDERS[order]} LIMIT ? OFFSET ?"
    rows = store.read(question, *values, paging.size, paging.start)
    return Queue(
        candidates=[_read_candidate(row) for row in rows],
        total=total,
        page=paging.page,
        pages=paging.pages,
        of=sum(counts.values()),
        accepted=counts.get("accept", 0),
        rejected=counts.get("reject", 0),
        unsure=counts.get("unsure", 0),
    )


def list_queue_relations(store: Store, job: int) -> list[tuple[str, int]]:
    """Return the relations of a job's candidates, and how many there are of each."""
    rows = store.read("SELECT relation, count(*) FROM candidates WHERE job = ? GROUP BY 1 ORDER BY 2 DESC, 1", job)
    return [(row[0], row[1]) for row in rows]


def _read_candidate(row: sqlite3.Row) -> Candidate:
    return Candidate(**{**dict(row), "path": json.loads(row["path"])})
