"""TSV and CSV: what is read right, and what is refused with its line."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import logging
import lzma
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, read_dataset
from stablerule.errors import OptionError, ReadError
from stablerule.io.files import COMPRESSIONS
from stablerule.io.options import ReadOptions
from stablerule.io.tables import TableReader

PARIS = ("Paris", "capital of", "France")


def compress(data: bytes, suffix: str) -> bytes:
    match suffix:
        case ".gz":
            return gzip.compress(data)
        case ".xz":
            return lzma.compress(data)
        case ".bz2":
            return bz2.compress(data)
    buffer = io.BytesIO()
    with COMPRESSIONS[suffix](buffer, "wb") as stream:
        stream.write(data)
    return buffer.getvalue()


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def rows(dataset: Dataset, split: str = "train") -> list[tuple[Any, ...]]:
    return dataset.frame(split).rows()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.tsv", "Paris\tcapital of\tFrance\n"),
        ("no newline at end.txt", "Paris\tcapital of\tFrance"),
        ("crlf.tsv", "Paris\tcapital of\tFrance\r\n"),
        ("bom.tsv", "\ufeffParis\tcapital of\tFrance\n"),
        ("blanks.tsv", "\n\n  \nParis\tcapital of\tFrance\n\n"),
        ("comments.tsv", "# made by hand\n#\nParis\tcapital of\tFrance\n# end"),
        ("header.tsv", "head\trelation\ttail\nParis\tcapital of\tFrance\n"),
        ("other words.tsv", "Subject\tPredicate\tObject\nParis\tcapital of\tFrance\n"),
        ("other order.tsv", "o\ts\tp\nFrance\tParis\tcapital of\n"),
        ("after comments.tsv", "# note\n\nhead\trelation\ttail\nParis\tcapital of\tFrance\n"),
        ("commas.csv", "Paris,capital of,France\n"),
        ("quoted.csv", '"Paris","capital of","France"\r\n'),
        ("extra columns.csv", "id,head,relation,tail,remark\n7,Paris,capital of,France,\n"),
    ],
)
def test_one_fact_in_many_dresses(tmp_path: Path, name: str, text: str) -> None:
    assert rows(read_dataset(write(tmp_path, name, text))) == [PARIS]


@pytest.mark.parametrize("suffix", [*COMPRESSIONS, *(s.upper() for s in COMPRESSIONS)])
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    data = compress(b"Paris\tcapital of\tFrance\n", suffix.lower())
    assert rows(read_dataset(write(tmp_path, f"facts.tsv{suffix}", data))) == [PARIS]


def test_names_are_kept_to_the_letter(tmp_path: Path) -> None:
    odd = [('"Köln"', " in ", "北京"), ("a,b", "it's", "NA"), ("null", "NaN", "1.0"), ("🙂", "\\N", "e\u0301")]
    text = "".join("\t".join(row) + "\n" for row in odd)
    assert rows(read_dataset(write(tmp_path, "odd.tsv", text))) == odd


def test_csv_quotes_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    text = '"Paris, Texas","in","the ""Lone Star"" state"\nx,"two\nlines",y\n# comment\nz,in,"#1\n# not a comment"\n'
    assert rows(read_dataset(write(tmp_path, "quotes.csv", text))) == [
        ("Paris, Texas", "in", 'the "Lone Star" state'),
        ("x", "two\nlines", "y"),
        ("z", "in", "#1\n# not a comment"),
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"columns": ("who", "what", "whom")}, "whom\twho\twhat\nFrance\tParis\tcapital of\n"),
        ({"columns": (2, 0, 1)}, "capital of\tFrance\tParis\n"),
        ({"columns": (1, 2, 4)}, "7\tParis\tcapital of\tx\tFrance\n"),
        ({"columns": {"tail": 0, "head": 1, "relation": 2}}, "France\tParis\tcapital of\n"),
        ({"header": True}, "a\tb\tc\nParis\tcapital of\tFrance\n"),
        ({"separator": ";"}, "Paris;capital of;France\n"),
        ({"separator": "§"}, "Paris§capital of§France\n"),
        ({"separator": "#", "comment": None}, "Paris#capital of#France\n"),
        ({"columns": (1, 0, 2), "header": False}, "capital of\tParis\tFrance\n"),
        ({"comment": "//"}, "// note\nParis\tcapital of\tFrance\n"),
    ],
)
def test_options(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    assert rows(read_dataset(write(tmp_path, "facts.tsv", text), **options)) == [PARIS]


def test_header_false_reads_words_like_head_as_names(tmp_path: Path) -> None:
    path = write(tmp_path, "body.tsv", "head\trelation\ttail\n")
    assert rows(read_dataset(path, header=False)) == [("head", "relation", "tail")]


def test_comment_none_reads_hashtags_and_otherwise_they_are_said_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, "tags.tsv", "#tea\tabout\tdrink\nParis\tcapital of\tFrance\n")
    assert rows(read_dataset(path, comment=None)) == [("#tea", "about", "drink"), PARIS]
    with caplog.at_level(logging.WARNING, "stablerule"):
        dataset = read_dataset(path)
    assert rows(dataset) == [PARIS]
    assert "skipped 1 lines that start with '#' as comments" in dataset.notes[0]
    assert dataset.notes[0] in caplog.text


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "facts.tsv", "Köln\tin\tDeutschland\r\n".encode(encoding))
    assert rows(read_dataset(path, encoding=encoding)) == [("Köln", "in", "Deutschland")]


def test_crlf_is_read_fast_and_right_wherever_a_block_ends() -> None:
    text = b"a\tr\tb\r\nc\tr\td\r\n"
    for size in range(1, len(text) + 1):
        reader = TableReader("x.tsv", ReadOptions(), block_bytes=size)
        rows = [row for part in reader.read_stream(io.BytesIO(text)) for row in part.frame.rows()]
        assert rows == [("a", "r", "b"), ("c", "r", "d")], size


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_told_and_read(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "facts.tsv", "Köln\tin\tDeutschland\n".encode(encoding))
    with pytest.raises(ReadError, match=rf"UTF-16 text.*encoding='{encoding}' \(--encoding {encoding}\)"):
        read_dataset(path)
    assert rows(read_dataset(path, encoding=encoding)) == [("Köln", "in", "Deutschland")]
    marked = write(tmp_path, "marked.tsv", "\ufeffKöln\tin\tDeutschland\n".encode(encoding))
    assert rows(read_dataset(marked, encoding=encoding)) == [("Köln", "in", "Deutschland")]


def test_an_encoding_is_decoded_piece_by_piece() -> None:
    text = "Köln\tin\tDeutschland\n北京\tin\tChina\n".encode("utf-16")
    for size in (1, 2, 3, 7, 1000):
        reader = TableReader("x.tsv", ReadOptions(encoding="utf-16"), block_bytes=size)
        found = [row[0] for part in reader.read_stream(io.BytesIO(text)) for row in part.frame.rows()]
        assert found == ["Köln", "北京"], size


def test_bytes_that_the_encoding_does_not_have(tmp_path: Path) -> None:
    path = write(tmp_path, "facts.tsv", b"a\tr\tb\nc\tr\t\x81\n")
    with pytest.raises(ReadError, match="line 2: not cp1252"):
        read_dataset(path, encoding="cp1252")


def test_optional_columns(tmp_path: Path) -> None:
    text = "head,relation,tail,weight,source,time\nParis,capital of,France,0.5,atlas,1999\nBonn,in,Germany,1,web,2001\n"
    dataset = read_dataset(write(tmp_path, "facts.csv", text))
    assert dataset.train.weight is not None
    assert dataset.train.time is not None
    assert dataset.train.weight.tolist() == [0.5, 1.0]
    assert dataset.train.time.tolist() == [1999, 2001]
    assert rows(dataset) == [(*PARIS, 0.5, "atlas", 1999), ("Bonn", "in", "Germany", 1.0, "web", 2001)]


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        (("1999", "-44"), "int64"),
        (("1999-12-31", "2000-01-01"), "datetime64[D]"),
        (("1999-12-31T12:00:00", "2000-01-01 00:00:01.5"), "datetime64[us]"),
    ],
)
def test_times_are_numbers_or_iso_dates(tmp_path: Path, times: tuple[str, str], kind: str) -> None:
    text = "head,relation,tail,time\n" + "".join(f"a{i},r,b,{t}\n" for i, t in enumerate(times))
    time = read_dataset(write(tmp_path, "facts.csv", text)).train.time
    assert time is not None
    assert str(time.dtype) == kind


@pytest.mark.parametrize(
    ("times", "line", "problem"),
    [
        (("1999", "2000-01-01", "2000-01-02"), 3, "of one kind, found '2000-01-01' after '1999' in line 2"),
        (("2000-01-01", "2000-01-02", "1999"), 4, "found '1999' after '2000-01-01' in line 2"),
        (("1999", "soon", "2000-01-01"), 3, "ISO date .* found 'soon'"),
    ],
)
def test_times_of_two_kinds_blame_no_good_value(
    tmp_path: Path, times: tuple[str, ...], line: int, problem: str
) -> None:
    text = "head,relation,tail,time\n" + "".join(f"a{i},r,b,{t}\n" for i, t in enumerate(times))
    with pytest.raises(ReadError, match=problem) as caught:
        read_dataset(write(tmp_path, "facts.csv", text))
    assert caught.value.line == line


def test_a_relation_like_an_inverse_is_named_with_its_line(tmp_path: Path) -> None:
    text = "".join(f"a{i}\tr\tb\n" for i in range(5)) + "# note\na\t~r\tb\n"
    with pytest.raises(ReadError, match=r"facts.tsv, line 7: relation '~r' starts with '~'"):
        read_dataset(write(tmp_path, "facts.tsv", text))
    with pytest.raises(ReadError, match=r"plain.tsv, line 6: relation '~r'"):
        read_dataset(write(tmp_path, "plain.tsv", text.replace("# note\n", "")))


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("few.tsv", "a\tr\tb\n\nc\tr\n", 3, "expected 3 columns, found 2"),
        ("many.tsv", "a\tr\tb\n# note\nc\tr\td\te\n", 3, "expected 3 columns, found 4"),
        ("empty name.tsv", "a\tr\tb\nc\t\td\n", 2, "expected a relation, found nothing"),
        ("empty tail.tsv", "a\tr\tb\nc\tr\t\n", 2, "expected a tail, found nothing"),
        ("all empty.tsv", "a\tr\tb\n\t\t\n", 2, "expected a head, found nothing"),
        ("bytes.tsv", b"a\tr\tb\nc\tr\t\xff\xfe\n", 2, "byte 0xff at position 4 is not UTF-8"),
        ("mac.tsv", "a\tr\tb\rc\tr\td\n", 1, "carriage return"),
        ("first line.tsv", "only one\n", 1, "expected 3 columns .* found 1"),
        ("wide.tsv", "a\tb\tc\td\n", 1, "Choose the columns by name or number with columns="),
        ("really commas.tsv", "a,r,b\n", 1, "pass separator=','"),
        ("really tabs.csv", "a\tr\tb\n", 1, r"pass separator='\\t'"),
        ("open quote.csv", 'a,r,b\n"c,r,d\n', 2, "not valid CSV"),
        ("after quote.csv", 'a,r,b\n"c"x,r,d\n', 2, "not valid CSV"),
        ("weight.csv", "head,relation,tail,weight\na,r,b,1\nc,r,d,heavy\n", 3, "a number of at least 0 .* 'heavy'"),
        ("negative.csv", "head,relation,tail,weight\na,r,b,-1\n", 2, "at least 0 as weight, found '-1'"),
        ("nan.csv", "head,relation,tail,weight\na,r,b,nan\n", 2, "as weight, found 'nan'"),
        ("time.csv", "head,relation,tail,time\na,r,b,1999\nc,r,d,soon\n", 3, "ISO date .* 'soon'"),
        ("no weight.csv", "head,relation,tail,weight\na,r,b,\n", 2, "expected a weight, found nothing"),
        ("utf-16.tsv", "a\tr\tb\n".encode("utf-16"), 1, "encoding='utf-16'"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, name: str, text: str | bytes, line: int, problem: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(ReadError, match=problem) as caught:
        read_dataset(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "head\trelation\ttail\n", "head\trelation\ttail"])
def test_a_file_without_facts_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReadError, match="no triples"):
        read_dataset(write(tmp_path, "empty.tsv", text))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_truncated_and_foreign_compressed_files_are_refused(tmp_path: Path, suffix: str) -> None:
    text = "".join(f"entity{i}\tr\tentity{i * 7919 % 1000}\n" for i in range(5000)).encode()
    whole = compress(text, suffix)
    for name, data in (("cut", whole[: len(whole) // 2]), ("foreign", b"Paris\tin\tFrance\n")):
        path = write(tmp_path, f"{name}.tsv{suffix}", data)
        with pytest.raises(ReadError, match=rf"{name}.*(damaged or truncated|can't be read)"):
            read_dataset(path)


def test_missing_things(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file or folder"):
        read_dataset(tmp_path / "nowhere.tsv")
    with pytest.raises(ReadError, match=r"unknown format '.docx'"):
        read_dataset(write(tmp_path, "facts.docx", "x"))
    path = write(tmp_path, "facts.csv", "who,what,whom\na,r,b\n")
    with pytest.raises(ReadError, match=r"no column 'wat' in the header .* Closest: 'what'"):
        read_dataset(path, columns=("who", "wat", "whom"))
    twice = write(tmp_path, "twice.csv", "who,what,whom,who\na,r,b,c\n")
    with pytest.raises(ReadError, match=r"line 1: two columns are named 'who'. Choose by number"):
        read_dataset(twice, columns=("who", "what", "whom"))
    with pytest.raises(ReadError, match="no column 5: there are 3 columns"):
        read_dataset(path, columns=(0, 1, 5))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"columns": ("a", "b")}, "'columns' must name or number"),
        ({"columns": "abc"}, "'columns' must name or number"),
        ({"columns": {"head": 0, "relation": 1, "tail": 2, "colour": 3}}, "'columns' must name or number"),
        ({"columns": (0, 0, 1)}, "must not name a column twice"),
        ({"columns": (0, -1, 1)}, "counts columns from 0"),
        ({"columns": (0, "b", 1)}, "names or numbers, not both"),
        ({"separator": "::"}, "'separator' must be one character"),
        ({"separator": "\n"}, "'separator' must be one character"),
        ({"separator": 5}, "'separator' must be one character, got 5"),
        ({"separator": "#"}, r"separator='#' \(--separator '#'\) is also the start of a comment.*comment=None"),
        ({"separator": "/", "comment": "//"}, "is also the start of a comment"),
        ({"comment": ""}, "'comment'"),
        ({"comment": 5}, "'comment'"),
        ({"columns": 5}, "'columns' must name or number"),
        ({"columns": (0, 1, 2, 3, 4, 5, 6)}, "'columns' must name or number"),
        ({"columns": (0.0, 1.0, 2.0)}, "names or numbers"),
        ({"columns": ("s", "p", "o"), "header": False}, r"has column names, but header=False \(--no-header\)"),
        ({"header": "yes"}, "'header' must be True, False or None"),
        ({"encoding": None}, "'encoding' must be a known encoding, got None"),
        ({"encoding": "undefined"}, "'encoding' must be a known encoding"),
        ({"encoding": "punycode"}, "'encoding' must be a known encoding"),
        ({"encoding": "base64"}, "'encoding' must be a known encoding"),
        ({"base": "example"}, "'base' must be an IRI"),
        ({"encoding": "klingon"}, "'encoding' must be a known encoding"),
        ({"literals": "maybe"}, "'literals' must be 'drop' or 'keep'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        read_dataset([("a", "r", "b")], **options)


# Everything that a cell may hold, with a bias to what could confuse a parser.
cell = st.text(st.sampled_from("ab#\",;' \t\\é北\ufeff\u2028\x85\x00\r"), max_size=4) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)


@settings(max_examples=300)
@given(st.lists(st.lists(cell, min_size=1, max_size=4), max_size=6), st.sampled_from([5, 17, 1 << 20]))
def test_fast_and_plain_parsing_agree_on_any_text(table: list[list[str]], block: int) -> None:
    """Whatever the lines are, blocks of any size give what one plain pass gives: the same rows or the same error."""
    text = "\n".join("\t".join(line) for line in table).encode()
    assert outcome(text, "x.tsv", block) == outcome(text, "x.tsv", 1 << 20, plain=True)


@settings(max_examples=300)
@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=6), st.sampled_from([5, 17, 1 << 20]))
def test_csv_written_by_the_standard_library_comes_back(table: list[tuple[str, str, str]], block: int) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    got = outcome(buffer.getvalue().encode(), "x.csv", block, comment=None, header=False)
    if all(all(row) for row in table):
        assert got == table
    else:
        assert "found nothing" in str(got)


def outcome(text: bytes, name: str, block: int, *, plain: bool = False, **options: Any) -> list[Any] | str:
    reader = TableReader(name, ReadOptions(**options), block_bytes=block)
    if plain:
        reader._parse_fast = lambda *_: None  # type: ignore[method-assign]
    try:
        return pl.concat([part.frame for part in reader.read_stream(io.BytesIO(text))]).rows()
    except ReadError as error:
        return str(error)
