"""`stablerule ask` as a user types it."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

from stablerule import Dataset, load_model, read_dataset, write_dataset
from stablerule.errors import ReadError
from stablerule.reasoning.calibration import Calibration
from stablerule.reasoning.curves import Curve
from stablerule.reasoning.reasoner import RuleReasoner
from tests.terminal import fails, program, run

COUNTRIES = {"France": "Europe", "Spain": "Europe", "Japan": "Asia", "China": "Asia", "Kenya": "Africa"}
CITIES = {f"{country} {i}": country for country in COUNTRIES for i in range(8)}


def world() -> Dataset:
    facts = [(city, "city_in", country) for city, country in CITIES.items()]
    facts += [(country, "in_continent", continent) for country, continent in COUNTRIES.items()]
    located = [(city, "in_continent", COUNTRIES[country]) for city, country in CITIES.items()]
    return Dataset.from_names("world", train=[*facts, *located[:-8], *located[-6:]], test=located[-8:-6])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "world"
    write_dataset(world(), folder)
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    words = ["--method", "tabular", "--max-length", "2", "--set", "walks=20000", "--set", "aggregation=max_plus"]
    result = run("learn", data, "-o", folder, *words)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.tsv"
    path.write_text("Kenya 0\tin_continent\t?\n\n?\tcity_in\tFrance\r\nKenya 1\tin_continent\tAfrica\n")
    return path


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def test_a_table_for_people(model: Path) -> None:
    result = run("ask", model, "Kenya 0", "in_continent")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    header, first, *_ = result.stdout.splitlines()
    assert header.split() == ["rank", "score", "known", "answer"]
    assert first.split()[0] == "1"
    assert first.split()[2:] == ["test", "Africa"]


def test_answers_are_those_of_the_model(model: Path, data: Path) -> None:
    found = json.loads(run("ask", model, "France 0", "in_continent", "--json", "--top", "3").stdout)
    graph = read_dataset(data).graph
    (expected,) = load_model(model).answer([("France 0", "in_continent")], k=3, graph=graph)
    assert [(row["entity"], row["score"]) for row in found["answers"]] == [(a.entity, a.score) for a in expected]
    assert [row["rank"] for row in found["answers"]] == list(range(1, len(expected) + 1))
    assert found["answers"][0] | {"score": 0} == {
        "rank": 1,
        "entity": "Europe",
        "score": 0,
        "probability": None,
        "known": True,
        "split": "train",
    }


def test_reasons_below_the_answers(model: Path) -> None:
    result = run("ask", model, "Kenya 0", "in_continent", "--top", "1", "--explain")
    _, answer, rule, facts = result.stdout.splitlines()
    assert answer.endswith("Africa")
    assert "in_continent(X, " in rule
    assert "city_in('Kenya 0', 'Kenya')" in facts
    (row,) = json.loads(run("ask", model, "Kenya 0", "in_continent", "--top", "1", "--explain", "--json").stdout)[
        "answers"
    ]
    assert ["Kenya 0", "city_in", "Kenya"] in row["explanation"]["groundings"][0]["facts"]


def test_no_reason_for_next_to_nothing(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[str | Path] = ["ask", model, "Africa", "in_continent", "--inverse", "--top", "30", "--explain"]
    shown = run(*words).stdout.splitlines()
    assert len(shown) > 31  # with reasons
    monkeypatch.setattr("stablerule.cli.ask.LEAST_SHARE", 2.0)
    result = run(*words)
    rows = [line.split() for line in result.stdout.splitlines() if line[:4].strip().isdigit()]
    without = [row for row in rows if not {"train", "valid", "test"} & set(row)]
    assert without
    assert f"no reason shown for {len(without)} answers below 200% of the best score" in result.stderr
    assert len(result.stdout.splitlines()) == 1 + len(rows) + 2 * (len(rows) - len(without))


def test_a_column_for_the_probability_only_where_there_is_one(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run("ask", model, "Africa", "in_continent", "--inverse", "--new")  # the model is too small to be calibrated
    assert plain.stdout.splitlines()[0].split() == ["rank", "score", "known", "answer"]
    curves = Calibration((Curve((0.0,), (0.25,), (10**6,)),), {"~in_continent": (0, 0, 0, 0)}, facts=83, left_out=83)
    monkeypatch.setattr(RuleReasoner, "calibration_for", lambda *_: curves)
    new = run("ask", model, "Africa", "in_continent", "--inverse", "--top", "30", "--new")
    assert new.stdout.splitlines()[0].split() == ["rank", "score", "probability", "known", "answer"]
    assert " 26%  " in new.stdout  # there are more facts now than were left out to calibrate
    (tmp_path / "queries.tsv").write_text("?\tin_continent\tAfrica\n")
    rows = table(run("ask", model, "--queries", tmp_path / "queries.tsv", "--top", "30").stdout)
    assert {(row["known"], row["probability"][:4]) for row in rows} == {("yes", ""), ("no", "0.26")}
    known = run("ask", model, "Kenya 0", "in_continent", "--top", "1")  # it is in train
    assert known.stdout.splitlines()[0].split() == ["rank", "score", "known", "answer"]


def test_from_the_other_end_and_without_known_facts(model: Path) -> None:
    words: list[str | Path] = ["ask", model, "Africa", "in_continent", "--inverse", "--json", "--top", "20"]
    found = json.loads(run(*words).stdout)
    assert found["relation"] == "~in_continent"
    entities = {row["entity"]: row["known"] for row in found["answers"]}
    assert entities["Kenya 0"]
    assert entities["Kenya 5"]
    fresh = json.loads(run(*words, "--new").stdout)
    assert not any(row["known"] for row in fresh["answers"])
    assert not {row["entity"] for row in fresh["answers"]} & {one for one, known in entities.items() if known}
    same = json.loads(run("ask", model, "Africa", "~in_continent", "--json", "--top", "20").stdout)
    assert same == found
    back = run("ask", model, "Kenya 0", "~in_continent", "--inverse", "--json", "--top", "1")
    assert json.loads(back.stdout)["relation"] == "in_continent"


def test_only_entities_of_the_range(model: Path) -> None:
    words: list[str | Path] = ["ask", model, "France", "city_in", "--inverse", "--json", "--top", "60"]
    everyone, in_range = (json.loads(run(*words, *more).stdout)["answers"] for more in ([], ["--candidates", "range"]))
    assert {row["entity"] for row in in_range} <= {row["entity"] for row in everyone} & set(CITIES)


def test_no_answer_is_said(model: Path) -> None:
    result = run("ask", model, "Africa", "city_in")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "No answer: no rule for 'city_in' fires at 'Africa'" in result.stderr
    assert json.loads(run("ask", model, "Africa", "city_in", "--json").stdout)["answers"] == []


def test_a_relation_without_a_rule_is_said(model: Path, tmp_path: Path) -> None:
    write_dataset(Dataset.from_names("other", train=[("Sam", "likes", "Rosie")]), tmp_path / "other")
    result = run("ask", model, "Rosie", "likes", "--graph", tmp_path / "other")
    assert "No answer: the model has no rules for 'likes'." in result.stderr


def test_a_file_of_queries(model: Path, queries: Path, tmp_path: Path) -> None:
    result = run("ask", model, "--queries", queries, "--top", "2")
    assert result.exit_code == 0, result.output
    rows = table(result.stdout)
    assert list(rows[0]) == ["head", "relation", "tail", "rank", "score", "known", "asked"]
    assert rows[0] | {"score": ""} == {
        "head": "Kenya 0",
        "relation": "in_continent",
        "tail": "Africa",
        "rank": "1",
        "score": "",
        "known": "yes",
        "asked": "tail",
    }
    (head, *_) = (row for row in rows if row["asked"] == "head")
    assert (head["relation"], head["tail"], head["rank"]) == ("city_in", "France", "1")
    assert {row["rank"] for row in rows} <= {"1", "2"}
    out = tmp_path / "answers.tsv"
    written = run("ask", model, "--queries", queries, "--top", "2", "-o", out)
    assert written.stdout == ""
    assert "Answered 3 queries" in written.stderr
    assert out.read_text() == result.stdout
    run("ask", model, "--queries", queries, "--top", "2", "-o", tmp_path / "answers.tsv.gz")
    assert gzip.decompress((tmp_path / "answers.tsv.gz").read_bytes()).decode() == result.stdout


def test_a_file_of_answers_is_only_replaced_on_request(model: Path, queries: Path, tmp_path: Path) -> None:
    ask = ("ask", model, "--queries", queries, "-o", tmp_path / "answers")  # no ending is fine
    assert run(*ask).exit_code == 0
    (tmp_path / "answers").write_text("mine")
    assert "already exists. Choose another file, or replace it with --overwrite." in fails(*ask)
    assert (tmp_path / "answers").read_text() == "mine"
    assert run(*ask, "--overwrite").exit_code == 0
    assert (tmp_path / "answers").read_text().startswith("head\trelation\ttail\t")


def test_new_answers_to_a_file_leave_out_the_one_in_it(model: Path, tmp_path: Path) -> None:
    # That city 2 lies in Asia is nowhere in the data, but in the file.
    path = tmp_path / "queries.tsv"
    path.write_text("Kenya 2\tin_continent\tAsia\n")
    rows = table(run("ask", model, "--queries", path, "--top", "5").stdout)
    assert {row["tail"] for row in rows if row["known"] == "yes"} >= {"Africa"}
    assert all(row["known"] == "yes" for row in rows if row["tail"] == "Asia")
    fresh = table(run("ask", model, "--queries", path, "--top", "5", "--new").stdout)
    assert not {"Asia", "Africa"} & {row["tail"] for row in fresh}


def test_queries_without_an_answer_are_counted(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text("Africa\tcity_in\t?\nFrance 0\tin_continent\t?\n")
    result = run("ask", model, "--queries", path)
    assert "1 of 2 queries have no answer" in result.stderr
    assert {row["head"] for row in table(result.stdout)} == {"France 0"}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (b"", None, "no queries. Expected head, relation and tail"),
        (b"\n\n", None, "no queries. Expected head, relation and tail"),
        (b"France 0\tin_continent\t?\nFrance 0\tin_continent\n", 2, "found 2 column(s)"),
        (b"a\tb\tc\td\n", 1, "found 4 column(s)"),
        (b"France 0\t\t?\n", 1, "Expected head, relation and tail"),
        (b"?\tin_continent\t?\n", 1, "Expected head, relation and tail"),
        (b"France 0\t?\tEurope\n", 1, "Expected head, relation and tail"),
        (b"Frnce\tin_continent\t?\n", 1, "No entity 'Frnce' among 48 entities. Closest: 'France'"),
        (b"?\tin_continent\tEurop\n", 1, "Closest: 'Europe'"),
        (b"France 0\tin_continentt\t?\n", 1, "Closest: 'in_continent'"),
        (b"\n\xff\tin_continent\t?\n", 2, "not UTF-8"),
    ],
)
def test_bad_lines_are_named(model: Path, tmp_path: Path, text: bytes, line: int | None, what: str) -> None:
    path, out = tmp_path / "queries.tsv", tmp_path / "out.tsv"
    path.write_bytes(text)
    result = run("ask", model, "--queries", path, "-o", out)
    assert isinstance(result.exception, ReadError)
    assert what in str(result.exception)
    assert result.exception.line == line
    assert os.listdir(tmp_path) == ["queries.tsv"]


def test_comments_in_a_file_of_queries(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text("# head, relation, tail\nFrance 0\tin_continent\t?\n#France 1\tin_continent\t?\n")
    assert {row["head"] for row in table(run("ask", model, "--queries", path).stdout)} == {"France 0"}
    data = tmp_path / "odd.csv"  # where an entity begins so, it is asked about
    data.write_text('head,relation,tail\n"#1",city_in,France\nFrance,in_continent,Europe\n')
    path.write_text("# odd\n#1\tin_continent\t?\n")
    rows = table(run("ask", model, "--queries", path, "--graph", data).stdout)
    assert {row["head"] for row in rows} == {"#1"}


@pytest.mark.slow
def test_queries_from_standard_input(model: Path) -> None:
    command = program("ask", model, "--queries", "-", "--top", "1")

    def ask(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, input=text, text=True, capture_output=True, check=False)

    assert [row["tail"] for row in table(ask("France 0\tin_continent\t?\n").stdout)] == ["Europe"]
    wrong = ask("France 0\tin_continent\t?\nFrance 0\n")
    assert wrong.returncode == 2
    assert "standard input, line 2: found 1 column(s)" in wrong.stderr


def test_a_byte_order_mark_is_no_part_of_a_name(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_bytes(b"\xef\xbb\xbfFrance 0\tin_continent\t?\n")
    assert table(run("ask", model, "--queries", path).stdout)[0]["head"] == "France 0"


def test_what_makes_no_sense_is_refused(model: Path, queries: Path, tmp_path: Path) -> None:
    assert "--top must be at least 1, got 0" in fails("ask", model, "France 0", "in_continent", "--top", "0")
    assert "--candidates must be one of all, range" in fails("ask", model, "France", "city_in", "--candidates", "x")
    assert "Closest: 'France'" in fails("ask", model, "Frnce", "in_continent")
    assert "Closest: 'in_continent'" in fails("ask", model, "France", "in_continnt")
    assert "No query. Pass HEAD and RELATION" in fails("ask", model)
    assert "No query. Pass HEAD and RELATION" in fails("ask", model, "France")
    assert "-o and --overwrite need --queries" in fails("ask", model, "France", "city_in", "-o", tmp_path / "out.tsv")
    assert "Leave HEAD out" in fails("ask", model, "France", "--queries", queries)
    assert "Leave --json out" in fails("ask", model, "--queries", queries, "--json")
    assert "no such file" in fails("ask", model, "--queries", tmp_path / "none.tsv")
    assert "does not exist. Make it first" in fails("ask", model, "--queries", queries, "-o", tmp_path / "no" / "o.tsv")
    assert "-o must be a file" in fails("ask", model, "--queries", queries, "-o", "")
    for name in ("answers.parquet", "answers.csv.gz"):
        assert "must end in .tsv or .txt" in fails("ask", model, "--queries", queries, "-o", tmp_path / name)
    assert "no such folder" in fails("ask", tmp_path / "nowhere", "France", "city_in")


def test_names_that_a_table_with_tabs_can_not_hold(model: Path, tmp_path: Path) -> None:
    data = tmp_path / "odd.csv"
    data.write_text('head,relation,tail\n"Lyon",city_in,"Fra\tnce"\n"Fra\tnce",in_continent,"Eu\trope"\n')
    path = tmp_path / "queries.tsv"
    path.write_text("Lyon\tin_continent\t?\n")
    result = run("ask", model, "--queries", path, "--graph", data, "-o", tmp_path / "out.tsv")
    assert "contains a tab or a line break" in str(result.exception)
    assert not (tmp_path / "out.tsv").exists()


def test_another_graph_is_asked_and_noted(model: Path, tmp_path: Path) -> None:
    facts = [("Minas Tirith", "city_in", "Gondor"), ("Gondor", "in_continent", "Middle-earth")]
    write_dataset(Dataset.from_names("other", train=facts), tmp_path / "other")
    result = run("ask", model, "Minas Tirith", "in_continent", "--graph", tmp_path / "other")
    assert result.stdout.splitlines()[1].endswith("Middle-earth")
    assert (
        "trained on 'world' (83 facts), and now answers from the training facts of 'other' (2 facts)" in result.stderr
    )


def test_a_model_is_whole_and_another_file_is_read_as_its_own_was(tmp_path: Path) -> None:
    """Its data may move or change. Separator, columns and split are kept with the model."""
    lines = [f"{tail};{relation};{head}" for head, relation, tail in world().frame("train").rows()]
    path, folder = tmp_path / "facts.csv", tmp_path / "m"
    path.write_text("\n".join(lines) + "\n")
    how = ("--separator", ";", "--columns", "2,1,0", "--no-header", "--shares", "0.8,0.1,0.1")
    learned = run("learn", path, "-o", folder, "--method", "tabular", "--set", "walks=5000", *how)
    assert learned.exit_code == 0, learned.output
    question = ("ask", folder, "Kenya", "in_continent")
    first = run(*question)
    assert (first.exit_code, first.stderr) == (0, "")
    path.rename(tmp_path / "moved.csv")
    path.write_text("nonsense")
    changed = run(*question)
    assert (changed.stdout, changed.stderr) == (first.stdout, "")
    moved = run(*question, "--graph", tmp_path / "moved.csv")
    assert (moved.stdout, moved.stderr) == (first.stdout, "")  # the same file, cut in the same way
    (tmp_path / "more.csv").write_text("\n".join([*lines, "Europe;in_continent;Atlantis"]) + "\n")
    more = run("ask", folder, "Atlantis", "in_continent", "--graph", tmp_path / "more.csv")
    assert more.exit_code == 0
    assert f"{len(lines) + 1} facts" in more.stderr  # another file: all of it


def test_a_model_without_a_graph_opens_no_path_that_it_names(model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")  # whoever opened it would wait
    saved = load_model(model)
    saved.save(tmp_path / "bare", graph=False, source=str(tmp_path / "fifo"))
    message = fails("ask", tmp_path / "bare", "France", "in_continent")
    assert f"saved without its graph ('world', 83 facts, from '{tmp_path / 'fifo'}')" in message
    assert "Pass --graph with a known graph, a folder or a file." in message
    assert "no such file or folder" in fails("ask", model, "France", "in_continent", "--graph", tmp_path / "none")


def test_learn_leaves_the_graph_out_on_request(tmp_path: Path) -> None:
    write_dataset(world(), tmp_path / "world")
    learned = run("learn", tmp_path / "world", "-o", tmp_path / "m", "--method", "popularity", "--no-graph")
    assert learned.exit_code == 0, learned.output
    assert "saved without its graph" in fails("ask", tmp_path / "m", "France", "in_continent")
    asked = run("ask", tmp_path / "m", "Kenya", "in_continent", "--graph", tmp_path / "world")
    assert (asked.exit_code, asked.stderr) == (0, "")
