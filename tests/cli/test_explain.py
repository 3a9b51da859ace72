"""`stablerule explain` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablerule import Dataset, write_dataset
from tests.cli.test_ask import data, model
from tests.terminal import fails, run

__all__ = ["data", "model"]  # fixtures


def test_reasons_as_text(model: Path) -> None:
    result = run("explain", model, "Kenya 0", "in_continent", "Africa")
    assert result.exit_code == 0, result.output
    header, *lines = result.stdout.splitlines()
    assert header.startswith("in_continent('Kenya 0', 'Africa'): rank 1, score 0.")
    assert header.endswith("a known fact (test)")
    assert any(line.endswith("in_continent(X, Y) <- city_in(X, A), in_continent(A, Y)") for line in lines)
    assert "      city_in('Kenya 0', 'Kenya'), in_continent('Kenya', 'Africa')" in lines
    assert "Ranked above it:" not in lines


def test_few_rules_or_all(model: Path) -> None:
    one, everything = (run("explain", model, "Kenya 0", "in_continent", "Africa", "--top", n) for n in ("1", "0"))
    assert "--top 0 shows all" in one.stderr
    assert everything.stderr == ""
    assert everything.stdout.startswith(one.stdout)
    assert len(everything.stdout) > len(one.stdout)


def test_why_not_first(model: Path) -> None:
    asked = run("ask", model, "Africa", "in_continent", "--inverse", "--top", "60", "--json")
    last = json.loads(asked.stdout)["answers"][-1]
    found = json.loads(run("explain", model, "Africa", "~in_continent", last["entity"], "--json").stdout)
    assert found["reason"] == "outranked"
    best, worst = found["rank"]
    assert best <= last["rank"] <= worst
    assert found["score"] == last["score"] < found["above"][0]["score"]
    lines = run("explain", model, "Africa", "~in_continent", last["entity"]).stdout.splitlines()
    assert f"rank {best} to {worst}" in lines[0]
    above = lines[lines.index("Ranked above it:") + 1]
    assert above.startswith(f"  '{found['above'][0]['entity']}'  0.")
    assert lines[-1] == f"  and {best - 4} others"


def test_why_not_at_all(model: Path) -> None:
    result = run("explain", model, "Kenya 0", "in_continent", "France 1")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "in_continent('Kenya 0', 'France 1') is not a known fact."
    assert lines[1].startswith("It is not predicted: none of the ")
    assert "      reaches 'Africa' from 'Kenya 0', but not this answer" in lines


def test_json_has_all_of_it(model: Path) -> None:
    result = run("explain", model, "Kenya 0", "in_continent", "Africa", "--json")
    found = json.loads(result.stdout)
    assert (found["reason"], found["known"], found["split"]) == ("answer is first", True, "test")
    assert sum(one["share"] for one in found["explanations"]) == pytest.approx(1)
    missing = json.loads(run("explain", model, "Kenya 0", "in_continent", "France 1", "--json").stdout)
    assert (missing["reason"], missing["found"], missing["explanations"]) == ("rules but no path", False, [])
    assert missing["attempts"]


def test_another_graph(model: Path, tmp_path: Path) -> None:
    facts = [("Minas \x1b[31mTirith", "city_in", "Gondor"), ("Gondor", "in_continent", "Middle-earth")]
    write_dataset(Dataset.from_names("other", train=facts), tmp_path / "other")
    result = run("explain", model, facts[0][0], "in_continent", "Middle-earth", "--graph", tmp_path / "other")
    assert "city_in('Minas \\x1b[31mTirith', 'Gondor')" in result.stdout.replace("\\u001b", "\\x1b")
    assert "\x1b" not in result.stdout
    assert "now answers from the training facts of 'other'" in result.stderr


def test_what_makes_no_sense_is_refused(model: Path, tmp_path: Path) -> None:
    assert "Closest: 'France'" in fails("explain", model, "Frnce", "in_continent", "Europe")
    assert "Closest: 'in_continent'" in fails("explain", model, "France", "in_continnt", "Europe")
    assert "Closest: 'Europe'" in fails("explain", model, "France", "in_continent", "Europ")
    assert "--top must be 0 or more" in fails("explain", model, "France", "in_continent", "Europe", "--top", "-1")
    assert "no such folder" in fails("explain", tmp_path / "none", "France", "in_continent", "Europe")
    assert run("explain", model, "France", "in_continent").exit_code == 2
