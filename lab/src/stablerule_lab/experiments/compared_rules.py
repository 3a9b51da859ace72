"""The best rules of several learners for the same relations, measured in five groups of heads: Tables 6 and 8.

The heads of a relation's facts are grouped by their edges, and rules are measured on these heads only. A rule that
holds in all groups is general. The rules printed in the paper are measured in the same way.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.errors import InputError
from stablerule.extending import ExampleFacts, measure_rules, number_learned_rules
from stablerule.registry import MODELS
from stablerule.rules import RuleSet
from stablerule_lab.experiments.by_graph import table_by_graph
from stablerule_lab.experiments.cells import grouped
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.methods import LARGE, SMALL
from stablerule_lab.experiments.printed_rules import PRINTED_RULES
from stablerule_lab.experiments.process import run_apart
from stablerule_lab.experiments.stable_confidence import GROUPS, entity_groups
from stablerule_lab.methods.settings import settings_for
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from stablerule.extending import Ids
    from stablerule.graph import Dataset, Graph
    from stablerule_lab.experiments.cells import Cell

FOLDER_OF_RULES = "STABLERULE_RULES"  # a folder with rule files of other tools, such as anyburl-wn18rr.txt.xz
ANYBURL = "anyburl"
METHODS = ("stablerule", "ncrl", "tabular", ANYBURL, *PRINTED_RULES)
WITH_CONSTANTS = ("stablerule", "tabular")  # by default
SCORED = {ANYBURL: "confidence"}  # sorts the rules instead of the score
BEST = 3
RELATIONS = 4
PAPERS = {"yago3-10-quarter": ("isLocatedIn", "isCitizenOf", "livesIn", "graduatedFrom")}  # the relations of its tables
NONE_PRINTED = "the paper prints rules for YAGO3-10 only"
_WITHOUT_PRINT = (graph for graph in (*SMALL, *LARGE, "geography") if graph not in PAPERS)
LEFT_OUT = {(graph, name): NONE_PRINTED for graph in _WITHOUT_PRINT for name in PRINTED_RULES}
LEFT_OUT["yago3-10-quarter", ANYBURL] = "no file of AnyBURL's rules for it"
ENOUGH = 10  # pairs that a body must link in a group to count there


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the learner's settings; rules from files have none."""
    method = str(cell["method"])
    if method == ANYBURL or method in PRINTED_RULES:
        return {"settings": {}}
    chains_alone = {"constants": False} if method in WITH_CONSTANTS else {}
    return {"settings": settings_for(method, str(cell["graph"])) | {"aggregation": "max_plus"} | chains_alone}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `compare` in a separate process."""
    return run_apart(compare, cell, cache)


def compare(cell: Cell, cache: Path) -> dict[str, Any]:
    """Measure the best rules of some relations in every group of entities."""
    dataset, method = load(str(cell["graph"])), str(cell["method"])
    graph, seed = dataset.graph, int(cell["seed"])
    rules = learned_rules(dataset, method, made_with(cell)["settings"] | {"seed": seed})
    serving = ExampleFacts.all_of(graph)
    told = []
    for relation in relations_of(dataset):
        best = rules.filter(kind="chains", head_relation=relation).top(BEST, SCORED.get(method, "score"))
        if not len(best):
            continue
        bodies, heads = number_learned_rules(best.to_frame(), graph)
        groups = groups_of_heads(graph, relation)
        whole, *places = (
            measure_rules(graph, bodies, heads, examples=serving, among=among, seed=seed)
            for among in (np.concatenate(groups), *groups)
        )
        for place, one in enumerate(best):
            told.append(
                {
                    "relation": relation,
                    "rule": str(one.rule),
                    "score": one.score if one.score is not None else one.confidence,
                    "support": float(whole.support[place]),
                    "confidence": float(whole.support[place] / max(1.0, whole.body_count[place])),
                    "groups": [
                        {"support": float(found.support[place]), "pairs": float(found.body_count[place])}
                        for found in places
                    ],
                }
            )
    return {"rules": told, "data": dataset.sha256}


def learned_rules(dataset: Dataset, method: str, settings: dict[str, Any]) -> RuleSet:
    """Return the rules of a learner, of AnyBURL's file, or of the paper."""
    if method in PRINTED_RULES:
        return RuleSet(PRINTED_RULES[method])
    if method == ANYBURL:
        options: dict[str, Any] = {"file": str(rule_file(dataset.name)), "aggregation": "max_plus"}
        return MODELS["given"].with_options(options).fit(dataset.graph).rules
    return MODELS[method].with_options(settings).fit(dataset.graph, dataset.valid).rules


