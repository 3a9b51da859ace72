"""The spec of rules compared, the paper's tables 6 and 8: which rules are general, which only fit one group."""

from __future__ import annotations

from typing import Any

from stablerule.experiments.cells import grouped
from stablerule.experiments.compared_rules import ENOUGH, FOLDER_OF_RULES, LEFT_OUT, METHODS, made_with, run_cell
from stablerule.experiments.experiment import Experiment, Options
from stablerule.reports.tables import Table

GENERAL = 0.5  # of its confidence, in every group where its body links enough pairs


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each rule: its confidence in each group (None with few pairs), and what kind of rule it is.

    Of several seeds the first is shown.
    """
    rows = []
    for one, *_ in grouped(results, "graph", "method").values():
        for rule in one["result"]["rules"]:
            found = [g["support"] / g["pairs"] if g["pairs"] >= ENOUGH else None for g in rule["groups"]]
            kept = {name: rule[name] for name in ("relation", "rule", "score", "support", "confidence")}
            rows.append(one["cell"] | kept | {"by_group": found, "kind": kind_of(rule["confidence"], found)})
    return rows


def kind_of(confidence: float, by_group: list[float | None]) -> str:
    """Say whether a rule holds everywhere.

    >>> kind_of(0.8, [0.9, 0.7, None]), kind_of(0.8, [0.9, 0.1, 0.8]), kind_of(0.8, [0.9, None, None])
    ('general', 'some groups', 'one group')
    """
    if len(by_group) < 2:
        return "not parted"
    known = [value for value in by_group if value is not None]
    if len(known) < 2:
        return "one group" if known else "hardly used"
    good = sum(value >= GENERAL * confidence for value in known)
    return "general" if good == len(known) else "one group" if good == 1 else "some groups"


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return a table for each graph and relation, and first how many rules of each method are general."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        here = [row for row in rows if row["graph"] == graph]
        made.append(_counted(graph, here))
        for relation in dict.fromkeys(row["relation"] for row in here):
            some = [row for row in here if row["relation"] == relation]
            groups = len(some[0]["by_group"])
            headings = ("rule", "method", "confidence", *(f"group {i}" for i in range(groups)), "holds in")
            made.append(Table(f"{graph}: {relation}", headings, tuple(_line(row) for row in some)))
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    figures = ("" if value is None else f"{value:.2f}" for value in row["by_group"])
    return (f"`{row['rule']}`", row["method"], f"{row['confidence']:.2f}", *figures, row["kind"])


def _counted(graph: str, rows: list[dict[str, Any]]) -> Table:
    kinds = ("general", "some groups", "one group", "hardly used", "not parted")
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        mean = sum(row["confidence"] for row in own) / len(own)
        lines.append((method, *(str(sum(row["kind"] == kind for row in own)) for kind in kinds), f"{mean:.2f}"))
    return Table(f"{graph}: where the best rules hold", ("method", *kinds, "mean confidence"), tuple(lines))


RULES_COMPARED = Experiment(
    name="rules",
    store="rules",
    about="the best rules of several learners for the same relations, measured in five groups (tables 6 and 8)",
    needs=f"a minute a cell; anyburl: its rule files, in the folder that {FOLDER_OF_RULES} names",
    graphs=("family", "wn18rr", "fb15k-237", "yago3-10-quarter"),
    more_graphs=("kinship", "umls", "geography"),
    methods=METHODS,
    seeds=(0,),
    run=run_cell,
    made_with=made_with,
    summarise=summarise,
    tables=tables,
    left_out=LEFT_OUT,
)
