"""`stablerule learn` and `stablerule rules` as a user types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from stablerule import Rule, households, write_dataset
from stablerule.errors import StableRuleError
from stablerule.learning import Tabular
from stablerule.registry import load_model
from stablerule.rules import RuleSet, ScoredRule, read_rules
from tests.terminal import WIDTH, fails, program, run

QUICKLY = ["--set", "walks=20000", "--set", "aggregation=max_plus"]
SMALL = [*QUICKLY, "--set", "training.steps=40", "--set", "training.size=16", "--set", "training.batch_size=300"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "families"
    write_dataset(households(families=5, seed=0).dataset, folder)
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    result = run("learn", data, "-o", folder, *SMALL)
    assert result.exit_code == 0, result.output
    return folder


def test_learn_says_its_plan_and_keeps_the_model(data: Path, tmp_path: Path) -> None:
    result = run("learn", data, "-o", tmp_path / "m", *SMALL, "--seed", "3", "--max-length", "2")
    assert result.stdout == ""
    for words in (
        "20,000 walks",
        "40 steps on batches of 300 samples",
        "GB of additional memory",
        "Saved to",
        "stablerule rules",
    ):
        assert words in result.stderr
    kept = load_model(tmp_path / "m")
    assert kept.options["seed"] == 3
    assert kept.options["max_length"] == 2
    assert kept.data_.source == str(data.resolve())
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("method", ["popularity", "tabular"])
def test_a_budget_must_be_one(method: str, data: Path, tmp_path: Path) -> None:
    for minutes in ("-1", "nan"):
        said = fails("learn", data, "-o", tmp_path / "m", "--method", method, "--minutes", minutes)
        assert "'minutes' must be a number of at least 0" in said
    assert not (tmp_path / "m").exists()


def test_a_budget_that_cut_learning_short_is_said(data: Path, tmp_path: Path) -> None:
    learned = ("learn", data, "--method", "tabular", "--max-length", "2")
    for minutes, said in (("0", True), ("0.5", False)):
        result = run(*learned, "-o", tmp_path / minutes, "--minutes", minutes)
        assert result.exit_code == 0, result.output
        assert ("the time budget ran out" in result.stderr) == said


def test_dry_run_says_the_plan_and_writes_nothing(data: Path, tmp_path: Path) -> None:
    result = run("learn", data, "-o", tmp_path / "m", "--dry-run", "--paper", "yago3-10")
    assert result.exit_code == 0
    assert "takes hours" in result.stderr
    assert os.listdir(tmp_path) == []


def test_tabular_needs_no_plan_of_steps(data: Path, tmp_path: Path) -> None:
    result = run("learn", data, "-o", tmp_path / "m", "--method", "tabular", "--set", "walks=20000")
    assert result.exit_code == 0
    assert "steps of" not in result.stderr
    assert type(load_model(tmp_path / "m")).__name__ == "Tabular"


def test_rules_of_a_file_that_can_not_be_taken_in_are_told(data: Path, tmp_path: Path) -> None:
    lines = ["20\t15\t0.75\tparent_of(X,Y) <= child_of(Y,X)"] * 2 + ["20\t15\t0.75\tparent_of(X,Y) <= "]
    (tmp_path / "peer.txt").write_text("\n".join(lines) + "\n")
    shown = run("rules", tmp_path / "peer.txt").stderr
    told = [line for line in shown.splitlines() if "skipped" in line]
    assert len(told) == 2
    words = ["--method", "given", "--set", f"file={tmp_path / 'peer.txt'}"]
    result = run("learn", data, "-o", tmp_path / "m", *words)
    assert result.exit_code == 0, result.output
    for line in told:
        assert line in result.stderr


def test_what_makes_no_sense_is_refused_before_any_work(data: Path, model: Path, tmp_path: Path) -> None:
    assert "no method 'tabula'. Closest: 'tabular'" in fails("learn", data, "-o", tmp_path / "m", "--method", "tabula")
    assert "No paper settings for 'desktop'" in fails("learn", data, "-o", tmp_path / "m", "--paper", "desktop")
    assert "--paper works only with" in fails(
        "learn", data, "-o", tmp_path / "m", "--paper", "umls", "--method", "tabular"
    )
    assert "no option 'steps'. Closest: 'training.steps'" in fails("learn", data, "--dry-run", "--set", "steps=1")
    assert "no option 'training.stepz'. Closest: 'training.steps'" in fails(
        "learn", data, "--dry-run", "--set", "training.stepz=1"
    )
    assert "'training.steps' must be at least 1" in fails("learn", data, "--dry-run", "--set", "training.steps=0")
    assert "no option 'zzz'. They are: 'max_length', " in fails("learn", data, "-o", tmp_path / "m", "--set", "zzz=1")
    assert "expects name=value" in fails("learn", data, "-o", tmp_path / "m", "--set", "steps")
    assert "No output folder. Pass -o FOLDER" in fails("learn", data)
    assert "already exists" in fails("learn", data, "-o", model, *SMALL)
    assert "does not exist. Make it first" in fails("learn", data, "-o", tmp_path / "no" / "m")
    assert os.listdir(tmp_path) == []


def test_overwrite_replaces_a_model(data: Path, tmp_path: Path) -> None:
    words = ["--method", "tabular", "--max-length", "1", *QUICKLY]
    assert run("learn", data, "-o", tmp_path / "m", *words).exit_code == 0
    assert run("learn", data, "-o", tmp_path / "m", *words, "--seed", "1", "--overwrite").exit_code == 0
    assert load_model(tmp_path / "m").options["seed"] == 1


def test_a_bad_place_is_refused_before_any_work(data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    for place in ("mine", "file"):
        result = run("learn", data, "-o", tmp_path / place, "--overwrite", *SMALL)
        assert isinstance(result.exception, StableRuleError)
        assert "walks" not in result.stderr
    assert "a new folder for the model" in fails("learn", data, "-o", "/", "--overwrite", *SMALL)
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_resume_without_a_checkpoint_does_not_replace_a_model(data: Path, model: Path, tmp_path: Path) -> None:
    assert "nothing to resume: no checkpoint at" in fails("learn", data, "-o", model, "--resume", *SMALL)
    assert "--resume works only with the method stablerule, got tabular" in fails(
        "learn", data, "-o", model, "--resume", "--method", "tabular"
    )
    fresh = run("learn", data, "-o", tmp_path / "m", "--resume", *SMALL)
    assert fresh.exit_code == 0
    assert "starting from the beginning" in fresh.stderr


@pytest.mark.parametrize(
    "setting",
    ["training.size=abc", "training.steps=1.5", "decorrelation=maybe", "training.learning_rate=nan", "device=banana",
     "decorrelation.features=xyz", "seed=-1", "mining.negatives=zzz", "decorrelation.moment_order=0", "max_length=9",
     "training.warm_up=-1", "mining.measure_budget=-1", "mining.backtracking=0"],
)  # fmt: skip
def test_settings_of_the_wrong_kind_are_refused_before_the_plan(data: Path, setting: str) -> None:
    result = run("learn", data, "--dry-run", "--set", setting)
    assert isinstance(result.exception, StableRuleError)
    assert setting.split("=", maxsplit=1)[0] in str(result.exception)
    assert "walks" not in result.stderr


@pytest.mark.parametrize(
    "words",
    [["--method", "given"], ["--method", "given", "--set", "file=x", "--seed", "-1"], ["--max-length", "0"],
     ["--set", "walks=-1"], ["--seed", "-1"], ["--method", "tabular", "--set", "smoothing=-1"]],
    ids=" ".join,
)  # fmt: skip
def test_options_are_looked_at_before_the_data(words: list[str], tmp_path: Path) -> None:
    """The data does not even exist."""
    message = fails("learn", tmp_path / "nowhere.tsv", "-o", tmp_path / "m", *words)
    assert "must be" in message or "needs a file of rules" in message


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            ["mining.backtracking=false", "walks=2e4", "training.patience=none", "training.order=lengths"],
            {"mining.backtracking": False, "walks": 20_000, "training.patience": None, "training.order": "lengths"},
        ),
        (["decorrelation.moment_order=1"], {"decorrelation.moment_order": 1, "decorrelation.weight_steps": 1}),
        (["decorrelation=none"], {"decorrelation": None}),
    ],
    ids=str,
)
def test_options_are_set_by_name_in_several_spellings(
    words: list[str], options: dict[str, object], data: Path, tmp_path: Path
) -> None:
    settings = [part for word in words for part in ("--set", word)]
    result = run("learn", data, "-o", tmp_path / "m", *SMALL, "--max-length", "1", *settings)
    assert result.exit_code == 0, result.output
    kept = load_model(tmp_path / "m").options
    assert kept | options == kept


def test_an_option_that_a_group_does_not_have_is_refused_with_those_that_exist(data: Path) -> None:
    said = fails("learn", data, "--dry-run", "--set", "decorrelation.zzz=1")
    assert "no option 'decorrelation.zzz'" in said
    assert "'decorrelation.moment_order'" in said


def test_a_graph_of_self_loops_gives_no_rules(tmp_path: Path) -> None:
    (tmp_path / "loops.tsv").write_text("a\tr\ta\nb\tr\tb\n")
    for method in ("stablerule", "tabular"):
        result = run("learn", tmp_path / "loops.tsv", "-o", tmp_path / method, "--method", method)
        assert result.exit_code == 0, result.output
        assert len(load_model(tmp_path / method).rules) == 0


LONGER = [*SMALL, "--set", "training.steps=200", "--set", "training.patience=none"]


def start(data: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    always = "from stablerule.learning import checkpoints; checkpoints.Checkpoints.is_due = lambda self: True"
    command = program("learn", data, "-o", folder, *LONGER, *more, before=always)
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_rules(data: Path, tmp_path: Path) -> None:
    assert run("learn", data, "-o", tmp_path / "whole", *LONGER).exit_code == 0
    killed = start(data, tmp_path / "m")
    wait_for(tmp_path / "m.checkpoint" / "progress.json", killed)
    killed.kill()
    killed.communicate()
    assert not (tmp_path / "m").exists()
    again = run("learn", data, "-o", tmp_path / "m", *LONGER, "--resume")
    assert again.exit_code == 0, again.output
    assert load_model(tmp_path / "m").rules == load_model(tmp_path / "whole").rules
    assert not (tmp_path / "m.checkpoint").exists()


@pytest.mark.slow
def test_a_run_that_ran_out_of_time_goes_on_with_more(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("learn", data, "-o", tmp_path / "whole", *SMALL).exit_code == 0
    with monkeypatch.context() as hurried:
        hurried.setattr("stablerule.learning.training.TRAINING_SHARE", 0.0)  # of the time, for the network
        short = run("learn", data, "-o", tmp_path / "m", *SMALL, "--minutes", "30")
    assert short.exit_code == 0, short.output
    assert "the time budget ran out" in short.stderr
    assert "run again with --resume and more --minutes." in short.stderr
    assert load_model(tmp_path / "m").learned_.ended_by == "minutes"
    assert (tmp_path / "m.checkpoint").is_dir()
    again = run("learn", data, "-o", tmp_path / "m", *SMALL, "--minutes", "60", "--resume")
    assert again.exit_code == 0, again.output
    assert "Go on" not in again.stderr
    assert load_model(tmp_path / "m").rules == load_model(tmp_path / "whole").rules
    assert not (tmp_path / "m.checkpoint").exists()


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_learned_and_says_so(data: Path, tmp_path: Path) -> None:
    process = start(data, tmp_path / "m", "--set", "training.steps=5000")
    wait_for(tmp_path / "m.checkpoint" / "progress.json", process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "The model has what was learned so far. Continue with --resume.\nInterrupted." in errors
    assert len(load_model(tmp_path / "m").rules) > 0
    steps = json.loads((tmp_path / "m.checkpoint" / "progress.json").read_text())["progress"]["steps"]
    course = load_model(tmp_path / "m").learned_.course
    assert course is not None
    assert len(steps) == len(course.steps)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["stablerule", "tabular"])
def test_ctrl_c_while_walking_ends_at_once(data: Path, tmp_path: Path, method: str) -> None:
    command = program("learn", data, "-o", tmp_path / "m", "--method", method, "--set", "walks=20000000000")
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert "Dataset(" in process.stderr.readline()  # however long a busy machine took to come here
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    finally:
        process.kill()  # does nothing to one that has ended
    assert process.returncode == 130
    assert os.listdir(tmp_path) == []


def test_a_model_that_appears_meanwhile_is_not_replaced(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, fit = tmp_path / "m", Tabular.fit

    def fit_while_another_saves(model: Tabular, *args: Any, **options: Any) -> Tabular:
        fitted = fit(model, *args, **options)
        with monkeypatch.context() as patch:
            patch.setattr(Tabular, "fit", fit)
            fitted.save(place)
        assert "another process is writing it" in fails(*learn)
        return fitted

    learn = ("learn", data, "-o", place, "--method", "tabular", "--max-length", "1", "--overwrite")
    monkeypatch.setattr(Tabular, "fit", fit_while_another_saves)
    (tmp_path / "m-2").mkdir()
    (tmp_path / "m-2" / "mine").write_text("mine")
    problem = fails(*learn[:-1])
    assert "m: was created by another process during training, and is not replaced. The model is saved to" in problem
    assert sorted(os.listdir(tmp_path)) == ["m", "m-2", "m-3"]
    assert load_model(place).rules == load_model(tmp_path / "m-3").rules
    assert os.listdir(tmp_path / "m-2") == ["mine"]


def test_rules_for_people(model: Path) -> None:
    result = run("rules", model, "--top", "5", "--relation", "grandparent_of", "--sort", "confidence")
    lines = [line for line in result.stdout.splitlines() if not line.startswith(" " * 20)]  # the rest is wrapped
    assert lines[0].split() == ["gain", "confidence", "pca", "support", "rule"]
    assert len(lines) == 6
    numbers = [float(line.split()[1]) for line in lines[1:]]
    assert numbers == sorted(numbers, reverse=True)
    assert all("grandparent_of(X, Y) <-" in line for line in lines[1:])
    assert "5 of " in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= int(WIDTH)
    by_score = run("rules", model, "--sort", "score").stdout.splitlines()
    assert by_score[0].split() == ["score", "confidence", "pca", "support", "rule"]


@pytest.mark.parametrize("kind", ["chains", "constants"])
def test_the_first_rules_add_most_a_few_of_each_relation(model: Path, kind: str) -> None:
    found = load_model(model).rules.filter(kind=kind)  # type: ignore[arg-type]
    plain_heads = [relation for relation in found.relations if not relation.startswith("~")]
    asked = found.filter(head_relation=plain_heads)
    best: list[ScoredRule] = []
    shortest = sorted(asked.filter(min_support=5), key=lambda one: one.rule.length)
    twins = {
        (one.rule.head_relation, one.support, one.body_count, one.rule.constants and one.rule.constants[0]): one
        for one in shortest[::-1]
    }
    for one in RuleSet(twins.values()).sort("gain"):
        if sum(one.rule.head_relation == other.rule.head_relation for other in best) < 3 and len(best) < 20:
            best.append(one)
    lines = run("rules", model, "--kind", kind).stdout.splitlines()[1:]
    numbers = [line.split()[0] for line in lines if not line.startswith(" " * 20)]
    assert numbers == [f"{one.gain:.3f}" for one in best]
    assert "print all with --top 0 --per-relation 0 --min-support 0" in run("rules", model).stderr
    everything = run("rules", model, "--per-relation", "0", "--min-support", "0", "--top", "0", "--kind", kind)
    assert len(everything.stdout.split("<-")) == len(asked) + 1


def test_a_rule_that_says_what_is_true_anyway_adds_nothing(tmp_path: Path) -> None:
    rows = [(f"p{i}", "priority", "optional" if i else "required") for i in range(100)]
    rows += [(f"p{i}", "section", f"s{i % 5}") for i in range(100)]
    rows += [(f"p{i}", "language", f"l{i % 5}") for i in range(100)]
    (tmp_path / "graph.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    run("learn", tmp_path / "graph.tsv", "-o", tmp_path / "m", "--method", "tabular", "--set", "walks=20000")
    found = load_model(tmp_path / "m").rules
    sure = found[[one.rule for one in found].index(Rule("priority", ("section", "~section", "priority")))]
    assert (sure.support or 0) > 90
    assert (sure.gain or 1) < 0.05
    first = run("rules", tmp_path / "m").stdout.splitlines()[1]
    assert " section(X, Y) <-" in first or " language(X, Y) <-" in first


def test_one_rule_for_each_relation_and_inverses_only_on_request(model: Path) -> None:
    def heads(*words: str) -> list[str]:
        shown = run("rules", model, "--per-relation", "1", "--top", "0", *words).stdout
        return [line.split(" <-")[0].split("  ")[-1] for line in shown.splitlines() if "<-" in line]

    assert len(heads()) == len(set(heads())) > 5
    assert all(head.endswith("(X, Y)") for head in heads())
    assert len(heads("--inverse")) > len(heads())
    assert any(head.endswith("(Y, X)") for head in heads("--inverse"))
    assert "rules for inverse relations are hidden" in run("rules", model).stderr


@pytest.mark.parametrize("name", ["json", "tsv", "anyburl", "amie"])
def test_rules_for_machines_load_again(model: Path, tmp_path: Path, name: str) -> None:
    text = run("rules", model, "--top", "0", "--format", name, "--relation", "grandparent_of").stdout
    (tmp_path / "rules.txt").write_text(text)
    loaded, _ = read_rules(tmp_path / "rules.txt", format=name)  # type: ignore[arg-type]
    expected = load_model(model).rules.filter(head_relation="grandparent_of")
    assert {s.rule for s in loaded} == {s.rule for s in expected}


def test_rules_of_a_file_and_filters(model: Path, tmp_path: Path) -> None:
    (tmp_path / "peer.txt").write_text("20\t15\t0.75\tparent_of(X,Y) <= child_of(Y,X)\n")
    assert str(Rule("parent_of", ("~child_of",))) in run("rules", tmp_path / "peer.txt").stdout
    result = run("rules", tmp_path / "peer.txt")
    assert result.stdout.splitlines()[1].split()[:3] == ["0.600", "-", "15"]
    assert "sorted by confidence, because these rules have no base rate" in result.stderr
    assert "these rules have no score" in fails("rules", tmp_path / "peer.txt", "--sort", "score")
    found = json.loads(
        run("rules", model, "--format", "json", "--top", "0", "--max-length", "1", "--min-support", "3").stdout
    )
    assert all(len(rule["body"]) == 1 and rule["support"] >= 3 for rule in found["rules"])


def test_no_rule_is_said(model: Path) -> None:
    result = run("rules", model, "--min-confidence", "1")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "matches these options" in result.stderr


def test_what_rules_refuses(model: Path, tmp_path: Path) -> None:
    assert "Closest: 'grandparent_of'" in fails("rules", model, "--relation", "grandparents_of")
    assert "It has rules for 'child_in_law_of', " in fails("rules", model, "--relation", "zzz")
    assert "--format must be one of" in fails("rules", model, "--format", "xml")
    assert "--sort must be one of" in fails("rules", model, "--sort", "beauty")
    assert "--per-relation must be 0 or more" in fails("rules", model, "--per-relation", "-1")
    assert "--top must be 0 or more" in fails("rules", model, "--top", "-1")
    for share in ("7", "-0.1", "nan"):
        assert "--min-confidence must be a share between 0 and 1" in fails("rules", model, "--min-confidence", share)
    assert "--min-support must be 0 or more, got nan" in fails("rules", model, "--min-support", "nan")
    assert "no such folder" in fails("rules", tmp_path / "nowhere")
    assert "not a model: the folder has no model.json" in fails("rules", tmp_path)
