"""Measure how often the body of each good rule links the facts of a group, compared with all facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError
from stablerule.graph import INVERSE
from stablerule.shifts.signatures import make_path_signatures

if TYPE_CHECKING:
    from stablerule.graph import Graph, Triples
    from stablerule.rules import RuleSet
    from stablerule.shifts.grouping import Grouping

LONGEST = 3


def measure_body_coverage(
    facts: Triples, groups: Grouping, rules: RuleSet, graph: Graph, *, relation: str | None = None, top: int = 10
) -> pl.DataFrame:
    """Return a row for each of the best `top` chain rules of each relation (or of one), and each group.

    Columns: rule, confidence, group, facts (of the relation in the group), covered (the share of them that the body
    links), average (the share over all groups), ratio (covered / average; null if no fact is covered). It uses the
    answers, so it describes groups and must not be an input to a model. Rules longer than 3 are skipped.

    >>> from stablerule import Tabular, households
    >>> from stablerule.shifts import by_random
    >>> dataset = households(families=20, seed=0).dataset
    >>> model = Tabular(walks=20_000, constants=False).fit(dataset.graph, dataset.valid)
    >>> groups = by_random(dataset.test, dataset.graph, groups=2, measure=False)
    >>> asked = {"relation": "grandparent_of", "top": 1}
    >>> found = measure_body_coverage(dataset.test, groups, model.rules, dataset.graph, **asked)
    >>> found["group"].to_list(), found["covered"].is_between(0, 1).all()
    (['random 0', 'random 1'], True)
    """
    if len(groups) != len(facts):
        raise InputError(f"There must be a group for each of the {len(facts):,} facts, got {len(groups):,}.")
    good = rules.filter(kind="chains", max_length=LONGEST, head_relation=relation).top_per_relation(top, "confidence")
    signatures = make_path_signatures(facts, graph)
    columns = {tuple(step for step in body if step >= 0): i for i, body in enumerate(signatures.bodies.tolist())}
    linked = signatures.linked.tocsc()
    words, rows = graph.vocabulary, []
    for one in good:
        head = one.rule.head_relation
        if not _knows_relation(head, graph) or not all(_knows_relation(step, graph) for step in one.rule.body):
            continue
        own = np.flatnonzero(facts.relations == words.relation_id(head))
        if not len(own):
            continue
        column = columns.get(tuple(words.relation_id(step) for step in one.rule.body))
        covered = np.zeros(len(own)) if column is None else linked[:, column].toarray().ravel()[own]
        rows += _measure_group_coverage(one, covered, own, groups)
    schema = {
        "rule": pl.String,
        "confidence": pl.Float64,
        "group": pl.String,
        "facts": pl.Int64,
        "covered": pl.Float64,
        "average": pl.Float64,
        "ratio": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _measure_group_coverage(one: Any, covered: Any, own: Any, groups: Grouping) -> list[tuple[Any, ...]]:
    average = float(covered.mean())
    rows = []
    for label, name in enumerate(groups.names):
        here = groups.labels[own] == label
        if here.any():
            share = float(covered[here].mean())
            ratio = share / average if average else None
            rows.append((str(one.rule), one.confidence, name, int(here.sum()), share, average, ratio))
    return rows


def _knows_relation(relation: str, graph: Graph) -> bool:
    return relation.removeprefix(INVERSE) in graph.vocabulary.relations
