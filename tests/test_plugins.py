"""Methods and commands of other distributions, here made-up ones in a folder of the test."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from stablerule import households, load_model, write_dataset
from stablerule.errors import MissingDistribution, NameConflict, OptionError, ReadError
from stablerule.learning import Popularity
from stablerule.registry import (
    LABORATORY_COMMANDS,
    LABORATORY_METHODS,
    METHODS,
    MODELS,
    OWN_METHODS,
    find_method,
    read_command_names,
    read_methods,
)
from tests.terminal import fails, program, run

WORLD = households(families=2, seed=0).dataset

DEGREE = """
import numpy as np
from stablerule.extending import Learned, Reasoner, ScoreSearcher

class Degree(Reasoner):
    method = "degree"

    def __init__(self, *, seed: int = 0):
        self.seed = seed

    def fit(self, graph, valid=None, *, examples=None, minutes=None):
        return self._end(self._begin(graph, valid, examples, minutes), Learned())

    def plan_lines(self, graph, minutes=None):
        return ["counts the facts of each entity"]

    def _searcher(self, graph):
        return ScoreSearcher(graph, lambda heads, relations: np.tile(graph.degrees, (len(heads), 1)), name="degree")
"""
COMMANDS = """
import typer

app = typer.Typer()

def greet(name: str) -> None:
    "Greet somebody."
    typer.echo(f"Hello {name}")

@app.command()
def first() -> None:
    typer.echo("the first")

@app.command()
def second() -> None:
    typer.echo("the second")
"""


def record(name: str, place: str = "nowhere:Nothing") -> str:
    """The text of a module with a list of one record."""
    return (
        "from stablerule.registry import Method\n"
        f"METHODS = [Method({name!r}, 'control', 'made up', {place!r}, inductive=True, explains=False)]\n"
    )


class Site:
    """A folder on the path of imports, whose distributions are the only ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.looks = 0

    def install(self, name: str, entry_points: str, **modules: str) -> None:
        """Install a distribution; entry_points: as in entry_points.txt; modules: texts by name."""
        about = self.folder / f"{name.replace('-', '_')}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(entry_points)
        for module, text in modules.items():
            (self.folder / f"{module}.py").write_text(text)
        importlib.invalidate_caches()

    def entry_points(self, **wanted: Any) -> metadata.EntryPoints:
        self.looks += str(wanted.get("group")).startswith("stablerule.")
        there = [entry for one in metadata.distributions(path=[str(self.folder)]) for entry in one.entry_points]
        return metadata.EntryPoints(there).select(**wanted)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path / "site")
    made.folder.mkdir()
    monkeypatch.syspath_prepend(str(made.folder))
    monkeypatch.setattr(metadata, "entry_points", made.entry_points)
    forget()
    yield made
    forget()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(made.folder)):
            del sys.modules[name]


def forget() -> None:
    """Let the methods of other distributions be read again."""
    vars(METHODS).pop("_brought", None)


METHODS_OF_MINE = "[stablerule.methods]\nmine = records_of_mine:METHODS\n"


def test_a_method_of_another_distribution_learns_and_is_loaded(site: Site, tmp_path: Path) -> None:
    site.install(
        "mine", METHODS_OF_MINE, records_of_mine=record("degree", "degree_of_mine:Degree"), degree_of_mine=DEGREE
    )
    write_dataset(WORLD, tmp_path / "data")
    assert "degree_of_mine" not in sys.modules
    listed = run("learn", "--list")
    assert "degree" in listed.stdout
    assert "degree_of_mine" not in sys.modules
    learned = run("learn", tmp_path / "data", "-o", tmp_path / "m", "--method", "degree")
    assert learned.exit_code == 0, learned.output
    model = load_model(tmp_path / "m")
    assert type(model) is MODELS["degree"]
    head = WORLD.vocabulary.entity_name(0)
    asked = run("ask", tmp_path / "m", head, "child_of")
    assert asked.exit_code == 0, asked.output


def test_methods_of_others_are_read_once_and_only_when_asked_for(site: Site, tmp_path: Path) -> None:
    site.install("mine", METHODS_OF_MINE, records_of_mine=record("degree"))
    Popularity().fit(WORLD.graph).save(tmp_path / "m", source=None)
    load_model(tmp_path / "m")
    assert all(MODELS[name].method == name for name in OWN_METHODS)
    assert site.looks == 0
    for _ in range(3):
        assert list(METHODS) == [*OWN_METHODS, "degree"]
        assert len(MODELS) == len(OWN_METHODS) + 1
        assert "degree" in MODELS
    assert site.looks == 1


def test_two_distributions_with_one_name_are_named(site: Site) -> None:
    site.install("mine", METHODS_OF_MINE, records_of_mine=record("degree"))
    site.install("yours", "[stablerule.methods]\nyours = records_of_yours:METHODS\n", records_of_yours=record("degree"))
    with pytest.raises(NameConflict, match="(mine and yours|yours and mine) define a method named 'degree'"):
        read_methods()
    assert "'degree'" in fails("learn", "--list")


def test_no_other_distribution_brings_a_method_of_the_library(site: Site) -> None:
    site.install("mine", METHODS_OF_MINE, records_of_mine=record("tabular"))
    with pytest.raises(NameConflict, match="Both stablerule and mine define a method named 'tabular'"):
        read_methods()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import a_package_that_nobody_has", "ModuleNotFoundError"),
        ("METHODS = ['degree']", "expected records of methods, got 'degree'"),
        ("raise RuntimeError('of their own')", "RuntimeError: of their own"),
    ],
)
def test_what_can_not_be_imported_is_a_note(site: Site, text: str, told: str, caplog: pytest.LogCaptureFixture) -> None:
    site.install("mine", METHODS_OF_MINE, records_of_mine=text)
    site.install("yours", "[stablerule.methods]\nyours = records_of_yours:METHODS\n", records_of_yours=record("degree"))
    listed = run("learn", "--list")
    assert listed.exit_code == 0
    assert "tabular" in listed.stdout
    assert "degree" in listed.stdout
    (note,) = caplog.messages
    assert note.startswith("records_of_mine:METHODS of mine can't be used: ")
    assert told in note


