"""Records of CSV against the standard library, and quotations that go over lines and blocks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import read_dataset
from stablerule.errors import ReadError
from stablerule.io import text as io_text
from stablerule.io.options import ReadOptions
from stablerule.io.tables import TableReader
from stablerule.io.text import QuotingError, read_csv_record

Reader = Callable[[str, Callable[[], str | None], str], list[str]]


def record(text: str, read: Reader) -> list[str] | str:
    lines = io.BytesIO(text.encode())
    try:
        return read(lines.readline().decode(), lambda: lines.readline().decode() or None, ",")
    except QuotingError:
        return "refused"


@settings(max_examples=500)
@given(st.text(st.sampled_from('ab," \r\n'), min_size=1, max_size=20))
def test_a_record_is_what_the_standard_library_reads(text: str) -> None:
    if not text.split("\n", 1)[0].strip("\r"):
        return  # a blank line is nobody's record
    try:
        expected: list[str] | str = next(csv.reader(io.StringIO(text, newline="\n"), strict=True))
    except csv.Error:
        expected = "refused"
    if "\r" not in text.replace("\r\n", ""):  # a lone CR ends a line there, and is an error here
        assert record(text, read_csv_record) == record(text, io_text._read_unusual_record) == expected


def read(text: str, block: int) -> list[tuple[str, ...]]:
    reader = TableReader("x.csv", ReadOptions(), block_bytes=block)
    return [row for part in reader.read_stream(io.BytesIO(text.encode())) for row in part.frame.rows()]


@pytest.mark.parametrize("block", range(1, 130))
def test_quotations_go_on_in_the_next_block(block: int) -> None:
    text = (
        'head,relation,tail\na,r,"x\ny\n\n# z"\n# a "comment\n5" disk,is,floppy\n"b\n","r","c"\r\n# it\'s 5"\nd,r,e\n'
    )
    assert read(text, block) == [
        ("a", "r", "x\ny\n\n# z"),
        ('5" disk', "is", "floppy"),
        ("b\n", "r", "c"),
        ("d", "r", "e"),
    ]


@pytest.mark.parametrize("block", range(1, 40))
def test_a_header_may_have_a_line_end_in_quotes(block: int) -> None:
    reader = TableReader("x.csv", ReadOptions(columns=(0, 1, 2), header=True), block_bytes=block)
    text = b'"head\nof it",relation,"tail\n"\na,r,b\n'
    assert [row for part in reader.read_stream(io.BytesIO(text)) for row in part.frame.rows()] == [("a", "r", "b")]


@pytest.mark.parametrize("block", range(1, 40))
def test_the_first_fact_may_have_a_line_end_in_quotes(block: int) -> None:
    assert read('"a\nb",r,c\nd,r,e\n', block) == [("a\nb", "r", "c"), ("d", "r", "e")]


def test_line_ends_inside_of_quotes_are_kept_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_bytes(b'"a\r\nb",r,c\r\nd,r,e\r\n')
    assert read_dataset(tmp_path / "facts.csv").frame("train").rows() == [("a\r\nb", "r", "c"), ("d", "r", "e")]


def test_blocks_stay_small_whatever_is_quoted() -> None:
    """A quote that opens nothing must not join all blocks into one."""
    text = "".join(f'{i}" disk,is,"floppy {i}"\n' for i in range(2000)).encode()
    parts = list(TableReader("x.csv", ReadOptions(), block_bytes=1000).read_stream(io.BytesIO(text)))
    assert sum(len(part.frame) for part in parts) == 2000
    assert max(len(part.frame) for part in parts) < 60


def test_a_large_cell_is_read_and_a_quotation_without_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = csv.field_size_limit()
    large = "x" * (limit + 10) + "\n" + "y" * limit
    (tmp_path / "facts.csv").write_text(f'a,r,"{large}"\n')
    assert read_dataset(tmp_path / "facts.csv").frame("train").row(0) == ("a", "r", large)
    assert csv.field_size_limit() == limit
    monkeypatch.setattr(io_text, "LONGEST_QUOTATION", 100)
    (tmp_path / "open.csv").write_text('a,r,b\n"c,r,d\n' + "e,r,f\n" * 1000 + '"')
    with pytest.raises(ReadError, match="an opening quote here is never closed") as caught:
        read_dataset(tmp_path / "open.csv")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"a"b,r,c\n', "expected ',' after a closing quote, found 'b'"),
        ('"a",r,"b\n', "an opening quote here is never closed"),
        ('"a",r\rs,b\n', "a carriage return inside a line"),
    ],
)
def test_what_is_no_csv(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "facts.csv").write_bytes(text.encode())
    with pytest.raises(ReadError, match=f"line 1: not valid CSV: {problem}"):
        read_dataset(tmp_path / "facts.csv")
