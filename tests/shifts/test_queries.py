"""Queries as people bring them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset
from stablerule.errors import InputError, ReadError
from stablerule.shifts import QuerySet, read_query_set
from tests.worlds import Fact, fact_lists

TRIP = Dataset.from_names("trip", train=[("Paris", "capital_of", "France"), ("Lyon", "in", "France")]).graph
LYON, PARIS, FRANCE = (TRIP.vocabulary.entity_id(name) for name in ("Lyon", "Paris", "France"))


def test_both_ends_and_inverses() -> None:
    rows = [
        ("Paris", "capital_of", "?"),
        ("?", "capital_of", "France"),
        ("?", "~capital_of", "Paris"),
        ("France", "~in", "Lyon"),
    ]
    found = QuerySet.from_names(rows, TRIP)
    r = TRIP.vocabulary.relation_id
    assert found.entities.tolist() == [PARIS, FRANCE, PARIS, FRANCE]
    assert found.relations.tolist() == [r("capital_of"), r("~capital_of"), r("capital_of"), r("~in")]
    assert found.answers.tolist() == [-1, -1, -1, LYON]
    assert repr(found) == "QuerySet(4 queries, 1 with answers)"
    assert found.labelled.tolist() == [3]
    assert found.in_graph.tolist() == [0, 1, 2, 3]


def test_unseen_names_are_counted() -> None:
    rows = [
        ("Rome", "capital_of", "?"),
        ("Rome", "capital_of", "Italy"),
        ("Paris", "twin_of", "Rome"),
        ("?", "~twin_of", "Oslo"),
        ("Paris", "in", "Gaul"),
        ("?", "in", "France"),
    ]
    found = QuerySet.from_names(rows, TRIP)
    assert found.unseen_entities == ("Rome", "Rome", "Oslo")
    assert found.unseen_relations == ("twin_of", "twin_of")
    assert found.unseen_answers == 3  # Italy, Rome and Gaul
    assert found.in_graph.tolist() == [4, 5]
    assert found.labelled.tolist() == []
    assert found.without_answers().unseen_answers == 0
    assert found.without_answers().unseen_entities == found.unseen_entities


@given(fact_lists)
def test_facts_are_asked_from_both_ends(facts: list[Fact]) -> None:
    graph = Dataset.from_names("any", train=facts).graph
    found = QuerySet.from_facts(graph.triples, graph.n_relations)
    assert len(found) == len(found.labelled) == len(found.in_graph) == 2 * graph.n_facts
    rows = graph.vocabulary.decode(graph.triples).select("head", "relation", "tail").rows()
    by_name = [*rows, *((t, f"~{r}", h) for h, r, t in rows)]
    same = QuerySet.from_names(by_name, graph)
    for one, other in (
        (found.entities, same.entities),
        (found.relations, same.relations),
        (found.answers, same.answers),
    ):
        np.testing.assert_array_equal(one, other)
    hidden = found.without_answers()
    assert len(hidden.labelled) == 0
    np.testing.assert_array_equal(hidden.entities, found.entities)
    some = found.take(np.array([0, 0]))
    assert some.answers.tolist() == [found.answers[0]] * 2


@pytest.mark.parametrize(
    "row",
    [
        ("Paris", "capital_of"),
        ("Paris", "?", "France"),
        ("?", "capital_of", "?"),
        ("Paris", "", "France"),
        ("Paris", "capital_of", 3),
        "abc",
        ("Paris", "capital_of", "France", "4"),
    ],
)
def test_rows_that_are_no_queries(row: tuple[str, str, str]) -> None:
    with pytest.raises(InputError, match="A query must be .head, relation, tail. with '\\?' for the unknown end, got"):
        QuerySet.from_names([("Paris", "capital_of", "?"), row], TRIP)


def test_no_queries_at_all() -> None:
    with pytest.raises(InputError, match="no queries"):
        QuerySet.from_names([], TRIP)


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "queries.tsv"
    file.write_text("Paris\tcapital_of\t?\r\n\n?\tin\tFrance\nRome\tin\tItaly", encoding="utf-8-sig", newline="")
    found = read_query_set(file, TRIP)
    assert found.entities.tolist() == [PARIS, FRANCE, -1]
    assert found.unseen_entities == ("Rome",)
    packed = tmp_path / "queries.tsv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_query_set(str(packed), TRIP).entities.tolist() == found.entities.tolist()


def test_comments_unless_an_entity_begins_like_one(tmp_path: Path) -> None:
    file = tmp_path / "queries.tsv"
    file.write_text("# head\trelation\ttail\nParis\tin\t?\n#1\tin\t?\n")
    graph = Dataset.from_names("odd", train=[("#1", "in", "Paris")]).graph
    assert len(read_query_set(file, TRIP)) == 1
    assert read_query_set(file, graph).entities.tolist() == [graph.vocabulary.entity_id(n) for n in ("Paris", "#1")]
    file.write_text("# nothing\n")
    with pytest.raises(ReadError, match="no queries. Expected head, relation and tail"):
        read_query_set(file, TRIP)


@given(st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_line_ends_and_the_last_line(end: str, closed: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "q.tsv"
        file.write_bytes((f"Paris\tin\t?{end}Lyon\tin\tFrance" + end * closed).encode())
        assert read_query_set(file, TRIP).answers.tolist() == [-1, FRANCE]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"Paris\tin\t?\nParis in ?\n", r"queries.tsv, line 2: found 'Paris in \?'. Expected head, relation and tail"),
        (b"\nParis\tin\n", r"queries.tsv, line 2: found 'Paris\\tin'"),
        (b"?\tin\t?\n", r"queries.tsv, line 1: found"),
        (b"Paris\t?\tFrance\n", r"queries.tsv, line 1: found"),
        (b"Paris\tin\tFrance\t3\n", r"queries.tsv, line 1: found"),
        (b"Paris\t\tFrance\n", r"queries.tsv, line 1: found"),
        (b"Paris\tin\t?\nM\xfcnchen\tin\t?\n", r"queries.tsv, line 2: not UTF-8"),
        (b"", r"queries.tsv: no queries. Expected head"),
        (b" \n\n", r"queries.tsv: no queries"),
    ],
)
def test_lines_that_are_no_queries_are_named(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "queries.tsv"
    file.write_bytes(text)
    with pytest.raises(ReadError, match=message):
        read_query_set(file, TRIP)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file"):
        read_query_set(tmp_path / "nowhere.tsv", TRIP)
