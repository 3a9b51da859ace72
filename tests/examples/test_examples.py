"""The programs in examples/ run, and print what their first lines promise."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="example")["main"]()
    return capsys.readouterr().out


def test_own_triples(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run("own_triples", capsys)
    assert "nationality(X, Y) <- born_in(X, A), place_in(A, Y)" in printed
    assert "Piet Mondrian - nationality - Netherlands" in printed
    assert "because of Joan Miró - Barcelona - Spain" in printed


def test_explain_and_curate(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run("explain_and_curate", capsys)
    assert "7 new facts, 6 of them right" in printed
    assert "born_in(Alfred Sisley, Paris), place_in(Paris, France)" in printed
    assert "With 1 trusted rule" in printed
    assert "Piet Mondrian - nationality - Netherlands, by nationality(X, Y) <- born_in(X, A), place_in(A, Y)" in printed


@pytest.mark.slow
def test_complete(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run("complete", capsys)
    counts = re.findall(r"the first +([\d,]+): +([\d,]+) are true, +([\d,]+) were expected", printed)
    assert len(counts) == 3
    for step, true, expected in ([int(number.replace(",", "")) for number in row] for row in counts):
        assert step / 5 < expected <= true <= step


def test_new_entities(capsys: pytest.CaptureFixture[str]) -> None:
    marie, bronislawa, eve = run("new_entities", capsys).split("\n\n")[1:]
    assert "Marie Curie - Irène Joliot-Curie - Hélène Langevin-Joliot" in marie
    assert "Pierre Joliot, by grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)" in marie
    assert "Irène Joliot-Curie" in bronislawa
    assert "Frédéric Joliot-Curie" in eve.splitlines()[1]


def test_will_it_hold(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    same, shifted, _ = run("will_it_hold", capsys).split("\n\n")
    assert same.startswith("more of the same: similar")
    assert shifted.startswith("mostly footballers: shifted")
    for report in (same, shifted):
        low, high, measured = map(float, re.findall(r"from (\S+) to (\S+)\).*known: (\S+)", report, re.DOTALL)[0])
        assert low <= measured <= high


def test_each_example_is_tested_and_short() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == {name.removeprefix("test_") for name in globals() if name.startswith("test_")} - {
        "each_example_is_tested_and_short"
    }
    assert all(len(path.read_text(encoding="utf-8").splitlines()) <= 60 for path in EXAMPLES.glob("*.py"))
