"""From attention over relations, step by step, to rules: a body weighs as much as the product of what it was given."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from stablerule.learning.extraction import rule_frame
from stablerule.rules import RuleSet
from stablerule.rules.statistics import measure_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.paths.examples import ExampleFacts

BEAM = 5  # times as many beginnings are followed as rules are kept
MEASURED = 3  # times as many are measured: some link nobody


class Bodies(NamedTuple):
    """Distinct bodies (n, L), filled with -1, and their weights (n,)."""

    steps: NDArray[np.int64]
    weights: NDArray[np.float64]


def read_bodies(operators: NDArray[np.float64], memory: NDArray[np.float64], beam: int) -> Bodies:
    """Read the heaviest bodies, the heaviest first, from the attention that one relation is asked with.

    operators: (C, L, 2R + 1), memory: (C, L + 1, L + 1), as `Spreading` takes them. The weight of a body is the sum
    over all ways to walk it: where a step stays in place or takes up an earlier value, several walk the same body.
    beam: how many are followed from step to step; those that are left out weigh less than all that are followed.
    """
    chains = [_read_chain(*chain, beam) for chain in zip(operators, memory, strict=True)]
    return _add_up([(bodies, 1 / len(chains)) for bodies in chains], beam)


def _read_chain(a: NDArray[np.float64], b: NDArray[np.float64], beam: int) -> Bodies:
    length, relations = len(a), a.shape[1] - 1
    values = [Bodies(np.full((1, length), -1), np.ones(1))]  # of u_0 .. u_t
    for t in range(length):
        taken = _add_up(list(zip(values, b[t, : t + 1].tolist(), strict=True)), beam)
        weights = np.outer(taken.weights, a[t, :relations]).ravel()
        heavy = _heaviest(weights, beam)
        beginnings, walked = taken.steps[heavy // relations], (taken.steps >= 0).sum(1)[heavy // relations]
        beginnings[np.arange(len(heavy)), walked] = heavy % relations  # at most t steps are walked: there is room
        further = Bodies(beginnings, weights[heavy])
        values.append(_add_up([(further, 1.0), (taken, float(a[t, relations]))], beam))
    return _add_up(list(zip(values, b[length].tolist(), strict=True)), beam)


def _heaviest(weights: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The places of the heaviest."""
    if len(weights) <= most:
        return np.arange(len(weights))
    return np.sort(np.argpartition(-weights, most)[:most])


def _add_up(parts: list[tuple[Bodies, float]], most: int) -> Bodies:
    """Join weighted parts; the same body in several is one, and the heaviest are kept."""
    steps = np.concatenate([bodies.steps for bodies, _ in parts])
    weights = np.concatenate([bodies.weights * factor for bodies, factor in parts])
    steps, weights = steps[weights > 0], weights[weights > 0]
    distinct, which = np.unique(steps, axis=0, return_inverse=True)
    sums: NDArray[np.float64] = np.bincount(which.ravel(), weights, len(distinct)).astype(np.float64)
    order = np.argsort(-sums, kind="stable")[:most]
    return Bodies(distinct[order], sums[order])


def make_rules(
    graph: Graph,
    operators: NDArray[np.float64],
    memory: NDArray[np.float64],
    *,
    examples: ExampleFacts,
    least: float,
    most: int,
    budget: float | None,
    seed: int,
) -> RuleSet:
    """Make rules of the attention for all 2R relations, (2R, C, ...), and measure them on the graph.

    least: of the heaviest rule of the relation, what a rule must weigh; most: rules for each relation. Bodies that link
    nobody in the graph are left out before, and so is r <- r: they may weigh much, as nothing speaks against them.
    """
    heads, bodies, weights = [], [], []
    for head, attention in enumerate(zip(operators, memory, strict=True)):
        found = read_bodies(*attention, BEAM * most)
        itself = (found.steps[:, 0] == head) & (found.steps[:, 1:] < 0).all(1)
        said = np.flatnonzero((found.steps[:, 0] >= 0) & ~itself)[: MEASURED * most]
        heads.append(np.full(len(said), head))
        bodies.append(found.steps[said])
        weights.append(found.weights[said])
    all_heads, all_bodies = np.concatenate(heads), np.concatenate(bodies).astype(np.int32)
    numbers = asdict(
        measure_rules(graph, all_bodies, all_heads.astype(np.int32), examples=examples, budget=budget, seed=seed)
    )
    columns = {name: pl.Series(column) for name, column in numbers.items() if name != "heads_tried"}
    frame = rule_frame(graph, all_bodies, all_heads).with_columns(score=pl.Series(np.concatenate(weights)), **columns)
    firing = RuleSet.from_frame(frame.filter(pl.col("body_count") > 0)).top_per_relation(most).to_frame()
    heavy = pl.col("score") >= least * pl.col("score").max().over("head_relation")
    return RuleSet.from_frame(firing.filter(heavy))