def rule_file(graph: str) -> Path:
    """Return the file of AnyBURL's rules for a graph."""
    folder = os.environ.get(FOLDER_OF_RULES)
    if not folder:
        raise InputError(f"Set {FOLDER_OF_RULES} to the folder with AnyBURL's rule files, such as anyburl-{graph}.txt.")
    found = sorted(Path(folder).glob(f"{ANYBURL}-{graph}*"))
    if not found:
        raise InputError(f"No rule file {ANYBURL}-{graph}*.txt in {folder} ({FOLDER_OF_RULES}).")
    return found[0]


def relations_of(dataset: Dataset) -> list[str]:
    """Return the relations of the paper's tables, or those with the most test facts."""
    if dataset.name in PAPERS:
        return [name for name in PAPERS[dataset.name] if name in dataset.vocabulary.relations]
    most = np.argsort(-np.bincount(dataset.test.relations), kind="stable")[:RELATIONS]
    return [dataset.vocabulary.relation_name(int(relation)) for relation in most]


def groups_of_heads(graph: Graph, relation: str) -> list[Ids]:
    """Group the entities that are heads of a relation; too few entities are one group."""
    entities = np.unique(graph.facts(graph.vocabulary.relation_id(relation))[0])
    if len(entities) < GROUPS * ENOUGH:
        return [entities]
    labels = entity_groups(graph, among=entities)
    return [entities[labels == group] for group in range(GROUPS)]


GENERAL = 0.5  # share of its confidence that a general rule keeps in every group


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each rule of the first seed: its kind and its confidence in each group (None: few pairs)."""
    rows = []
    for one, *_ in grouped(results, "graph", "method").values():
        for rule in one["result"]["rules"]:
            found = [g["support"] / g["pairs"] if g["pairs"] >= ENOUGH else None for g in rule["groups"]]
            kept = {name: rule[name] for name in ("relation", "rule", "score", "support", "confidence")}
            rows.append(one["cell"] | kept | {"by_group": found, "kind": kind_of(rule["confidence"], found)})
    return rows


def kind_of(confidence: float, by_group: list[float | None]) -> str:
    """Return in how many groups a rule holds.

    >>> kind_of(0.8, [0.9, 0.7, None]), kind_of(0.8, [0.9, 0.1, 0.8]), kind_of(0.8, [0.9, None, None])
    ('general', 'some groups', 'one group')
    """
    if len(by_group) < 2:
        return "no groups"
    known = [value for value in by_group if value is not None]
    if len(known) < 2:
        return "one group" if known else "too rare"
    good = sum(value >= GENERAL * confidence for value in known)
    return "general" if good == len(known) else "one group" if good == 1 else "some groups"


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return how many rules of each method are general, then tables for each graph and relation."""
    made = general_by_graph(rows)
    for graph in dict.fromkeys(row["graph"] for row in rows):
        here = [row for row in rows if row["graph"] == graph]
        made.append(_counted(graph, here))
        for relation in dict.fromkeys(row["relation"] for row in here):
            some = [row for row in here if row["relation"] == relation]
            groups = len(some[0]["by_group"])
            headings = ("rule", "method", "confidence", *(f"group {i}" for i in range(groups)), "holds in")
            made.append(Table(f"{graph}: {relation}", headings, tuple(_line(row) for row in some)))
    return made


def general_by_graph(rows: list[dict[str, Any]]) -> list[Table]:
    """Return one table: how many of its best rules are general, for each method and graph."""
    kinds = defaultdict(list)
    for row in rows:
        kinds[row["method"], row["graph"]].append(row["kind"])
    cells = {place: f"{some.count('general')} of {len(some)}" for place, some in kinds.items()}
    return table_by_graph("General rules among the best, by graph", cells, METHODS)


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    figures = ("" if value is None else f"{value:.2f}" for value in row["by_group"])
    return (f"`{row['rule']}`", row["method"], f"{row['confidence']:.2f}", *figures, row["kind"])


def _counted(graph: str, rows: list[dict[str, Any]]) -> Table:
    kinds = ("general", "some groups", "one group", "too rare", "no groups")
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        mean = sum(row["confidence"] for row in own) / len(own)
        lines.append((method, *(str(sum(row["kind"] == kind for row in own)) for kind in kinds), f"{mean:.2f}"))
    return Table(f"{graph}: where the best rules hold", ("method", *kinds, "mean confidence"), tuple(lines))


RULES_COMPARED = Experiment(
    name="rules",
    store="rules",
    about="Which rules come first, and in which groups do they hold (Tables 6 and 8)?",
    needs=f"a minute a cell; for anyburl, its rule files in the folder {FOLDER_OF_RULES}",
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
