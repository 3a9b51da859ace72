"""Decisions: made once, undone, looked at again."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from stablerule.errors import OptionError, UnknownName
from stablerule.explorer.views.paging import Paging
from stablerule.graph import INVERSE

if TYPE_CHECKING:
    import sqlite3

    from stablerule.explorer.decisions.store import Store
    from stablerule.explorer.explored import Explored

Verdict = Literal["accept", "reject", "unsure"]
VERDICTS = ("accept", "reject", "unsure")
LONGEST_COMMENT, LONGEST_WHO, LONGEST_KEY = 2000, 200, 100
SIZE = 50


@dataclass(frozen=True)
class Decision:
    """What somebody decided about a fact, on what grounds, and when; undone: when it was taken back."""

    id: int
    key: str
    head: str
    relation: str
    tail: str
    verdict: Verdict
    comment: str
    who: str
    at: str
    model: str
    score: float | None
    probability: float | None
    rule: str
    path: list[str]
    undone: str | None = None


@dataclass(frozen=True)
class Decisions:
    """A page of decisions, the last one first."""

    decisions: list[Decision]
    total: int
    page: int
    pages: int


def decide(
    store: Store,
    explored: Explored,
    head: str,
    relation: str,
    tail: str,
    verdict: Verdict,
    *,
    comment: str = "",
    who: str = "",
    key: str | None = None,
) -> Decision:
    """Keep a decision about a fact, with the rule and the path that spoke for it.

    key: names the decision; the same key again changes nothing, so that a request may be sent twice.
    """
    if verdict not in VERDICTS:
        raise OptionError(f"Argument 'verdict' must be one of {', '.join(VERDICTS)}, got {verdict!r}.")
    head, tail = explored.entity_name(head), explored.entity_name(tail)
    explored.graph.vocabulary.relation_id(relation)
    if relation.startswith(INVERSE):
        head, relation, tail = tail, relation.removeprefix(INVERSE), head
    grounds = _find_grounds(store, explored, head, relation, tail)
    row = {
        "key": (key or str(uuid.uuid4()))[:LONGEST_KEY],
        "head": head,
        "relation": relation,
        "tail": tail,
        "verdict": verdict,
        "comment": _clean(comment, LONGEST_COMMENT),
        "who": _clean(who, LONGEST_WHO) or "somebody",
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "model": explored.sha256,
        **grounds,
    }
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    with store.write() as connection:
        connection.execute(f"INSERT INTO decisions ({names}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING", row)
    return _read_decision(store.read("SELECT * FROM decisions WHERE key = ?", row["key"])[0])


def undo_decision(store: Store, number: int) -> Decision:
    """Take a decision back; the fact is as it was before, decided earlier or not at all."""
    with store.write() as connection:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        connection.execute("UPDATE decisions SET undone = coalesce(undone, ?) WHERE id = ?", (now, number))
    found = store.read("SELECT * FROM decisions WHERE id = ?", number)
    if not found:
        raise UnknownName(f"There is no decision {number}.")
    return _read_decision(found[0])


def find_last_decision(store: Store) -> Decision | None:
    """Return the last decision that is not undone."""
    found = store.read("SELECT * FROM decisions WHERE undone IS NULL ORDER BY id DESC LIMIT 1")
    return _read_decision(found[0]) if found else None


def list_decisions(store: Store, *, verdict: Verdict | None = None, page: int = 1, size: int = SIZE) -> Decisions:
    """Return a page of the decisions that hold, one for each fact."""
    where, values = ("WHERE verdict = ?", [verdict]) if verdict else ("", [])
    total = int(store.read(f"SELECT count(*) FROM verdicts {where}", *values)[0][0])
    paging = Paging(page, size, total)
    question = f"SELECT * FROM verdicts {where} ORDER BY id DESC LIMIT ? OFFSET ?"
    rows = store.read(question, *values, paging.size, paging.start)
    return Decisions([_read_decision(row) for row in rows], total, paging.page, paging.pages)


def read_all_decisions(store: Store) -> list[Decision]:
    """Return all decisions that hold, in the order in which they were made."""
    return [_read_decision(row) for row in store.read("SELECT * FROM verdicts ORDER BY id")]


def _find_grounds(store: Store, explored: Explored, head: str, relation: str, tail: str) -> dict[str, Any]:
    """Return the reasons for a fact: those of the queue, else what the model gives now."""
    found = store.read(
        "SELECT score, probability, rule, path FROM candidates JOIN jobs ON jobs.id = candidates.job "
        "WHERE relation = ? AND head = ? AND tail = ? AND model = ? ORDER BY job DESC LIMIT 1",
        relation,
        head,
        tail,
        explored.sha256,
    )
    if found:
        return dict(found[0])
    score = explored.model.score([(head, relation, tail)], graph=explored.graph)[0]
    best = next(iter(explored.opened.explain((head, relation, tail))), None) if explored.has_rules else None
    path = best.groundings[0] if best is not None and best.groundings else ()
    rule = "" if best is None else str(best.rule.rule)
    return {"score": score, "probability": None, "rule": rule, "path": json.dumps(list(path))}


def _read_decision(row: sqlite3.Row) -> Decision:
    return Decision(**{**dict(row), "path": json.loads(row["path"])})


def _clean(text: str, most: int) -> str:
    return " ".join(text.encode(errors="replace").decode().split())[:most]
