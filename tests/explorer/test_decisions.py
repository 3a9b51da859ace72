"""Decisions are kept once, undone, counted, and taken along; a foreign file is left as it is."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import polars as pl
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import ReadError, StableRuleError, UnknownName, WriteError
from stablerule.explorer.decisions.candidates import QueueFilter, add_candidates, list_candidates, list_finished_parts
from stablerule.explorer.decisions.deciding import (
    decide,
    find_last_decision,
    list_decisions,
    read_all_decisions,
    undo_decision,
)
from stablerule.explorer.decisions.exports import export_decisions
from stablerule.explorer.decisions.precision import measure_precision
from stablerule.explorer.decisions.store import FORMAT, Store
from stablerule.explorer.desk import Desk
from stablerule.explorer.explored import Explored
from tests.explorer.small import HOSTILE, explore_small, learn_hostile, open_desk

PROV = "http://www.w3.org/ns/prov#"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return open_desk(tmp_path)


def choose_facts(explored: Explored, count: int) -> list[tuple[str, str, str]]:
    """Return new facts that some rule leads to."""
    return [(f.head, f.relation, f.tail) for f in explored.model.complete(top=count)]


def test_a_decision_keeps_what_spoke_for_the_fact(desk: Desk) -> None:
    (fact,) = choose_facts(desk.explored, 1)
    made = decide(desk.store, desk.explored, *fact, "accept", comment=" looks\tright\n", who="Ann", key="k1")
    best = desk.explored.opened.explain(fact)[0]
    assert (made.head, made.relation, made.tail) == fact
    assert (made.rule, tuple(made.path)) == (str(best.rule.rule), best.groundings[0])
    assert (made.comment, made.who, made.model) == ("looks right", "Ann", "0" * 64)
    again = decide(desk.store, desk.explored, *fact, "reject", key="k1")  # sent twice
    assert again == made
    head, relation, tail = fact
    turned = decide(desk.store, desk.explored, tail, f"~{relation}", head, "unsure")
    assert (turned.head, turned.relation, turned.tail) == fact
    with pytest.raises(UnknownName, match="No entity 'nobody'"):
        decide(desk.store, desk.explored, "nobody", relation, tail, "accept")


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["accept", "reject", "unsure", "undo"])), max_size=12))
def test_verdicts_against_plain_python(steps: list[tuple[int, Any]]) -> None:
    explored = explore_small()
    facts = choose_facts(explored, 3)
    store = Store(Path(mkdtemp()) / "small.decisions.db")
    held: list[tuple[int, str, int]] = []  # of which fact, what, by which number
    for which, what in steps:
        if what == "undo":
            last = find_last_decision(store)
            assert (last is None) == (not held)
            if last is not None:
                assert last.id == held[-1][2]
                undo_decision(store, last.id)
                held.pop()
        else:
            held.append((which, what, decide(store, explored, *facts[which], what).id))
    expected = {facts[which]: what for which, what, _ in held}
    assert {(one.head, one.relation, one.tail): one.verdict for one in read_all_decisions(store)} == expected
    assert list_decisions(store).total == len(expected)
    for verdict in ("accept", "reject", "unsure"):
        shown = list_decisions(store, verdict=verdict)
        assert shown.total == list(expected.values()).count(verdict)
    found = measure_precision(store)
    assert (found.whole.accepted, found.whole.rejected) == tuple(
        list(expected.values()).count(verdict) for verdict in ("accept", "reject")
    )


def insert_decision(store: Store, head: str, verdict: str, probability: float) -> None:
    with store.write() as connection:
        connection.execute(
            "INSERT INTO decisions (key, head, relation, tail, verdict, comment, who, at, model, probability, rule, "
            "path) VALUES (?, ?, 'r', 't', ?, '', '', '', 'm', ?, '', '[]')",
            (head, head, verdict, probability),
        )


def test_the_queue_is_filtered_and_counts(desk: Desk) -> None:
    job = desk.jobs.add("complete", {"top": 5})
    rows = [
        {
            "head": f"h{i}",
            "relation": "r" if i % 2 else "s",
            "tail": "t",
            "score": i / 10,
            "probability": i / 10,
            "rule": "R",
            "path": ["h", "t"],
        }
        for i in range(8)
    ]
    add_candidates(desk.store, job.id, "s", rows[::2], keep=5, done=4)
    add_candidates(desk.store, job.id, "r", rows[1::2], keep=5, done=8)
    assert list_finished_parts(desk.store, job.id) == {"r", "s"}
    queue = list_candidates(desk.store, QueueFilter(job.id))
    assert [one.head for one in queue.candidates] == ["h7", "h6", "h5", "h4", "h3"]
    some = list_candidates(desk.store, QueueFilter(job.id, "r", 0.4, 0.6), order="unlikely")
    assert [one.head for one in some.candidates] == ["h5"]
    shuffled = [list_candidates(desk.store, QueueFilter(job.id), order="random").candidates for _ in range(2)]
    assert shuffled[0] == shuffled[1]
    insert_decision(desk.store, "h7", "reject", 0.7)
    queue = list_candidates(desk.store, QueueFilter(job.id))
    assert (queue.of, queue.total, queue.rejected, queue.candidates[0].head) == (5, 4, 1, "h6")
    assert [one.head for one in list_candidates(desk.store, QueueFilter(job.id, show="decided")).candidates] == ["h7"]


def test_precision_stands_beside_the_prediction(desk: Desk) -> None:
    for i in range(20):
        insert_decision(desk.store, f"h{i}", "accept" if i % 4 else "reject", 0.8 if i < 10 else 0.3)
    found = measure_precision(desk.store, model="m")
    assert found.enough
    assert found.whole.measured == 0.75
    assert found.whole.predicted == pytest.approx(0.55)
    assert found.whole.low is not None
    assert found.whole.low == pytest.approx(0.531, abs=0.001)  # Wilson's
    assert [(b.least, b.most, b.accepted, b.rejected) for b in found.bins] == [(0.25, 0.5, 8, 2), (0.75, 0.9, 7, 3)]
    assert not measure_precision(desk.store, model="another").enough


def test_decisions_leave_in_every_format(desk: Desk) -> None:
    facts = choose_facts(desk.explored, 3)
    for fact, verdict in zip(facts, ("accept", "reject", "unsure"), strict=True):
        decide(desk.store, desk.explored, *fact, verdict, comment='it says "yes"', who="Ann B.")  # type: ignore[arg-type]
    table = pl.read_csv(export_decisions(desk.store, "tsv", {}), separator="\t", quote_char=None)
    assert table.select("head", "relation", "tail", "verdict").rows() == [
        (*fact, verdict) for fact, verdict in zip(facts, ("accept", "reject", "unsure"), strict=True)
    ]
    frame = pl.read_parquet(io.BytesIO(export_decisions(desk.store, "parquet", {})))
    assert frame["path"].to_list() == [one.path for one in read_all_decisions(desk.store)]
    triples = list(ox.parse(export_decisions(desk.store, "nt", {}), format=ox.RdfFormat.N_TRIPLES))
    assert [quad.subject.value for quad in triples] == [f"urn:stablerule:{facts[0][0]}"]


@pytest.mark.parametrize("hostile", [False, True])
def test_provenance_says_who_when_and_why(tmp_path: Path, hostile: bool) -> None:
    explored = Explored(learn_hostile(), "bad", "f" * 64) if hostile else explore_small()
    desk = open_desk(tmp_path, explored)
    bad = [(name, "in\u202e&", "place1") for name in HOSTILE]
    facts = bad if hostile else choose_facts(explored, 3)
    for fact in facts:
        decide(desk.store, explored, *fact, "accept", comment='a "b" \\ c', who="Ann <x>")
    quads = list(ox.parse(export_decisions(desk.store, "prov", {}), format=ox.RdfFormat.TURTLE))
    store = ox.Store()
    for quad in quads:
        store.add(quad)
    found: list[Any] = list(
        store.query(  # type: ignore[arg-type]
            f"""PREFIX prov: <{PROV}> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
            SELECT ?who ?when ?model ?rule WHERE {{
              ?decision <urn:stablerule:term:verdict> "accept"; prov:wasGeneratedBy ?deciding.
              ?deciding prov:wasAssociatedWith/<http://www.w3.org/2000/01/rdf-schema#label> ?who;
                prov:endedAtTime ?when; prov:wasInformedBy ?proposing. ?proposing prov:wasAssociatedWith ?model.
              OPTIONAL {{ ?proposing <urn:stablerule:term:rule> ?rule }} }}"""
        )
    )
    decisions = read_all_decisions(desk.store)
    assert len(found) == len(facts)
    assert {row["who"].value for row in found} == {"Ann <x>"}
    assert {row["model"].value for row in found} == {f"urn:stablerule:model:{explored.sha256}"}
    assert {row["rule"].value for row in found if row["rule"]} == {one.rule for one in decisions if one.rule}
    used = len({(q.subject, q.object) for q in quads if q.predicate.value == f"{PROV}used"})
    assert used == sum(max(len(one.path) - 1, 0) for one in decisions)


def test_a_table_that_cannot_hold_a_name_says_which_can(tmp_path: Path) -> None:
    explored = Explored(learn_hostile(), "bad", "f" * 64)
    desk = open_desk(tmp_path, explored)
    decide(desk.store, explored, "line\nbreak\ttab\x1b[31m", "in\u202e&", "place1", "accept")
    with pytest.raises(WriteError, match="has a tab or a line end, which TSV can't hold. Export as Parquet"):
        export_decisions(desk.store, "tsv", {})


def test_a_file_of_something_else_is_refused_and_left(tmp_path: Path) -> None:
    text, other, newer = (tmp_path / name for name in ("text", "other.db", "newer.db"))
    text.write_text("not a database, but long enough to look like one" * 30)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    Store(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    for path, why in ((text, "is no decisions file"), (other, "something else"), (newer, "newer stablerule")):
        before = path.read_bytes()
        with pytest.raises(ReadError, match=why):
            Store(path)
        assert path.read_bytes() == before
    with pytest.raises(WriteError, match="can't be written"):
        Store(tmp_path / "no" / "such.db")


def test_nothing_of_a_transaction_that_fails_is_kept(desk: Desk) -> None:
    with pytest.raises(StableRuleError), desk.store.write() as connection:
        connection.execute("INSERT INTO settings VALUES ('a', 'b')")
        raise StableRuleError("half-way")
    assert desk.store.read("SELECT * FROM settings") == []
    assert desk.store.setting("a", "c") == "c"
    assert desk.store.setting("a", "d") == "c"
