"""Folders, frames, lists, Parquet, splits by ratio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from stablerule import read_dataset, to_pandas, write_dataset, write_triples
from stablerule.errors import InputError, OptionError, ReadError, WriteError

FACTS = [("Paris", "capital of", "France"), ("Bonn", "in", "Germany"), ("Köln", "in", "Germany")]
COLUMNS = ["head", "relation", "tail"]


def test_the_same_facts_from_every_source_are_the_same_dataset(tmp_path: Path) -> None:
    frame = pl.DataFrame(FACTS, schema=COLUMNS, orient="row")
    frame.write_parquet(tmp_path / "facts.parquet")
    sources: list[Any] = [
        FACTS,
        iter(FACTS),
        [list(fact) for fact in FACTS],
        frame,
        frame.select("tail", "head", "relation"),
        frame.with_columns(pl.col("relation").cast(pl.Categorical)),
        pd.DataFrame(FACTS, columns=COLUMNS),
        pd.DataFrame(FACTS, columns=["subject", "predicate", "object"]),
        {"train": FACTS},
        tmp_path / "facts.parquet",
        str(tmp_path / "facts.parquet"),
    ]
    for suffix in (".tsv", ".csv", ".tsv.gz", ".csv.xz", ".tsv.zst"):
        write_triples(frame, tmp_path / f"facts{suffix}")
        sources.append(tmp_path / f"facts{suffix}")
    datasets = [read_dataset(source) for source in sources]
    assert len({dataset.sha256 for dataset in datasets}) == 1
    assert all(dataset.frame("train").rows() == FACTS for dataset in datasets)


def test_whole_numbers_are_names_too() -> None:
    frame = pl.DataFrame({"head": [1, 2], "relation": ["r", "s"], "tail": [2, 3]})
    for source in (frame, pd.DataFrame(frame.to_dict(as_series=False))):
        assert read_dataset(source).frame("train").rows() == [("1", "r", "2"), ("2", "s", "3")]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ([("a", "r")], r"row 0 must be \(head, relation, tail\), got \('a', 'r'\)"),
        (["abc"], "row 0 must be"),
        ([("a", "r", "b"), ("a", "", "b")], "the relation of row 1 must be a non-empty string, got ''"),
        ([("a", "r", None)], "the tail of row 0 must be a non-empty string, got None"),
        ([("a", "r", 3)], "got 3"),
        ([], "no triples in it"),
        (pl.DataFrame({"head": ["a"], "relation": ["r"]}), "expected 3 columns"),
        (pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": [1.5]}), "'tail' must hold names .* Float64"),
        (
            pl.DataFrame({"head": ["a", None], "relation": "r", "tail": "b"}),
            r"expected a head, found nothing \(row 1\)",
        ),
        (pl.DataFrame({"head": [""], "relation": "r", "tail": "b"}), r"expected a head, found nothing \(row 0\)"),
        (pl.DataFrame({"head": [], "relation": [], "tail": []}), "no triples in it"),
        (pd.DataFrame({"head": ["a", None], "relation": ["r"] * 2, "tail": ["b"] * 2}), r"found nothing \(row 1\)"),
        (pd.DataFrame({"head": ["a", 1], "relation": ["r"] * 2, "tail": ["b"] * 2}), "mixes types"),
    ],
)
def test_bad_frames_and_lists(source: Any, problem: str) -> None:
    with pytest.raises(ReadError, match=problem):
        read_dataset(source)


def test_things_that_are_no_source() -> None:
    with pytest.raises(InputError, match="must be a path, a frame or a list of triples, got int"):
        read_dataset(42)
    with pytest.raises(OptionError, match="must have 'train'"):
        read_dataset({"test": FACTS})
    with pytest.raises(OptionError, match="may have 'valid' and 'test'"):
        read_dataset({"train": FACTS, "dev": FACTS})


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(ReadError, match="not a Parquet file"):
        read_dataset(path)


def test_optional_columns_of_frames() -> None:
    frame = pl.DataFrame(FACTS, schema=COLUMNS, orient="row").with_columns(
        weight=pl.Series([1, 2, 3]), time=pl.Series(["1999-01-01", "2000-01-01", "2001-01-01"]).str.to_date()
    )
    dataset = read_dataset(frame)
    assert dataset.train.weight is not None
    assert dataset.train.weight.tolist() == [1.0, 2.0, 3.0]
    assert dataset.frame("train")["time"].to_list() == frame["time"].to_list()
    with pytest.raises(ReadError, match=r"a whole number or an ISO date .* found 1.5"):
        read_dataset(frame.with_columns(time=pl.lit(1.5)))


def test_time_must_be_of_one_kind_in_all_splits() -> None:
    frame = pl.DataFrame(FACTS, schema=COLUMNS, orient="row")
    numbers, dates = frame.with_columns(time=pl.lit(1999)), frame.with_columns(time=pl.lit("1999-01-01"))
    with pytest.raises(ReadError, match="time must be of one kind"):
        read_dataset({"train": numbers, "test": dates})


# --- folders -------------------------------------------------------------------------------------------------------


def test_a_folder_with_splits_in_different_formats(tmp_path: Path) -> None:
    write_triples(pl.DataFrame(FACTS[:1], schema=COLUMNS, orient="row"), tmp_path / "train.csv.gz")
    write_triples(pl.DataFrame(FACTS[1:2], schema=COLUMNS, orient="row"), tmp_path / "validation.txt")
    write_triples(pl.DataFrame(FACTS[2:], schema=COLUMNS, orient="row"), tmp_path / "test.parquet")
    (tmp_path / "README.md").write_text("ignored")
    dataset = read_dataset(tmp_path)
    assert [dataset.frame(split).rows() for split in ("train", "valid", "test")] == [FACTS[:1], FACTS[1:2], FACTS[2:]]
    assert dataset.name == tmp_path.name


def test_folders_that_do_not_say_what_is_train(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no training facts.*it is empty"):
        read_dataset(tmp_path)
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    with pytest.raises(ReadError, match=r"no training facts: expected a file such as train.tsv.*found 'facts.tsv'"):
        read_dataset(tmp_path)
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    (tmp_path / "train.csv").write_text("a,r,b\n")
    with pytest.raises(ReadError, match=r"two files for train: train.csv, train.tsv"):
        read_dataset(tmp_path)


def test_an_error_in_one_split_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    (tmp_path / "test.tsv").write_text("a\tr\tb\nbroken\n")
    with pytest.raises(ReadError, match=r"test.tsv, line 2"):
        read_dataset(tmp_path)


def test_a_written_dataset_reads_back(tmp_path: Path) -> None:
    dataset = read_dataset({"train": FACTS[:2], "test": FACTS[2:]}, name="towns")
    for suffix in (".tsv", ".csv.gz", ".parquet"):
        folder = tmp_path / f"towns{suffix}"
        write_dataset(dataset, folder, suffix=suffix)
        assert sorted(p.name for p in folder.iterdir()) == [f"test{suffix}", f"train{suffix}"]
        assert read_dataset(folder).sha256 == dataset.sha256
    with pytest.raises(WriteError, match="already exists"):
        write_dataset(dataset, tmp_path / "towns.tsv")
    write_dataset(dataset, tmp_path / "towns.tsv", suffix=".csv", overwrite=True)
    assert sorted(p.name for p in (tmp_path / "towns.tsv").iterdir()) == ["test.csv", "train.csv"]


# --- splits by ratio -----------------------------------------------------------------------------------------------


def test_one_file_and_a_split() -> None:
    facts = [(f"e{i}", "r", f"e{j}") for i in range(10) for j in range(10)]
    one, two, other = (read_dataset(facts + facts[:5], split=(0.8, 0.1, 0.1), seed=seed) for seed in (1, 1, 2))
    assert [len(t) for t in one.splits.values()] == [80, 10, 10]
    assert one.sha256 == two.sha256 != other.sha256
    assert "5 repeated facts were left out" in one.notes[0]


def test_a_split_that_train_can_not_spare_says_so() -> None:
    dataset = read_dataset(FACTS, split=(0.5, 0.25, 0.25))
    assert len(dataset.train) == 3
    assert "instead of" in dataset.notes[0]


def test_a_split_of_splits_is_refused() -> None:
    with pytest.raises(OptionError, match="'split' is for a single source"):
        read_dataset({"train": FACTS, "test": FACTS}, split=(0.8, 0.1, 0.1))


# --- out -----------------------------------------------------------------------------------------------------------


def test_frames_out() -> None:
    dataset = read_dataset(FACTS)
    frame = to_pandas(dataset.frame("train"))
    assert list(frame.itertuples(index=False, name=None)) == FACTS
    assert read_dataset(frame).sha256 == dataset.sha256


def test_optional_columns_survive_a_round_trip(tmp_path: Path) -> None:
    frame = pl.DataFrame(FACTS, schema=COLUMNS, orient="row").with_columns(
        weight=pl.Series([0.25, 1.0, 3.0]), source=pl.Series(["web", "atlas", "web"]), time=pl.Series([1999, 2000, -5])
    )
    dataset = read_dataset(frame)
    for suffix in (".tsv", ".csv", ".parquet"):
        write_triples(dataset.frame("train"), tmp_path / f"facts{suffix}")
        assert read_dataset(tmp_path / f"facts{suffix}").frame("train").equals(frame)


def test_a_name_that_tsv_can_not_hold_is_refused_and_csv_takes_it(tmp_path: Path) -> None:
    frame = pl.DataFrame([("a\tb", "r", "c\nd")], schema=COLUMNS, orient="row")
    with pytest.raises(WriteError, match=r"'a\\tb' has a tab or a line end"):
        write_triples(frame, tmp_path / "facts.tsv")
    assert list(tmp_path.iterdir()) == []
    write_triples(frame, tmp_path / "facts.csv")
    assert read_dataset(tmp_path / "facts.csv").frame("train").equals(frame)


def test_bad_places_and_formats(tmp_path: Path) -> None:
    frame = pl.DataFrame(FACTS, schema=COLUMNS, orient="row")
    with pytest.raises(OptionError, match=r"can't write '.docx'"):
        write_triples(frame, tmp_path / "facts.docx")
    with pytest.raises(WriteError, match="does not exist. Make it first"):
        write_triples(frame, tmp_path / "no" / "facts.tsv")
