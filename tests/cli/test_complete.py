"""`stablerule complete` as a user types it."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from stablerule import Dataset, Tabular, Triples, households, load_model, read_dataset, write_dataset
from stablerule.cli.complete_files import CompletionParts
from stablerule.graph import Graph
from stablerule.io.iris import BASE, spell_output_cell, spell_output_iri
from stablerule.io.rdf import IriShortening
from stablerule.learning.options import Mining
from stablerule.reasoning.completing import Completion, complete
from tests.terminal import fails, program, run

SCHEMA = ["head", "relation", "tail", "score", "rule", "path"]
CALIBRATED = [*SCHEMA[:4], "probability", *SCHEMA[4:]]


def works(*words: str | Path) -> Result:
    result = run(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "families"
    write_dataset(households(families=4, seed=0).dataset, folder)
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    dataset = read_dataset(data)
    held_out = Triples.concat(dataset.valid, dataset.test)
    uncalibrated = Tabular(walks=20_000, max_length=2)
    uncalibrated.fit(Dataset.of_graph(dataset.graph, test=held_out), refit=False)
    uncalibrated.save(folder, source=str(data))
    return folder


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrated")
    dataset = households(seed=0).dataset
    write_dataset(dataset, folder / "data")
    dataset = read_dataset(folder / "data")
    Tabular(walks=20_000, max_length=2).fit(dataset).save(folder / "m", source=str(folder / "data"))
    return folder / "m"


def expected_facts(model: Path, data: Path, **options: Any) -> list[tuple[str, str, str]]:
    dataset = read_dataset(data)
    known = Graph.build(dataset.everything, dataset.vocabulary)
    kept = load_model(model)
    search, curves = kept.rule_searcher(dataset.graph), kept.calibration_for(dataset.graph)
    found = complete(search, known=known, calibration=curves, **options)
    return [(fact.head, fact.relation, fact.tail) for fact in found]


def read_tsv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator="\t", quote_char=None)


def test_a_table_of_new_facts(model: Path, data: Path, tmp_path: Path) -> None:
    result = works("complete", model, "-o", tmp_path / "new.tsv")
    found = read_tsv(tmp_path / "new.tsv")
    assert found.columns == CALIBRATED
    assert found.select("head", "relation", "tail").rows() == expected_facts(model, data)
    assert f"{len(found):,} new facts" in result.stderr
    assert found["path"].str.contains(" - ").all()
    assert os.listdir(tmp_path) == ["new.tsv"]


def test_the_best_are_shown_with_what_is_expected(calibrated: Path, tmp_path: Path) -> None:
    result = works("complete", calibrated, "-o", tmp_path / "new.parquet", "--per-relation", "50")
    found = pl.read_parquet(tmp_path / "new.parquet").sort("probability", "score", descending=True)
    figures, rules, paths = (result.stdout.splitlines()[i::3] for i in range(3))
    assert len(figures) == len(rules) == len(paths) == 5
    top = found.row(0, named=True)
    assert sorted(float(line.split()[0].strip("%<")) for line in figures)[-1] == round(100 * top["probability"])
    assert all(rule.strip() in set(found["rule"]) for rule in rules)
    number, low, high, of = (
        int(word.replace(",", ""))
        for word in re.search(r"about (\S+) \((\S+) to (\S+)\) of (\S+)\. Assumes", result.stderr).groups()  # type: ignore[union-attr]
    )
    assert number == round(found["probability"].sum())
    assert low < number < high <= of == len(found)
    assert re.search(r"\d+ one-valued relations?: skipping [\d,]+ heads that have a value", result.stderr)


def test_the_best_thousand_without_a_limit(calibrated: Path, tmp_path: Path) -> None:
    ask = ("complete", calibrated, "--domain", "all", "--candidates", "all", "-o")
    works(*ask, tmp_path / "new.parquet")
    works(*ask, tmp_path / "all.parquet", "--top", "all")
    best, every = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("new", "all"))
    assert len(best) == 1000 < len(every)
    assert best["probability"].drop_nulls().is_sorted(descending=True)
    assert best["probability"].drop_nulls().sum() >= every["probability"].drop_nulls().head(1000).sum()


@pytest.mark.slow
def test_options_say_which(model: Path, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "new.parquet"

    def rows(*words: str) -> list[Any]:
        works("complete", model, "-o", place, "--overwrite", *words)
        return pl.read_parquet(place).select("head", "relation", "tail").rows()

    assert rows("--top", "5") == expected_facts(model, data, top=5)
    assert "1 new fact. Saved to" in works("complete", model, "-o", place, "--overwrite", "--top", "1").stderr
    assert rows("--per-relation", "2") == expected_facts(model, data, per_relation=2)
    assert rows("--top", "9", "--per-relation", "2") == expected_facts(model, data, top=9, per_relation=2)
    two = ("sibling_of", "parent_of")
    assert rows("--relation", two[0], "--relation", two[1]) == expected_facts(model, data, relations=two)
    chosen = ("--threshold", "0.3", "--per-query", "2", "--candidates", "all", "--domain", "all")
    assert rows(*chosen) == expected_facts(model, data, threshold=0.3, per_query=2, candidates="all", domain="all")


def test_every_format_holds_the_same_facts(model: Path, tmp_path: Path) -> None:
    for suffix in ("tsv", "parquet", "jsonl", "nt", "tsv.gz"):
        works("complete", model, "-o", tmp_path / f"new.{suffix}", "--per-relation", "4")
    frame = pl.read_parquet(tmp_path / "new.parquet")
    assert frame.schema["path"] == pl.List(pl.String)
    lines = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    assert lines == frame.to_dicts()
    facts = frame.select("head", "relation", "tail").rows()
    assert read_tsv(tmp_path / "new.tsv").select("head", "relation", "tail").rows() == facts
    assert gzip.decompress((tmp_path / "new.tsv.gz").read_bytes()) == (tmp_path / "new.tsv").read_bytes()
    back = read_dataset(tmp_path / "new.nt", base=BASE)
    assert back.frame("train").rows() == facts


@pytest.mark.slow
def test_a_probability_only_where_the_model_is_calibrated(calibrated: Path, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "new.parquet"
    works("complete", calibrated, "-o", place, "--top", "300")
    found = pl.read_parquet(place)
    assert found.columns == CALIBRATED
    assert found["probability"].null_count() == 0
    assert found["probability"].is_sorted(descending=True)
    assert found["probability"].is_between(0, 1).all()
    least = float(np.median(found["probability"].to_numpy()))
    works("complete", calibrated, "-o", place, "--overwrite", "--min-probability", str(least))
    assert pl.read_parquet(place)["probability"].min() >= least  # type: ignore[operator]
    result = works("complete", calibrated, "-o", place, "--overwrite", "--top", "3", "--graph", str(data))
    assert "now answers from the training facts of" in result.stderr
    assert pl.read_parquet(place).columns == SCHEMA  # on another graph nothing was calibrated
    assert "so no probabilities: it applies only to the graph that the model was trained on" in result.stderr
    message = fails(
        "complete", calibrated, "-o", place, "--overwrite", "--min-probability", "0.1", "--graph", str(data)
    )
    assert "--min-probability needs a calibration: it applies only to the graph" in message
    assert "use --threshold, the minimum score" in message


class Killed(Exception):
    """What ends a run in the middle."""


def kill_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    work = Completion.of
    done: list[int] = []

    def of(self: Completion, relation: int, **more: Any) -> pl.DataFrame:
        if len(done) == count:
            raise Killed
        done.append(relation)
        return work(self, relation, **more)

    monkeypatch.setattr(Completion, "of", of)


@pytest.mark.parametrize("suffix", ["tsv", "parquet"])
@pytest.mark.parametrize("words", [[], ["--top", "7"]])
def test_a_killed_run_goes_on_to_the_same_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, words: list[str]
) -> None:
    works("complete", model, "-o", tmp_path / f"whole.{suffix}", *words)
    place = tmp_path / f"new.{suffix}"
    with monkeypatch.context() as patch:
        kill_after(patch, 3)
        assert isinstance(run("complete", model, "-o", place, *words).exception, Killed)
    parts = tmp_path / f"new.{suffix}.partial"
    assert sorted(os.listdir(parts)) == ["000000.parquet", "000001.parquet", "000002.parquet", "completion.json"]
    assert not place.exists()
    assert "Continue it with --resume, or start again with --overwrite" in fails("complete", model, "-o", place, *words)
    with monkeypatch.context() as patch:
        kill_after(patch, 2)
        assert isinstance(run("complete", model, "-o", place, *words, "--resume").exception, Killed)
    assert len(os.listdir(parts)) == 6
    works("complete", model, "-o", place, *words, "--resume")
    assert place.read_bytes() == (tmp_path / f"whole.{suffix}").read_bytes()
    assert not parts.exists()


@pytest.mark.slow
def test_a_process_that_is_really_killed_goes_on(model: Path, tmp_path: Path) -> None:
    place = tmp_path / "new.tsv"
    dying = """
