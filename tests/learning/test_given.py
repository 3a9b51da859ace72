"""Rules from a file, such as other tools write, weighed and asked like learned ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablerule import Dataset, load_model, write_dataset
from stablerule.errors import InputError, OptionError, ReadError
from stablerule.learning import GivenRules
from tests.terminal import fails, run

COUNTRIES = {"France": "Europe", "Spain": "Europe", "Japan": "Asia", "China": "Asia"}
CITIES = {f"{country.lower()}_{i}": country for country in COUNTRIES for i in range(6)}
FACTS = [(city, "city_in", country) for city, country in CITIES.items()]
FACTS += [(country, "in_continent", continent) for country, continent in COUNTRIES.items()]
FACTS += [(city, "in_continent", COUNTRIES[country]) for city, country in CITIES.items() if not city.endswith("0")]
DATASET = Dataset.from_names("world", train=FACTS)
# As AnyBURL writes them: predictions of the body, right ones, their share, the rule. Here it is right / (all + 5).
ANYBURL = """24\t20\t0.83\tin_continent(X,Y) <= city_in(X,A), in_continent(A,Y)
6\t5\t0.8\tin_continent(X,Europe) <= city_in(X,France)
40\t11\t0.2\tin_continent(X,Asia) <= city_in(X,A)
9\t9\t0.9\tborn_in(X,Y) <= city_in(X,Y)
"""


def written(folder: Path, text: str, name: str = "rules.txt") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_rules_of_anyburl_answer_explain_and_complete(tmp_path: Path) -> None:
    model = GivenRules(file=written(tmp_path, ANYBURL), aggregation="max_plus").fit(DATASET.graph)
    assert len(model.rules) == 4
    assert sorted(rule.confidence or 0 for rule in model.rules) == pytest.approx([11 / 45, 5 / 11, 9 / 14, 20 / 29])
    ((*answers,),) = model.answer([("france_0", "in_continent")])
    assert [a.entity for a in answers] == ["Europe", "Asia"]
    assert [a.score for a in answers] == pytest.approx([20 / 29, 11 / 45])
    reasons = model.explain(("france_0", "in_continent", "Europe"))
    assert [(str(r.rule.rule), r.facts[0]) for r in reasons] == [
        (
            "in_continent(X, Y) <- city_in(X, A), in_continent(A, Y)",
            (("france_0", "city_in", "France"), ("France", "in_continent", "Europe")),
        ),
        ("in_continent(X, 'Europe') <- city_in(X, 'France')", (("france_0", "city_in", "France"),)),
    ]
    assert model.explain(("japan_0", "in_continent", "Asia"))[-1].rule.rule.constants == ("Asia", None)
    new = {(f.head, f.tail) for f in model.complete(relations=["in_continent"], domain="all", per_query=1)}
    assert {(f"{country.lower()}_0", continent) for country, continent in COUNTRIES.items()} <= new
    # Written for in_continent, and read backwards for its inverse.
    ((best, *_),) = model.answer([("Europe", "~in_continent")], known=DATASET.graph)
    assert best.entity in ("france_0", "spain_0")
    model.save(tmp_path / "kept")
    assert load_model(tmp_path / "kept").rules == model.rules


def test_chains_without_numbers_are_measured(tmp_path: Path) -> None:
    text = "in_continent(X, Y) <- city_in(X, A), in_continent(A, Y)\nin_continent(X, Y) <- unheard_of(X, Y)\n"
    model = GivenRules(file=written(tmp_path, text)).fit(DATASET.graph)
    found = {rule.rule.body: rule for rule in model.rules}
    chain = found["city_in", "in_continent"]
    assert (chain.support, chain.body_count) == (20, 24)
    assert chain.confidence == pytest.approx(20 / 29)
    assert found["unheard_of",].confidence is None


def test_what_can_not_be_taken(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="needs a file of rules"):
        GivenRules().fit(DATASET.graph)
    with pytest.raises(ReadError, match="no such file"):
        GivenRules(file=str(tmp_path / "none.txt")).fit(DATASET.graph)
    foreign = written(tmp_path, "born_in(X, Y) <- city_in(X, Y)\n", "foreign.txt")
    with pytest.raises(InputError, match="none of its 1 rules is for a relation of 'world', such as 'city_in'"):
        GivenRules(file=foreign).fit(DATASET.graph)
    bare = written(tmp_path, "in_continent(X, 'Asia') <- city_in(X, 'Japan')\n", "bare.txt")
    with pytest.raises(InputError, match="need a confidence, which this one lacks: in_continent"):
        GivenRules(file=bare).fit(DATASET.graph)


def test_on_the_command_line(tmp_path: Path) -> None:
    write_dataset(DATASET, tmp_path / "world")
    rules = written(tmp_path, ANYBURL)
    learned = run("learn", tmp_path / "world", "-o", tmp_path / "m", "--method", "given", "--set", f"file={rules}")
    assert learned.exit_code == 0, learned.output
    asked = run("ask", tmp_path / "m", "france_0", "in_continent", "--top", "1")
    assert asked.stdout.splitlines()[-1].split()[-1] == "Europe"
    message = fails("learn", tmp_path / "world", "-o", tmp_path / "n", "--method", "given", "--max-length", "2")
    assert "GivenRules has no option 'max_length'" in message
