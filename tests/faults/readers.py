"""Every reader of files, each with a file that it reads, to be damaged."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from stablerule import Dataset, Rule, RuleSet, load, read_dataset, write_dataset, write_triples
from stablerule.cli.complete_files import IDENTITY, CompletionParts
from stablerule.cli.queries import read_queries
from stablerule.datasets import households
from stablerule.errors import StableRuleError
from stablerule.io import find_split_files
from stablerule.rules import read_rules, write_rules
from stablerule.rules.formats import FormatName
from stablerule.shifts import read_query_set
from stablerule.shifts.labels import read_labels
from stablerule.shifts.splits import check_split_place, read_examples, split_train_side
from tests.faults.mutations import damage_bytes, damage_json

WORLD = households(families=2, seed=0).dataset
COMPRESSED = (".tsv.gz", ".tsv.xz", ".tsv.zst", ".csv.bz2", ".nt.gz")


@dataclass(frozen=True)
class Reader:
    """file: what is damaged. read: what looks at it, as a command would. damages: ways to damage it."""

    name: str
    file: Path
    read: Callable[[], object]
    damages: tuple[Callable[..., bytes], ...] = (damage_bytes,)


def make_readers(folder: Path) -> list[Reader]:
    """Write a file for every reader; `folder` must be empty."""
    return [
        *_make_graph_readers(folder),
        *_make_rule_readers(folder),
        *_make_query_readers(folder),
        *_make_split_readers(folder),
        *_make_partial_readers(folder),
        _make_archive_reader(folder),
    ]


def _make_graph_readers(folder: Path) -> list[Reader]:
    frame = WORLD.frame("train").head(60)
    more = frame.with_columns(weight=pl.lit(0.5), time=pl.lit("2001"), source=pl.lit("me"))
    made = []
    for suffix in (".tsv", ".csv", ".parquet", *COMPRESSED, ".nt", ".ttl", ".nq"):
        path = folder / f"facts{suffix}"
        rich = ".n" not in suffix and ".ttl" not in suffix
        write_triples(more if rich else frame, path, base="urn:x:")
        made.append(Reader(f"facts{suffix}", path, partial(_read_and_look, path)))
    quoted = folder / "quoted.csv"
    quoted.write_text('head,relation,tail\n"a ""b"", c",r,"x\ny"\n# comment\n"d",s,"e"\n' * 3)
    made.append(Reader("quoted.csv", quoted, lambda: _look_at(read_dataset(quoted))))
    turtle = folder / "rich.ttl"
    turtle.write_text(
        '@prefix : <http://x/> .\n@base <http://y/> .\n:a :r :b , [ :s :c ; :t "lit"@en ] ; :u ( :d 1.5 true ) .\n'
        '<é> :r """long\n"""^^:type .\n_:b :r :a .\n'
    )
    made.append(Reader("rich.ttl", turtle, lambda: _look_at(read_dataset(turtle, literals="keep"))))
    latin = folder / "latin.tsv"
    latin.write_bytes("Köln\tin\tDeutschland\n".encode("latin-1") * 5)
    made.append(Reader("utf-16 and others", latin, lambda: _read_in_encodings(latin)))
    return made


def _read_in_encodings(path: Path) -> None:
    for encoding in ("latin-1", "utf-16", "utf-7", "shift_jis"):
        with suppress(StableRuleError):
            _look_at(read_dataset(path, encoding=encoding))


def _read_and_look(path: Path) -> None:
    _look_at(read_dataset(path))


def _read_manifest(folder: Path) -> None:
    check_split_place(folder, overwrite=True)
    find_split_files(folder)


def _look_at(dataset: Dataset) -> None:
    """Use what was read: a graph is made of it, and its names are looked up."""
    graph = dataset.graph
    for name in dataset.vocabulary.entities.table.to_list()[:3]:
        graph.vocabulary.entity_id(name)
    assert dataset.frame("train").height == len(dataset.train)
    assert len(dataset.sha256) == 64


def _make_rule_readers(folder: Path) -> list[Reader]:
    rules = RuleSet.from_frame(
        pl.DataFrame(
            {
                "head_relation": ["r", "~s", "r", "s"],
                "body": [["s", "~t"], ["r"], ["t"], ["s"]],
                "constant": [None, None, "New York", "c"],
                "body_constant": [None, None, "d", None],
                "confidence": [0.5, 0.25, 0.9, 0.1],
                "support": [10.0, 3.0, 9.0, 1.0],
                "body_count": [20.0, 12.0, 10.0, 10.0],
            },
            schema_overrides={"body": pl.List(pl.String)},
        )
    )
    names: tuple[FormatName, ...] = get_args(FormatName)
    made = []
    for name in names:
        path = folder / f"rules.{name}{'.xz' if name == 'text' else ''}"
        some = rules if name != "amie" else RuleSet([Rule("r", ("s", "~t")), Rule("s", ("r",))])
        write_rules(some, path, format=name)
        damages = (damage_bytes, damage_json) if name == "json" else (damage_bytes,)
        ways: tuple[FormatName | None, ...] = (None, name)
        for how in ways:
            read = partial(read_rules, path, how)
            made.append(Reader(f"rules {name}" + (" by its content" if how is None else ""), path, read, damages))
    return made


def _make_query_readers(folder: Path) -> list[Reader]:
    rows = WORLD.frame("test").head(10).select("head", "relation", "tail").rows()
    lines = [f"{h}\t{r}\t?\n?\t{r}\t{t}\n{h}\t{r}\t{t}\n" for h, r, t in rows]
    queries, labels, facts = folder / "queries.tsv", folder / "labels.tsv", folder / "fact-labels.tsv"
    queries.write_text("# head relation tail\n" + "".join(lines))
    labels.write_text("".join(f"{h}\told\n" for h, _, _ in dict.fromkeys(rows)))
    facts.write_text("".join(f"{h}\t{r}\t{t}\told\n" for h, r, t in rows))
    return [
        Reader("queries of ask", queries, lambda: list(read_queries(queries, WORLD.vocabulary))),
        Reader("queries of shift", queries, lambda: read_query_set(queries, WORLD.graph)),
        Reader("labels", labels, lambda: read_labels(labels)),
        Reader("labels of facts", facts, lambda: read_labels(facts)),
    ]


def _make_split_readers(folder: Path) -> list[Reader]:
    groups = [i % 2 for i in range(len(WORLD.train))]
    split_train_side(WORLD, groups, bias=0.8).save(folder / "split")
    write_dataset(WORLD, folder / "data")
    manifest, examples = folder / "split" / "manifest.json", folder / "split" / "examples.tsv"
    data = folder / "data" / "valid.tsv"
    return [
        Reader(
            "manifest of a split",
            manifest,
            partial(_read_manifest, folder / "split"),
            (damage_bytes, damage_json),
        ),
        Reader("examples of a split", examples, lambda: read_examples(folder / "split", WORLD)),
        Reader("a folder of splits", data, lambda: _look_at(read_dataset(folder / "data"))),
    ]


def _make_partial_readers(folder: Path) -> list[Reader]:
    """What a run of `complete` that was killed has left."""
    parts = CompletionParts(folder / "new.tsv")
    identity: Mapping[str, Any] = {"model": "x", "data": "y", "relation": ["r"], "top": 5}
    parts.begin(dict(identity), resume=False)
    parts.add(0, pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["b"], "score": [0.5]}))
    place = parts.folder / IDENTITY
    assert json.loads(place.read_text()) == identity
    return [
        Reader("identity of a completion", place, lambda: parts.begin(dict(identity), resume=True), (damage_json,)),
        Reader("part of a completion", parts.folder / "000000.parquet", lambda: parts.read(0)),
    ]


def _make_archive_reader(folder: Path) -> Reader:
    place = folder / "catalog"
    place.mkdir()
    archive = place / "family.tar.xz"
    with tarfile.open(archive, "w:xz") as out:
        for split in ("train", "valid", "test"):
            text = folder / "data" / "test.tsv"
            out.add(text, f"family/{split}.txt")

    def read() -> Dataset:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STABLERULE_DATA", str(place))
            return load("family")

    return Reader("archive of a catalog", archive, read)
