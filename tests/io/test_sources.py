"""Folders, frames, lists, Parquet, splits by ratio."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

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
        ([None], "row 0 must be"),
        ([5], "row 0 must be"),
        ([{"head": "a", "relation": "r", "tail": "b"}], "row 0 must be"),
        ([("a", "r", "b", 0.5)], r"row 0 must be \(head, relation, tail\).* Number the columns from 0.*'weight': 3"),
        ([("a\ud800", "r", "b")], r"the head 'a\\ud800' is not valid Unicode.* \(row 0\)"),
        ([("a", "r", "b"), ("a", "~r", "b")], r"relation '~r' starts with '~'.* \(row 1\)"),
        ([("a", "r", "b"), ("a", "", "b")], r"the relation must be a non-empty string, got '' \(row 1\)"),
        ([("a", "r", None)], r"the tail must be a non-empty string, got None \(row 0\)"),
        ([("a", "r", 3)], "got 3"),
        ([], "no triples"),
        (pl.DataFrame({"head": ["a"], "relation": ["r"]}), "expected 3 columns"),
        (pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": [1.5]}), "the tail column must be names .* Float64"),
        (
            pl.DataFrame({"head": ["a", None], "relation": "r", "tail": "b"}),
            r"expected a head, found nothing \(row 1\)",
        ),
        (pl.DataFrame({"head": [""], "relation": "r", "tail": "b"}), r"expected a head, found nothing \(row 0\)"),
        (pl.DataFrame({"head": [], "relation": [], "tail": []}), "no triples"),
        (pd.DataFrame({"head": ["a", None], "relation": ["r"] * 2, "tail": ["b"] * 2}), r"found nothing \(row 1\)"),
        (pd.DataFrame({"head": ["a", 1], "relation": ["r"] * 2, "tail": ["b"] * 2}), "has mixed or other types"),
        (
            pd.DataFrame({"head": ["a\ud800"], "relation": ["r"], "tail": ["b"]}, dtype=object),
            "'head' has mixed or other types",
        ),
        (
            pd.DataFrame({"head": [2**200], "relation": ["r"], "tail": ["b"]}, dtype=object),
            "'head' has mixed or other types",
        ),
        (pd.DataFrame([["a", "r", "b", "c"]], columns=["head", "relation", "tail", "tail"]), "expected 3 columns"),
        (
            pd.DataFrame(
                {
                    "head": ["a"],
                    "relation": ["r"],
                    "tail": ["b"],
                    "time": pd.period_range("2020-01", periods=1, freq="M"),
                }
            ),
            r"ISO date .* found Period\('2020-01', 'M'\) \(row 0\)",
        ),
        (pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["b"], "weight": [[1]]}), r"a number .* \(row 0\)"),
        (pl.DataFrame({"head": ["a"], "relation": ["~r"], "tail": ["b"]}), r"polars frame: relation '~r'.* \(row 0\)"),
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
    with pytest.raises(OptionError, match="with train empty"):
        read_dataset({"train": None})
    for source in (b"abc", bytearray(b"abc"), read_dataset(FACTS)):
        with pytest.raises(InputError, match="must be a path, a frame or a list of triples"):
            read_dataset(source)


def test_parquet_files_are_not_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, fact in (("f1", FACTS[0]), ("f[1]", FACTS[1]), ("f*", FACTS[2]), ("~", FACTS[0])):
        with (tmp_path / f"{name}.parquet").open("wb") as out:
            pl.DataFrame([fact], schema=COLUMNS, orient="row").write_parquet(out)
    for name, fact in (("f[1]", FACTS[1]), ("f*", FACTS[2]), ("~", FACTS[0])):
        assert read_dataset(f"{name}.parquet").frame("train").rows() == [fact]


@pytest.mark.parametrize("names", [("*", "^.*$", "x"), ("x", "*", "^x$")])
def test_columns_are_not_patterns(tmp_path: Path, names: tuple[str, str, str]) -> None:
    frame = pl.DataFrame([FACTS[0]], schema=list(names), orient="row")
    frame.write_parquet(tmp_path / "facts.parquet")
    for source in (frame, tmp_path / "facts.parquet", pd.DataFrame([FACTS[0]], columns=list(names))):
        assert read_dataset(source, columns=names).frame("train").rows() == [FACTS[0]]
        assert read_dataset(source).frame("train").rows() == [FACTS[0]]


def test_a_large_parquet_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stablerule.io.frames.PARQUET_ROWS", 2)
    pl.DataFrame([*FACTS, ("a", "~r", "b")], schema=COLUMNS, orient="row").write_parquet(tmp_path / "facts.parquet")
    with pytest.raises(ReadError, match=r"facts.parquet: relation '~r' .* \(row 3\)"):
        read_dataset(tmp_path / "facts.parquet")


def test_pandas_columns_are_taken_by_position() -> None:
    frame = pd.DataFrame([["x", "Paris", "in", "France"]], columns=["1", 1, "r", "t"])
    assert read_dataset(frame, columns=(1, 2, 3)).frame("train").rows() == [("Paris", "in", "France")]
    with pytest.raises(ReadError, match="two columns are named '1'"):
        read_dataset(frame, columns=("1", "r", "t"))
    twice = pd.DataFrame([["Paris", "in", "France", "x"]], columns=["h", "r", "t", "x"]).rename(columns={"x": "t"})
    with pytest.raises(ReadError, match="two columns are named 't'"):
        read_dataset(twice, columns=("h", "r", "t"))


class Table(pd.DataFrame):
    pass


def test_classes_made_from_pandas_frames() -> None:
    assert read_dataset(Table(FACTS, columns=COLUMNS)).frame("train").rows() == FACTS


def test_lists_with_more_than_three_parts() -> None:
    rows = [("Paris", "in", "France", 0.5, "atlas", 1999), ("Bonn", "in", "Germany", 1, "web", 2001)]
    expected = [("Paris", "in", "France", 0.5, "atlas", 1999), ("Bonn", "in", "Germany", 1.0, "web", 2001)]
    assert read_dataset(rows, columns=range(6)).frame("train").rows() == expected
    dated = read_dataset(rows, columns={"head": 2, "relation": 1, "tail": 0, "time": 5}).frame("train")
    assert dated.row(0, named=True) == {"head": "France", "relation": "in", "tail": "Paris", "time": 1999}
    assert read_dataset([("in", "Paris", "France")], columns=(1, 0, 2)).frame("train").row(0) == (
        "Paris",
        "in",
        "France",
    )
    with pytest.raises(OptionError, match="A list has no column names"):
        read_dataset(rows, columns=("head", "relation", "tail", "weight"))
    with pytest.raises(ReadError, match="row 0 must have at least 4 items"):
        read_dataset([("a", "r", "b")], columns=(0, 1, 2, 3))
    with pytest.raises(ReadError, match=r"a number of at least 0 as weight, found 'x' \(row 0\)"):
        read_dataset([("a", "r", "b", "x")], columns=(0, 1, 2, 3))


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(ReadError, match="damaged Parquet file"):
        read_dataset(path)
    path.write_bytes(b"a\tr\tb\n")
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


def test_times_with_a_zone_become_utc() -> None:
    noon = pl.Series([datetime(2024, 5, 31, 12, tzinfo=ZoneInfo("Europe/Berlin"))])
    frame = pl.DataFrame([FACTS[0]], schema=COLUMNS, orient="row").with_columns(time=noon)
    assert frame["time"].dtype.time_zone == "Europe/Berlin"  # type: ignore[attr-defined]
    assert read_dataset(frame).frame("train")["time"].to_list() == [datetime(2024, 5, 31, 10)]


def test_time_must_be_of_one_kind_in_all_splits() -> None:
    frame = pl.DataFrame(FACTS, schema=COLUMNS, orient="row")
    numbers, dates = frame.with_columns(time=pl.lit(1999)), frame.with_columns(time=pl.lit("1999-01-01"))
    with pytest.raises(ReadError, match="all times must be of one kind, found a date and a whole number"):
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


def test_splits_may_have_no_suffix_and_valid_has_many_names(tmp_path: Path) -> None:
    for name, fact in (("train", FACTS[0]), ("val", FACTS[1]), ("test", FACTS[2])):
        (tmp_path / name).write_text("\t".join(fact) + "\n")
    dataset = read_dataset(tmp_path)
    assert [dataset.frame(split).rows() for split in ("train", "valid", "test")] == [[fact] for fact in FACTS]
    assert dataset.notes == ()
    assert read_dataset(tmp_path / "val").frame("train").rows() == [FACTS[1]]


def test_data_files_that_are_not_used_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("train.tsv", "facts.txt", "more.parquet", "README.md", ".hidden.tsv"):
        (tmp_path / name).write_text("a\tr\tb\n")
    (tmp_path / "test.tsv").mkdir()
    notes = read_dataset(tmp_path).notes
    assert len(notes) == 1
    assert notes[0].endswith("skipped facts.txt, more.parquet, test.tsv; only train, valid and test are read.")
    assert notes[0] in caplog.text


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
    assert "skipped 5 repeated facts" in one.notes[0]


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
    others: list[tuple[Any, str]] = [(dataset, r"dataset.frame\('train'\)"), (dataset.graph, "graph.vocabulary.decode")]
    for given, cure in [*others, (FACTS, "got list")]:
        with pytest.raises(InputError, match=f"Expected a polars frame, .*{cure}"):
            to_pandas(given)


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
    with pytest.raises(WriteError, match=r"'a\\tb' contains a tab or a line break"):
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