import os
from stablerule.cli import complete_files
add = complete_files.CompletionParts.add
def add_and_die(self, relation, frame):
    add(self, relation, frame)
    if relation == 2:
        os.kill(os.getpid(), signal.SIGKILL)
complete_files.CompletionParts.add = add_and_die
"""
    command = program("complete", model, "-o", place, before=dying)
    ended = subprocess.run(command, check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not place.exists()
    (tmp_path / "new.tsv.partial" / ".000003.parquet.1.stablerule").write_text("half")
    works("complete", model, "-o", place, "--resume")
    works("complete", model, "-o", tmp_path / "whole.tsv")
    assert place.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["new.tsv", "whole.tsv"]


def test_an_interrupt_is_said_once(model: Path, tmp_path: Path) -> None:
    place = tmp_path / "new.tsv"
    stopped = """
from stablerule.reasoning.completing import Completion
def of(self, relation, **_):
    raise KeyboardInterrupt
Completion.of = of
"""
    command = program("complete", model, "-o", place, before=stopped)
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 130
    assert ended.stderr.count("Interrupted") == 1
    assert "new.tsv.partial. Continue with --resume." in ended.stderr.replace("\n", "")


def test_resuming_something_else_is_refused(
    model: Path, calibrated: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "new.tsv"
    with monkeypatch.context() as patch:
        kill_after(patch, 1)
        run("complete", model, "-o", place, "--per-query", "4")
    again = ("complete", model, "-o", place, "--resume")
    assert "another per-query (then 4, now 10)" in fails(*again)
    assert "another relation" in fails(*again, "--per-query", "4", "--relation", "sibling_of")
    assert "another model" in fails("complete", calibrated, "-o", place, "--resume", "--graph", str(data))
    identity = tmp_path / "new.tsv.partial" / "completion.json"
    for text in ("{", "[" * 100_000, "[]"):
        identity.write_text(text)
        assert "completion.json: damaged (" in fails(*again, "--per-query", "4")
    works("complete", model, "-o", place, "--overwrite")
    assert os.listdir(tmp_path) == ["new.tsv"]


def test_nothing_to_resume(model: Path, tmp_path: Path) -> None:
    place = tmp_path / "new.tsv"
    assert "starting from the beginning" in works("complete", model, "-o", place, "--resume").stderr
    assert "There is nothing to resume" in fails("complete", model, "-o", place, "--resume")


def test_a_damaged_part_is_told(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "new.tsv"
    with monkeypatch.context() as patch:
        kill_after(patch, 2)
        run("complete", model, "-o", place)
    (tmp_path / "new.tsv.partial" / "000001.parquet").write_bytes(b"half")
    message = fails("complete", model, "-o", place, "--resume")
    assert "000001.parquet: damaged (it is not a table). Remove it, and continue with --resume" in message
    assert not place.exists()


def test_an_interrupted_write_leaves_what_was_there(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "new.tsv"
    place.write_text("old")
    with monkeypatch.context() as patch:

        def breaks(self: CompletionParts, relation: int) -> pl.DataFrame:
            raise KeyboardInterrupt

        patch.setattr(CompletionParts, "read", breaks)
        assert run("complete", model, "-o", place, "--overwrite").exit_code != 0
    assert place.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["new.tsv", "new.tsv.partial"]
    works("complete", model, "-o", place, "--resume")
    assert place.read_text() != "old"


def test_what_makes_no_sense_is_refused(model: Path, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "new.tsv"
    ask = ("complete", model, "-o", place)
    assert "Closest: 'sibling_of'" in fails(*ask, "--relation", "sibling_off")
    assert "Pass 'sibling_of'" in fails(*ask, "--relation", "~sibling_of")
    assert "--threshold must be" in fails(*ask, "--threshold", "-1")
    assert "--threshold must be" in fails(*ask, "--threshold", "nan")
    assert "--threshold must be at most 1" in fails(*ask, "--threshold", "1.5")
    assert "--top must be a whole number" in fails(*ask, "--top", "0")
    assert "--per-relation must be" in fails(*ask, "--per-relation", "-3")
    assert "--domain must be" in fails(*ask, "--domain", "everything")
    assert "--top must be a whole number" in fails(*ask, "--top", "some")
    assert "--missing must be a share between 0 and 1" in fails(*ask, "--missing", "1.5")
    assert "-o must end in one of" in fails("complete", model, "-o", tmp_path / "new.xlsx")
    assert "-o must end in one of" in fails("complete", model, "-o", tmp_path / "new.parquet.gz")
    assert "--base must be an IRI" in fails("complete", model, "-o", tmp_path / "new.nt", "--base", "no iri")
    assert "Make it first" in fails("complete", model, "-o", tmp_path / "no" / "new.tsv")
    assert "no such folder" in fails("complete", tmp_path / "nowhere", "-o", place)
    assert "not a model: the folder has no model.json" in fails("complete", data, "-o", place)
    assert os.listdir(tmp_path) == []
    place.write_text("mine")
    assert "already exists. Choose another file, or replace it with --overwrite." in fails(*ask)
    assert place.read_text() == "mine"
    (tmp_path / "other.tsv.partial").mkdir()
    (tmp_path / "other.tsv.partial" / "thesis.doc").write_text("mine")
    assert "it contains other files" in fails("complete", model, "-o", tmp_path / "other.tsv", "--overwrite")
    assert (tmp_path / "other.tsv.partial" / "thesis.doc").exists()


def odd_model(folder: Path) -> Path:
    """Names with what formats stumble over."""
    people = [f"p\t{i}" for i in range(9)]
    train = [(p, "lives in", '"Köln"@de') for p in people] + [(p, "speaks", "<de>") for p in people[:6]]
    train += [("_:b1", "lives in", '"Köln"@de'), ("_:b1", "speaks", "http://x.org/a b")]
    dataset = Dataset.from_names("odd", train=train)
    dataset_folder = folder / "odd"
    write_dataset(dataset, dataset_folder, suffix=".parquet")
    model = Tabular(walks=500, mining=Mining(constant_support=1)).fit(read_dataset(dataset_folder).graph)
    model.save(folder / "odd-model", source=str(dataset_folder))
    return folder / "odd-model"


def test_names_that_formats_stumble_over(tmp_path: Path) -> None:
    model = odd_model(tmp_path)
    assert "contains a tab or a line break, which TSV does not allow" in fails(
        "complete", model, "-o", tmp_path / "new.tsv"
    )
    ask = ("complete", model, "--domain", "all", "--candidates", "all")
    works(*ask, "-o", tmp_path / "new.jsonl")
    result = works(*ask, "-o", tmp_path / "new.nt")
    heads = [json.loads(line)["head"] for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    literals = sum(head.startswith('"') for head in heads)
    lines = (tmp_path / "new.nt").read_text().splitlines()
    assert len(lines) == len(heads) - literals > 0
    if literals:
        assert f"skipped {literals} fact" in result.stderr
    assert any("<urn:stablerule:p%09" in line for line in lines)
    assert any("<urn:stablerule:%3Cde%3E>" in line for line in lines)


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
iris = st.builds(
    "".join,
    st.tuples(st.sampled_from(["http:", "urn:x:", "a:", "http://x", "x:/"]), st.text("/ab:#?%4@[é ]<", max_size=8)),
)


@given(names | iris | st.sampled_from(['"a"', '"a"@en', '"', "_:b", "_:", '"1"^^<http://x/y>', '"\\']))
def test_whatever_a_name_is_the_line_is_valid(name: str) -> None:
    ox = pytest.importorskip("pyoxigraph")
    none = IriShortening({})
    line = f"<x:h> {spell_output_iri(name, none, BASE)} {spell_output_cell(name, none, BASE)} ."
    (triple,) = ox.parse(line.encode(), format=ox.RdfFormat.N_TRIPLES)
    assert triple.predicate.value == name or triple.predicate.value.startswith(BASE)
    assert line.count("\n") == 0


@given(names, names)
def test_different_names_stay_different(one: str, other: str) -> None:
    none = IriShortening({})
    assert (spell_output_cell(one, none, BASE) == spell_output_cell(other, none, BASE)) == (one == other)
