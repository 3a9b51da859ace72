"""Jobs that evaluate a model: on the test facts, on uploaded queries, and beside another model."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError
from stablerule.evaluation import evaluate
from stablerule.evaluation.compare import compare
from stablerule.evaluation.metrics import METRICS
from stablerule.reasoning import RuleReasoner
from stablerule.rules import Rule
from stablerule.shifts import QuerySet, compare_queries
from stablerule.shifts.queries import read_query_lines

if TYPE_CHECKING:
    from stablerule.evaluation import Evaluation
    from stablerule.explorer.explored import Explored
    from stablerule.explorer.jobs.jobs import Task

SPLITS = ("test", "valid")
DISAGREEMENTS, ONLY = 40, 40


def find_judging_split(explored: Explored) -> str | None:
    """Return the split to evaluate on: test, else valid; None if neither has facts."""
    return next((name for name in SPLITS if len(explored.dataset.split(name))), None)


def judge_model(explored: Explored, task: Task) -> dict[str, Any]:
    """Rank the answers of the test facts."""
    split = _need_split(explored)
    task.start(1, 0)
    found = evaluate(explored.model, explored.dataset, split=split)
    task.advance(1, "")
    return _tell(found, split)


def judge_queries(explored: Explored, task: Task) -> dict[str, Any]:
    """Compare uploaded queries with those that the model was evaluated on, as `stablerule shift` does."""
    model, graph = explored.model, explored.graph
    if not isinstance(model, RuleReasoner):
        raise InputError(f"A shift report looks at the rules that answer, and {model.method} does not answer by rules.")
    split, name = _need_split(explored), str(task.options.get("name") or "queries")
    task.start(2, 0)
    asked = read_query_lines(io.BytesIO(task.given or b""), graph, name)
    if not task.options.get("labels"):
        asked = asked.without_answers()
    task.advance(1, "comparing")
    judged = QuerySet.from_facts(explored.dataset.split(split).distinct(), graph.n_relations)
    report = compare_queries(judged, asked, graph, model=model, known=explored.known)
    report.about.update({"model": explored.name, "queries": name, "reference": split, "data": explored.dataset.name})
    task.advance(1, "")
    return report.to_json()


def compare_models(explored: Explored, other: Explored, task: Task) -> dict[str, Any]:
    """Judge two models on the same queries: figures with paired intervals, and where they disagree most."""
    split = _need_split(explored)
    task.start(3, 0)
    mine = evaluate(explored.model, explored.dataset, split=split)
    task.advance(1, other.name)
    theirs = evaluate(other.model, explored.dataset, split=split)
    task.advance(1, "comparing")
    found = compare(mine, theirs).to_json()
    return {
        "split": split,
        "models": [_tell(one, split) | {"name": who.name} for one, who in ((mine, explored), (theirs, other))],
        "differences": {metric: found[metric] for metric in METRICS},
        "rules": _compare_rules(explored, other),
        "disagreements": _list_disagreements(explored, mine, theirs),
    }


def _need_split(explored: Explored) -> str:
    split = find_judging_split(explored)
    if split is None:
        raise InputError(f"{explored.dataset.name!r} has no test or validation facts to evaluate on.")
    return split


def _tell(found: Evaluation, split: str) -> dict[str, Any]:
    intervals = found.intervals("realistic")
    figures = found.figures("realistic")
    return {
        "split": split,
        "n": found.n,
        "method": found.model["method"],
        "figures": {
            metric: {"value": figures[metric], "low": intervals[metric][0], "high": intervals[metric][1]}
            for metric in METRICS
        },
    }


def _compare_rules(explored: Explored, other: Explored) -> dict[str, Any]:
    found = explored.rules.diff(other.rules, by="confidence")
    return {
        "both": len(found.both),
        "only": [
            {"count": len(alone), "best": [str(one.rule) for one in alone.top(ONLY, by="confidence")]}
            for alone in (found.only_this, found.only_that)
        ],
        "changed": [
            {"rule": _spell_row(row), "this": row["this"], "that": row["that"]}
            for row in found.both.head(ONLY).iter_rows(named=True)
            if row["change"]
        ],
    }


def _spell_row(row: dict[str, Any]) -> str:
    constants = None if row["constant"] is None else (row["constant"], row["body_constant"])
    return str(Rule(row["head_relation"], tuple(row["body"]), constants))


def _list_disagreements(explored: Explored, mine: Evaluation, theirs: Evaluation) -> list[dict[str, Any]]:
    """List the queries whose correct answers have the most different ranks, by 1 / rank."""
    words, rows = explored.graph.vocabulary, mine.queries.rows
    places = [one.ranks.form("realistic") for one in (mine, theirs)]
    away = np.abs(1 / places[0] - 1 / places[1])
    found = []
    for i in np.argsort(-away, kind="stable")[:DISAGREEMENTS].tolist():
        if not away[i]:
            break
        head, relation, answer = rows[i].tolist()
        query = words.entity_name(head), words.relation_name(relation), words.entity_name(answer)
        found.append({"query": list(query), "ranks": [float(place[i]) for place in places]})
    return found