@pytest.mark.slow
def test_a_note_goes_to_standard_error(site: Site, tmp_path: Path) -> None:
    site.install("mine", METHODS_OF_MINE, records_of_mine="raise RuntimeError('of their own')")
    Popularity().fit(WORLD.graph).save(tmp_path / "m", source=None)
    write_dataset(WORLD, tmp_path / "data")
    path = os.pathsep.join([str(site.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path}
    listed = subprocess.run(program("learn", "--list"), env=environment, capture_output=True, text=True, check=True)
    assert "tabular" in listed.stdout
    assert "Note: records_of_mine:METHODS of mine can't be used: RuntimeError: of their own" in listed.stderr
    head = WORLD.vocabulary.entity_name(0)
    words = program("ask", tmp_path / "m", head, "child_of", "--graph", tmp_path / "data")
    asked = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "Note" not in asked.stderr


def test_without_the_laboratory_one_line_says_how_to_get_its_methods(site: Site, tmp_path: Path) -> None:
    hint = "`rotate` is part of stablerule-lab. Install it with: pip install ./lab"
    assert list(METHODS) == list(OWN_METHODS)
    assert fails("learn", "geography", "-o", tmp_path / "m", "--method", "rotate") == hint
    with pytest.raises(MissingDistribution) as caught:
        MODELS["rotate"]
    assert str(caught.value) == hint
    model = tmp_path / "saved"
    Popularity().fit(WORLD.graph).save(model, source=None)
    about = model / "model.json"
    about.write_text(about.read_text().replace('"method": "popularity"', '"method": "rotate"'))
    with pytest.raises(MissingDistribution) as caught:
        load_model(model)
    assert str(caught.value) == f"{model}: {hint}"
    for name in LABORATORY_METHODS:
        assert name not in MODELS
        with pytest.raises(MissingDistribution, match=f"`{name}` is part of"):
            find_method(name)


def test_a_method_that_nobody_has_is_named(site: Site, tmp_path: Path) -> None:
    with pytest.raises(
        OptionError, match=r"no method 'tabula'\. Closest: 'tabular', 'stablerule'\. They are: stablerule, "
    ):
        MODELS["tabula"]
    model = tmp_path / "saved"
    Popularity().fit(WORLD.graph).save(model, source=None)
    about = model / "model.json"
    about.write_text(about.read_text().replace('"method": "popularity"', '"method": "tabula"'))
    with pytest.raises(ReadError, match=r"made by an unknown method 'tabula'\. Closest: 'tabular', 'stablerule'"):
        load_model(model)


COMMANDS_OF_MINE = """[stablerule.commands]
greet = commands_of_mine:greet
several = commands_of_mine:app
data.greet = commands_of_mine:greet
"""


def test_commands_of_another_distribution_stand_beside_ours(site: Site) -> None:
    site.install("mine", COMMANDS_OF_MINE, commands_of_mine=COMMANDS)
    assert run("data", "list").exit_code == 0
    assert "commands_of_mine" not in sys.modules
    assert run("greet", "Ann").stdout == "Hello Ann\n"
    assert run("several", "second").stdout == "the second\n"
    assert run("data", "greet", "Ann").stdout == "Hello Ann\n"
    for words, names in (((), ("learn", "greet", "several")), (("data",), ("convert", "greet"))):
        shown = run(*words, "--help").stdout
        assert [name for name in (*names, "data.greet") if name in shown] == list(names)
        assert "Greet somebody." in shown
    assert "Hello" not in run("ask", "--help").stdout


def test_a_command_that_can_not_be_imported_is_a_note(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.install("mine", COMMANDS_OF_MINE, commands_of_mine="raise RuntimeError('of their own')")
    assert run("ask", "--help").exit_code == 0
    assert not caplog.messages
    shown = run("--help")
    assert shown.exit_code == 0
    assert "learn" in shown.stdout
    assert "several" not in shown.stdout
    assert "commands_of_mine:app of mine can't be used: RuntimeError: of their own" in caplog.messages
    missing = run("greet", "Ann")
    assert missing.exit_code == 2
    assert "No such command 'greet'" in missing.output


def test_a_command_that_two_distributions_bring_is_an_error(site: Site) -> None:
    site.install("mine", COMMANDS_OF_MINE, commands_of_mine=COMMANDS)
    with pytest.raises(NameConflict, match="Both stablerule and mine define a command named 'greet'"):
        read_command_names("", ["greet"])
    site.install("yours", "[stablerule.commands]\ngreet = commands_of_mine:greet\n")
    assert "define a command named 'greet'" in fails("greet", "Ann")
    assert isinstance(run("--help").exception, NameConflict)
    assert run("data", "greet", "Ann").exit_code == 0  # there it is the only one


@pytest.mark.parametrize("command", LABORATORY_COMMANDS)
def test_without_the_laboratory_one_line_says_how_to_get_its_commands(site: Site, command: str) -> None:
    words = command.split(".")
    hint = f"`{' '.join(words)}` is part of stablerule-lab. Install it with: pip install ./lab"
    assert fails(*words) == hint
    assert fails(*words, "--help") == hint
    assert words[-1] not in run(*words[:-1], "--help").stdout.split()
