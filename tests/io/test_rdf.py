"""RDF in and out."""

from __future__ import annotations

import builtins
import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import read_dataset, write_dataset, write_triples
from stablerule.errors import MissingExtra, OptionError, ReadError, WriteError
from stablerule.io.rdf import BlankNodes, IriShortening

TURTLE = """@prefix ex: <http://example.org/> .
@prefix geo: <http://example.org/geo/> .
ex:Paris geo:capitalOf ex:France ; ex:label "Paris"@fr , "Paris" ; ex:people 2102650 .
_:b1 ex:near ex:Paris .
<urn:other> ex:near ex:Paris .
"""


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_turtle_is_shortened_by_its_prefixes_and_literals_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = read_dataset(write(tmp_path, "facts.ttl", TURTLE))
    assert sorted(dataset.frame("train").rows()) == [
        ("_:b1", "ex:near", "ex:Paris"),
        ("ex:Paris", "geo:capitalOf", "ex:France"),
        ("urn:other", "ex:near", "ex:Paris"),
    ]
    assert "skipped 3 facts with a literal as tail" in dataset.notes[0]
    assert dataset.notes[0] in caplog.text
    assert dataset.prefixes["ex"] == "http://example.org/"


def test_literals_can_be_kept(tmp_path: Path) -> None:
    dataset = read_dataset(write(tmp_path, "facts.ttl", TURTLE), literals="keep")
    tails = {row[2] for row in dataset.frame("train").rows()}
    assert {'"Paris"@fr', '"Paris"', '"2102650"^^<http://www.w3.org/2001/XMLSchema#integer>'} <= tails
    assert dataset.notes == ()


def test_n_triples_and_given_prefixes_and_base(tmp_path: Path) -> None:
    line = "<http://example.org/Paris> <http://v.org/in> <http://example.org/France> .\n"
    path = write(tmp_path, "facts.nt.gz", gzip.compress(line.encode()))
    full = [("http://example.org/Paris", "http://v.org/in", "http://example.org/France")]
    assert read_dataset(path).frame("train").rows() == full
    short = read_dataset(path, base="http://example.org/", prefixes={"v": "http://v.org/"})
    assert short.frame("train").rows() == [("Paris", "v:in", "France")]


def test_a_byte_order_mark_and_other_encodings(tmp_path: Path) -> None:
    line = "<x:Köln> <x:in> <x:b> .\n"
    for encoding in ("utf-8-sig", "utf-8", "latin-1", "utf-16"):
        path = write(tmp_path, "facts.nt", line.encode(encoding))
        asked = "utf-8" if encoding == "utf-8-sig" else encoding
        assert read_dataset(path, encoding=asked).frame("train").rows() == [("x:Köln", "x:in", "x:b")]


def test_relative_iris_of_turtle_need_a_base(tmp_path: Path) -> None:
    path = write(tmp_path, "facts.ttl", "<Paris> <in> <France> .\n")
    with pytest.raises(ReadError, match=r"line 1: not valid RDF.* relative IRIs. Add a line such as @base <.*base="):
        read_dataset(path)
    assert read_dataset(path, base="http://e.org/").frame("train").rows() == [("Paris", "in", "France")]
    with pytest.raises(OptionError, match="'base' must be an IRI"):
        read_dataset(path, base="not an: IRI")


NAMELESS = """@prefix ex: <http://e.org/> .
[] ex:p ex:o . ex:a ex:q [ ex:z ex:y ] , ( ex:l ex:m ) . _:b1 ex:p _:deadbeef .
"""


def test_blank_nodes_without_a_name_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path, "facts.ttl", NAMELESS)
    one, two = (read_dataset(path) for _ in range(2))
    assert one.sha256 == two.sha256
    names = {name for row in one.frame("train").rows() for name in row if name.startswith("_:")}
    assert names == {"_:anon1", "_:anon2", "_:anon3", "_:anon4", "_:b1", "_:deadbeef"}


def test_nameless_nodes_of_two_files_are_not_the_same_and_meet_no_label(tmp_path: Path) -> None:
    write(tmp_path, "train.ttl", "[] <x:p> <x:o> . _:anon1 <x:p> <x:o> .")
    write(tmp_path, "test.ttl", "[] <x:p> <x:o> .")
    dataset = read_dataset(tmp_path)
    heads = [row[0] for split in ("train", "test") for row in dataset.frame(split).rows()]
    assert heads == ["_:anon_1", "_:anon1", "_:anon_2"]


def test_a_label_is_kept_wherever_a_piece_of_the_file_ends() -> None:
    text = b"_:deadbeef <x:p> _:a1 ."
    for size in range(1, len(text) + 1):
        nodes = BlankNodes()
        assert b"".join(nodes.watch(text[i : i + size] for i in range(0, len(text), size))) == text
        assert (nodes.name("deadbeef"), nodes.name("a1")) == ("_:deadbeef", "_:a1"), size


def test_a_short_name_never_looks_like_an_inverse(tmp_path: Path) -> None:
    path = write(tmp_path, "facts.nt", "<http://e.org/a> <http://e.org/~r> <http://e.org/b> .\n")
    assert read_dataset(path, base="http://e.org/").frame("train").rows() == [("a", "http://e.org/~r", "b")]


