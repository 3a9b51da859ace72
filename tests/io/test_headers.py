"""First lines: which are headers, and which column is which."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, read_dataset, write_dataset
from stablerule.io.columns import ENDS, ENOUGH_ROWS, RELATIONS
from stablerule.io.options import ReadOptions
from stablerule.io.tables import TableReader

FACTS = [("Paris", "capital_of", "France"), ("Rome", "capital_of", "Italy"), ("Lyon", "in", "France")]
MANY = [(f"e{i}", f"r{i % 4}", f"e{i + 7}") for i in range(ENOUGH_ROWS + 5)]
names = st.sampled_from(["a", "b", "c", "d", "type", "source", "target", "from", "to", "s", "p", "o", "start", "end"])


def read(
    rows: Sequence[tuple[str, ...]], suffix: str = "csv", block: int = 1 << 20
) -> tuple[list[tuple[str, ...]], str]:
    """Read rows of a made-up file; return the facts and the notes."""
    separator = "," if suffix == "csv" else "\t"
    text = "".join(separator.join(row) + "\n" for row in rows).encode()
    reader = TableReader(f"x.{suffix}", ReadOptions(), block_bytes=block)
    parts = [part.frame.select("head", "relation", "tail") for part in reader.read_stream(io.BytesIO(text))]
    return pl.concat(parts).rows(), " ".join(reader.notes)


@given(
    st.sampled_from(ENDS),
    st.sampled_from(RELATIONS),
    st.permutations(["head", "relation", "tail", "id"]),
    st.sampled_from([str, str.upper, str.title, "{} id".format, ":{}_ID".format]),
    st.sampled_from(["csv", "tsv"]),
)
def test_common_headers_are_recognised_in_any_order(ends, relation, order, spell, suffix) -> None:  # type: ignore[no-untyped-def]
    """Beside columns that are read there may be others, as one of row numbers."""
    if relation in ("r", "p") and spell("r") != "r":
        relation = "relation"
    header = {"head": spell(ends[0]), "relation": spell(relation), "tail": spell(ends[1]), "id": "row"}
    rows = [{"head": h, "relation": r, "tail": t, "id": f"{i}"} for i, (h, r, t) in enumerate(FACTS)]
    for columns in (order, [role for role in order if role != "id"]):
        found, notes = read([tuple(row[role] for role in columns) for row in [header, *rows]], suffix)
        assert found == FACTS
        assert "the first line was read as a header: " in notes or {*header.values()} >= {"head", "relation", "tail"}
        assert "--no-header" in notes or header["head"] == "head"


@pytest.mark.parametrize(
    ("header", "order"),
    [
        ("subject,predicate,object", "hrt"),
        ("source,target,type", "htr"),
        ("from,to,label", "htr"),
        ("s,p,o", "hrt"),
        ("o,s,p", "thr"),
        ("h,r,t", "hrt"),
        ("start,end,type", "htr"),
        (":START_ID,:END_ID,:TYPE", "htr"),
        ("startNodeId,endNodeId,relationshipType", "htr"),
        ("subject_id,relation_id,object_id", "hrt"),
        ("TO,relation,FROM", "trh"),
        ("head,relation,tail", "hrt"),
    ],
)
def test_headers_that_people_write(header: str, order: str) -> None:
    rows = [tuple(fact["hrt".index(role)] for role in order) for fact in FACTS]
    assert read([tuple(header.split(",")), *rows])[0] == FACTS


@given(st.lists(st.tuples(names, names, names), min_size=2, max_size=30), st.sampled_from(["csv", "tsv"]))
def test_no_first_line_that_shares_a_cell_with_another_is_lost(facts: list[tuple[str, str, str]], suffix: str) -> None:
    first, others = facts[0], [fact for fact in facts[1:] if fact != facts[0]]
    entities = {end for head, _, tail in others for end in (head, tail)}
    shares = first[1] in {relation for _, relation, _ in others} or {first[0], first[2]} & entities
    found, _ = read(facts, suffix)
    assert found[-len(facts) + 1 :] == [*facts[1:]] or not shares
    if shares:
        assert found == facts


@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=30), st.integers(1, 40))
def test_the_size_of_blocks_does_not_matter(facts: list[tuple[str, str, str]], block: int) -> None:
    def outcome(size: int) -> object:
        try:
            return read(facts, "csv", size)
        except Exception as error:
            return str(error)

    assert outcome(block) == outcome(1 << 20)


def test_a_first_line_unlike_all_others_is_a_header_whatever_its_words_are() -> None:
    found, notes = read([("package", "field", "value"), *MANY])
    assert found == MANY
    assert "head is 'package', relation is 'field', tail is 'value'" in notes
    found, notes = read([("package", "value", "relation_type"), *[(h, t, r) for h, r, t in MANY]])
    assert found == MANY
    few = MANY[: ENOUGH_ROWS // 2]
    found, notes = read([("package", "field", "value"), *few])
    assert found == [("package", "field", "value"), *few]
    assert "read as a fact. If it is a header, pass header=True (--header)" in notes
    lone = [*MANY, ("x", "once", "y")]  # another relation occurs once, too
    assert read([("package", "field", "value"), *lone])[0] == [("package", "field", "value"), *lone]
    assert read([("package", "field", "value"), *MANY], "tsv")[0] == [("package", "field", "value"), *MANY]


def test_head_relation_tail_is_a_header_even_of_a_graph_of_heads() -> None:
    facts = [("head", "part_of", "body"), ("tail", "part_of", "body")]
    assert read([("head", "relation", "tail"), *facts]) == (facts, "")


@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=30, unique=True), st.sampled_from(["csv", "tsv"]))
def test_what_is_written_is_read_back(facts: list[tuple[str, str, str]], suffix: str) -> None:
    """A first fact that would be taken for a header gets a header."""
    dataset = Dataset.from_names("x", train=facts)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "out"
        write_dataset(dataset, place, suffix=f".{suffix}")
        again = read_dataset(place)
    assert again.graph.sha256 == dataset.graph.sha256
