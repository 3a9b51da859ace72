"""Settings that are searched on valid facts."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stablerule import Dataset, households, write_dataset
from stablerule.cli.main import app
from stablerule.errors import InputError, MissingExtra, OptionError, ReadError
from stablerule_lab.experiments import trials
from stablerule_lab.experiments.trials import halve, tune
from stablerule_lab.methods import settings, spaces

WORLD = households(families=6, seed=0).dataset
QUICK = {"walks": 5000, "constants": False, "aggregation": "max_plus"}


@pytest.fixture(autouse=True)
def _small_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spaces.SPACES, "tabular", {"smoothing": (1.0, 50.0), "max_length": [1, 2]})


def test_the_halves_are_of_valid_and_test_is_gone() -> None:
    halves = halve(WORLD, seed=0)
    both = [tuple(row) for part in (halves.valid, halves.test) for row in part.rows.tolist()]
    assert sorted(both) == sorted(map(tuple, WORLD.valid.distinct().rows.tolist()))
    assert abs(len(halves.valid) - len(halves.test)) <= 1
    assert not set(both) & set(map(tuple, WORLD.test.rows.tolist()))


def test_the_present_settings_come_first_and_the_best_wins() -> None:
    found = tune("tabular", WORLD, trials=4, fixed=QUICK)
    assert len(found.trials) == 4
    assert found.trials[0].options["smoothing"] == 5.0  # the default
    assert all(trial.options["walks"] == 5000 for trial in found.trials)
    assert found.best.mrr == max(trial.mrr or 0 for trial in found.trials)
    again = tune("tabular", WORLD, trials=4, fixed=QUICK)
    assert [trial.options for trial in again.trials] == [trial.options for trial in found.trials]
    assert [trial.mrr for trial in again.trials] == [trial.mrr for trial in found.trials]


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "trials.json"
    first = tune("tabular", WORLD, trials=2, fixed=QUICK, kept=kept)
    whole = tune("tabular", WORLD, trials=4, fixed=QUICK, kept=kept, resume=True)
    assert whole.trials[:2] == first.trials
    assert len(json.loads(kept.read_text())["trials"]) == 4
    with pytest.raises(InputError, match="have another fixed"):
        tune("tabular", WORLD, trials=4, fixed=QUICK | {"walks": 6000}, kept=kept, resume=True)
    kept.write_text("[")
    with pytest.raises(ReadError, match="not a file of trials"):
        tune("tabular", WORLD, trials=4, fixed=QUICK, kept=kept, resume=True)


def test_settings_that_fail_are_told_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spaces.SPACES, "tabular", {"max_length": [2, 99]})
    found = tune("tabular", WORLD, trials=6, fixed=QUICK)
    assert any(trial.mrr is None and "max_length" in str(trial.error) for trial in found.trials)
    assert found.best.options["max_length"] in (None, 2)  # None is the default, which comes first
    monkeypatch.setattr(trials, "evaluate", _out_of_memory)
    with pytest.raises(InputError, match="All trials failed, the first one with: full"):
        _ = tune("tabular", WORLD, trials=2, fixed=QUICK).best


def _out_of_memory(*_: Any, **__: Any) -> None:
    raise MemoryError("full")


def test_the_first_trial_has_all_settings_of_the_graph_and_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"smoothing": 0.5, "walks": 4000, "max_length": 1, "constants": False}  # 0.5 is not in the space
    monkeypatch.setitem(settings.SETTINGS, "tabular", {WORLD.name: usual})
    fixed = {"aggregation": "max_plus"}
    first, second = tune("tabular", WORLD, trials=2, fixed=fixed, kept=tmp_path / "t.json").trials
    assert first.options == usual | fixed | {"seed": 0}
    assert {name: second.options[name] for name in ("walks", "constants")} == {"walks": 4000, "constants": False}
    more = tune("tabular", WORLD, trials=4, fixed=fixed, kept=tmp_path / "t.json", resume=True).trials
    assert all(trial.options["smoothing"] >= 1 for trial in more[1:])
    own = tune("tabular", WORLD, trials=1, fixed=fixed | {"walks": 3000}).trials[0]
    assert own.options["walks"] == 3000


def test_an_option_that_is_none_is_told_before_any_trial() -> None:
    with pytest.raises(OptionError, match="Closest: 'walks'"):
        tune("tabular", WORLD, trials=2, fixed={"walk": 5000})
    with pytest.raises(OptionError, match="max_length"):
        tune("tabular", WORLD, trials=2, fixed=QUICK | {"max_length": 99})
    for minutes in (-1.0, float("nan")):
        with pytest.raises(OptionError, match="'minutes' must be a number of at least 0"):
            tune("tabular", WORLD, trials=2, minutes=minutes)


def test_a_budget_ends_it() -> None:
    found = tune("tabular", WORLD, trials=50, minutes=0.0, fixed=QUICK)
    assert len(found.trials) == 1
    assert found.ended_by == "minutes"


def test_what_can_not_be_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="Method 'popularity' has no settings"):
        tune("popularity", WORLD)
    with pytest.raises(OptionError, match="trials"):
        tune("tabular", WORLD, trials=0)
    few = Dataset.from_names("few", train=[("a", "r", "b")], valid=[("b", "r", "a")])
    with pytest.raises(InputError, match="has 1 validation facts"):
        tune("tabular", few)
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "optuna":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"\./lab\[tune\]"):
        tune("tabular", WORLD)


def test_the_command_says_how_to_learn_with_the_best(tmp_path: Path) -> None:
    write_dataset(WORLD, tmp_path / "data")
    words = ["tune", str(tmp_path / "data"), "--method", "tabular", "--trials", "3"]
    words += [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
    result = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "t.json")])
    assert result.exit_code == 0, result.output
    assert "MRR" in result.output
    assert "--set smoothing=" in result.output or "No trial beat" in result.output
    for bad, said in (
        (["--method", "tabullar"], "Closest: 'tabular'"),
        (["--resume"], "Add -o FILE"),
        (["-o", str(tmp_path / "t.json")], "already exists"),
    ):
        failed = CliRunner().invoke(app, [*words, *bad])
        assert failed.exit_code != 0
        assert said in str(failed.exception)