def test_the_named_graph_of_a_quad_is_its_source(tmp_path: Path) -> None:
    path = write(tmp_path, "facts.nq", "<x:a> <x:r> <x:b> <x:atlas> .\n<x:a> <x:r> <x:c> .\n")
    frame = read_dataset(path).frame("train")
    assert frame.rows() == [("x:a", "x:r", "x:b", "x:atlas"), ("x:a", "x:r", "x:c", "default")]


@pytest.mark.parametrize("suffix", [".ttl", ".nt", ".nq", ".nq.gz"])
def test_a_round_trip_keeps_every_fact(tmp_path: Path, suffix: str) -> None:
    dataset = read_dataset(write(tmp_path, "facts.ttl", TURTLE), literals="keep")
    write_dataset(dataset, tmp_path / "out", suffix=suffix)
    again = read_dataset(tmp_path / "out", literals="keep", prefixes=dataset.prefixes)
    facts = [sorted(d.frame("train").select("head", "relation", "tail").rows()) for d in (dataset, again)]
    assert facts[0] == facts[1]


def test_plain_names_become_iris_with_a_base_and_come_back(tmp_path: Path) -> None:
    dataset = read_dataset([("Paris", "capital_of", "France"), ("Saint-Denis", "in", "France")])
    with pytest.raises(WriteError, match=r"'Paris' is not an IRI. Pass base="):
        write_triples(dataset.frame("train"), tmp_path / "facts.nt")
    assert list(tmp_path.iterdir()) == []
    write_triples(dataset.frame("train"), tmp_path / "facts.nt", base="https://example.org/")
    assert read_dataset(tmp_path / "facts.nt", base="https://example.org/").sha256 == dataset.sha256


def test_a_literal_as_head_can_not_be_written(tmp_path: Path) -> None:
    frame = pl.DataFrame([('"x"', "x:r", "x:b")], schema=["head", "relation", "tail"], orient="row")
    with pytest.raises(WriteError, match="only a tail may be a literal"):
        write_triples(frame, tmp_path / "facts.nt")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.nt", "<x:a> <x:r> <x:b> .\n<x:a> <x:r> .\n", 2),
        ("b.ttl", "@prefix ex: <http://e.org/> .\nex:a ex:r nope:b .\n", 2),
        ("c.nq", "<x:a> <x:r> <x:b> .\n<x:a> <x:r> <x:b> <x:g> <x:h> .\n", 2),
    ],
)
def test_bad_syntax_is_named_with_its_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    with pytest.raises(ReadError, match="not valid RDF") as caught:
        read_dataset(write(tmp_path, name, text))
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["", '<x:a> <x:r> "only a literal" .\n'])
def test_no_facts_between_entities(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReadError, match="no triples between entities"):
        read_dataset(write(tmp_path, "facts.nt", text))


def test_only_literals_say_so_with_their_number(tmp_path: Path) -> None:
    path = write(tmp_path, "facts.nt", '<x:a> <x:r> "1" .\n<x:a> <x:r> "2" .\n')
    with pytest.raises(ReadError, match=r"All 2 have a literal as tail; keep them with literals='keep'"):
        read_dataset(path)
    assert len(read_dataset(path, literals="keep").train) == 2


def test_truncated_and_missing(tmp_path: Path) -> None:
    text = b"".join(b"<x:a%d> <x:r> <x:b%d> .\n" % (i, i * 7919 % 1000) for i in range(5000))
    with pytest.raises(ReadError, match="damaged or truncated"):
        read_dataset(write(tmp_path, "cut.nt.gz", gzip.compress(text)[:-3000]))
    with pytest.raises(ReadError, match="no such file"):
        read_dataset(tmp_path / "none.nt")


def test_without_pyoxigraph_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pyoxigraph":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'stablerule\[rdf\]'"):
        read_dataset(write(tmp_path, "facts.nt", "<x:a> <x:r> <x:b> .\n"))


iris = st.from_regex(r"(http://e\.org/|http://e\.org/x/|urn:|ex:|x://|a:)[a-c:/%2é]{0,4}", fullmatch=True)


@given(st.lists(iris, unique=True, max_size=20))
def test_expand_undoes_shorten_so_two_names_never_become_one(names: list[str]) -> None:
    given_names = pl.Series(names, dtype=pl.String)
    prefixes = {"ex": "http://e.org/", "x": "http://e.org/x/", "": "http://e.org/x/a"}
    shortening = IriShortening(prefixes, base="urn:").without_clashes(given_names)
    short = shortening.shorten(given_names)
    assert [shortening.expand(name) for name in short] == names


def test_plain_names_with_any_character_survive_a_base(tmp_path: Path) -> None:
    odd = [("New York", "is in", "100% {USA}"), ("Köln", "a/b", 'quo"ted'), ("50%20", "<r>", "北京")]
    dataset = read_dataset(odd)
    write_triples(dataset.frame("train"), tmp_path / "facts.nt", base="https://example.org/")
    assert read_dataset(tmp_path / "facts.nt", base="https://example.org/").sha256 == dataset.sha256
