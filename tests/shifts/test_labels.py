"""Labels from a file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stablerule import Dataset
from stablerule.errors import InputError, ReadError
from stablerule.shifts import by_file, read_labels
from stablerule.shifts.grouping import NO_LABEL

TRIPS = [("Lyon", "near", "Bonn"), ("Oslo", "near", "Nice"), ("Lyon", "far_from", "Oslo"), ("Lyon", "near", "Bonn")]
DATASET = Dataset.from_names("trips", train=[("Lyon", "in", "France")], test=TRIPS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "labels.tsv"


def test_labels_of_entities(file: Path) -> None:
    file.write_text("Bonn\teast\n\nLyon\twest\r\nnobody\tnowhere\n", encoding="utf-8-sig")
    entities, facts = read_labels(file)
    assert entities == {"Bonn": "east", "Lyon": "west", "nobody": "nowhere"}
    assert facts == {}
    found = by_file(DATASET.test, DATASET.graph, file)
    assert list(found) == ["west", NO_LABEL, "west", "west"]
    assert found.kind == "by_file"
    assert found.options == {"file": "labels.tsv"}
    assert any("have no label" in note for note in found.notes)


def test_labels_of_facts(file: Path) -> None:
    file.write_text("Lyon\tnear\tBonn\ta b\nOslo\tnear\tNice\tc\nLyon\tfar_from\tOslo\tc\n")
    assert list(by_file(DATASET.test, DATASET.graph, file)) == ["a b", "c", "c", "a b"]
    file.write_text("Lyon\tnear\tBonn\ta\nnobody\tnear\tBonn\ta\n")
    found = by_file(DATASET.test, DATASET.graph, file)
    assert list(found) == ["a", NO_LABEL, NO_LABEL, "a"]
    assert "2 of 4 facts have no label." in found.notes


def test_a_path_may_be_text_and_a_file_packed(tmp_path: Path) -> None:
    packed = tmp_path / "labels.tsv.gz"
    packed.write_bytes(gzip.compress(b"Lyon\twest\nOslo\tnorth\n"))
    assert list(by_file(DATASET.test, DATASET.graph, str(packed))) == ["west", "north", "west", "west"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"Lyon\twest\nBonn\n", r"labels.tsv, line 2: found 'Bonn'. Expected an entity and its label"),
        (b"Lyon\tnear\tBonn\n", r"labels.tsv, line 1: found 'Lyon\\tnear\\tBonn'. Expected an entity"),
        (b"\nLyon\twest\nLyon\tnear\tBonn\twest\n", r"labels.tsv, line 3: found"),
        (b"Lyon\t\n", r"labels.tsv, line 1: found 'Lyon\\t'"),
        (
            b"Lyon\twest\nBonn\teast\nLyon\teast\n",
            r"line 3: 'Lyon' has the label 'west' on an earlier line and 'east' here",
        ),
        (b"a\tr\tb\tx\na\tr\tb\ty\n", r"line 2: 'a' 'r' 'b' has the label 'x' on an earlier line and 'y' here"),
        (b"Lyon\twest\nB\xf6nn\teast\n", r"labels.tsv, line 2: not UTF-8"),
        (b"", r"labels.tsv: no labels"),
        (b"\n \n", r"labels.tsv: no labels"),
    ],
)
def test_what_can_not_be_read_is_named_by_file_and_line(file: Path, text: bytes, message: str) -> None:
    file.write_bytes(text)
    with pytest.raises(ReadError, match=message):
        by_file(DATASET.test, DATASET.graph, file)


def test_the_same_label_twice_is_no_conflict(file: Path) -> None:
    file.write_text("Lyon\twest\nLyon\twest\nOslo\tnorth\n")
    assert list(by_file(DATASET.test, DATASET.graph, file)) == ["west", "north", "west", "west"]


def test_labels_that_match_nothing(file: Path) -> None:
    file.write_text("Paris\twest\nRome\tsouth\n")
    with pytest.raises(InputError, match="None of the 2 labels is for one of the heads and tails of these 3 facts"):
        by_file(DATASET.test, DATASET.graph, file)
    file.write_text("Paris\tnear\tRome\twest\n")
    with pytest.raises(InputError, match="labels.tsv: none of its 1 facts is among the 4 to group, such as 'Lyon'"):
        by_file(DATASET.test, DATASET.graph, file)
    with pytest.raises(ReadError, match="no such file"):
        by_file(DATASET.test, DATASET.graph, file.with_name("nowhere.tsv"))
