"""What is written reads back without options as what it was, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stablerule import read_dataset, write_dataset, write_triples
from stablerule.errors import InputError, OptionError, ReadError, WriteError

COLUMNS = ["head", "relation", "tail"]
FACTS = [("Paris", "capital of", "France"), ("Bonn", "in", "Germany")]


def frame_of(*facts: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(facts, schema=COLUMNS, orient="row")


def back(path: Path) -> list[tuple[Any, ...]]:
    return read_dataset(path).frame("train").rows()


names = st.text(st.sampled_from("ab#\"',;~ \t\r\n\\é\ufeff\u2028\x00"), min_size=1, max_size=4)
facts = st.tuples(names, names.filter(lambda name: not name.startswith("~")), names)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([("#a", "r", "b")])
@example([("h", "r", "t")])
@example([("\ufeffa", "r", "b")])
@example([("a\r\nb", "r", "c\n# d\r\n")])
@example([("a", "r", "b"), ("#a", "r", "b")])
@example([("\x00", "\x00;\x00", "\x00;\x00")])
@given(st.lists(facts, min_size=1, max_size=5))
def test_any_names_come_back_or_are_refused(tmp_path: Path, table: list[tuple[str, str, str]]) -> None:
    for suffix in (".csv", ".parquet", ".tsv"):
        path = tmp_path / f"facts{suffix}"
        try:
            write_triples(frame_of(*table), path)
        except WriteError:
            assert suffix == ".tsv"
            assert any(row[0].startswith("#") or set("".join(row)) & set("\t\r\n") for row in table)
        else:
            assert back(path) == table


def test_a_head_like_a_comment_is_quoted_in_csv_and_refused_in_tsv(tmp_path: Path) -> None:
    facts = [("Paris", "in", "France"), ("#tea", "about", "drink")]
    write_triples(frame_of(*facts), tmp_path / "facts.csv")
    assert back(tmp_path / "facts.csv") == facts
    with pytest.raises(WriteError, match=r"facts.tsv: the head '#tea' starts with '#'.* Write .csv or .parquet"):
        write_triples(frame_of(*facts), tmp_path / "facts.tsv")


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_a_header_is_written_where_the_first_fact_looks_like_one(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"facts{suffix}"
    write_triples(frame_of(("h", "r", "t"), ("a", "q", "b")), path)
    assert back(path) == [("h", "r", "t"), ("a", "q", "b")]
    assert path.read_text().startswith("head")
    write_triples(frame_of(("a", "r", "b"), ("h", "r", "t")), path)
    assert path.read_text().startswith("a")
    write_triples(frame_of(("h", "r", "t")), path, header=False)
    assert read_dataset(path, header=False).frame("train").rows() == [("h", "r", "t")]


def test_columns_are_written_in_order_and_pandas_frames_too(tmp_path: Path) -> None:
    other_order = frame_of(*FACTS).select("tail", "relation", "head")
    sources: list[Any] = [other_order, pd.DataFrame(FACTS, columns=["s", "p", "o"])]
    for i, frame in enumerate(sources):
        path = tmp_path / f"{i}.tsv"
        write_triples(frame, path)
        assert path.read_text() == "Paris\tcapital of\tFrance\nBonn\tin\tGermany\n"


@pytest.mark.parametrize(
    ("source", "error", "problem"),
    [
        (read_dataset(FACTS), InputError, r"got a Dataset. Write it with write_dataset\(dataset, folder\)"),
        (FACTS, InputError, "Expected a polars or pandas frame, got list"),
        (frame_of(("a", "r", None)), ReadError, r"frame to write: expected a tail, found nothing \(row 0\)"),  # type: ignore[arg-type]
        (frame_of(*FACTS).with_columns(remark=pl.lit("x")), InputError, r"\(head, relation, tail, remark\).* Drop"),
        (frame_of(*FACTS).head(0), ReadError, "no triples"),
    ],
)
def test_what_is_no_frame_of_triples(tmp_path: Path, source: Any, error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem):
        write_triples(source, tmp_path / "facts.tsv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".nt", ".ttl", ".nq"])
@pytest.mark.parametrize("column", ["weight", "time"])
def test_rdf_does_not_lose_weight_or_time_in_silence(tmp_path: Path, suffix: str, column: str) -> None:
    frame = frame_of(("x:a", "x:r", "x:b")).with_columns(pl.lit(1).alias(column))
    with pytest.raises(WriteError, match=rf"would lose the {column} of 1 facts.* Write .tsv, .csv or .parquet"):
        write_triples(frame, tmp_path / f"facts{suffix}")
    with pytest.raises(WriteError, match=rf"train{suffix}: {suffix} would lose the {column} of 1 facts"):
        write_dataset(read_dataset(frame), tmp_path / "out", suffix=suffix)
    assert list(tmp_path.iterdir()) == []


def test_rdf_keeps_the_source_in_quads_only(tmp_path: Path) -> None:
    frame = frame_of(("x:a", "x:r", "x:b")).with_columns(source=pl.lit("x:atlas"))
    write_triples(frame, tmp_path / "facts.nq")
    assert back(tmp_path / "facts.nq") == frame.rows()
    for suffix in (".nt", ".ttl"):
        with pytest.raises(WriteError, match="would lose the source of 1 facts.* Write .nq"):
            write_triples(frame, tmp_path / f"facts{suffix}")
        write_triples(frame.with_columns(source=pl.lit("default")), tmp_path / f"facts{suffix}")


def test_errors_name_the_place_that_was_asked_for(tmp_path: Path) -> None:
    """Not the temporary one, and before anything is made."""
    dataset = read_dataset(FACTS)
    with pytest.raises(WriteError) as caught:
        write_dataset(dataset, tmp_path / "out", suffix=".nt")
    assert str(caught.value).startswith(f"{tmp_path / 'out' / 'train.nt'}: 'Paris' is not an IRI")
    assert "base='https://example.org/' (--base https://example.org/)" in str(caught.value)
    with pytest.raises(OptionError) as refused:
        write_dataset(dataset, tmp_path / "no" / "out", suffix=".docx")
    assert ".stablerule" not in str(refused.value)
    with pytest.raises(OptionError, match="'base' must be an IRI"):
        write_dataset(dataset, tmp_path / "no" / "out", suffix=".nt", base="example")
    assert list(tmp_path.iterdir()) == []
