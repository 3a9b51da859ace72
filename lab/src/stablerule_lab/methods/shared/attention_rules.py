"""Read rules from attention over relations: the weight of a body is the product of its steps' attention."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from stablerule.extending import measure_rules, name_learned_rules
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.extending import ExampleFacts
    from stablerule.graph import Graph

BEAM = 5  # partial bodies followed for each rule that is kept
MEASURED = 3  # rules measured for each one that is kept, since some bodies link nothing


class Bodies(NamedTuple):
    """Distinct bodies (n, L), padded with -1, and their weights (n,)."""

    steps: NDArray[np.int64]
    weights: NDArray[np.float64]


def read_bodies(operators: NDArray[np.float64], memory: NDArray[np.float64], beam: int) -> Bodies:
    """Return the heaviest bodies, heaviest first, of the attention for one query relation.

    operators: (C, L, 2R + 1), memory: (C, L + 1, L + 1), as for `Spreading`. The weight of a body is the sum over all
    ways to walk it; steps that stay or use an earlier value give several. beam: the number of partial bodies followed
    from step to step, the heaviest ones.
    """
    chains = [_read_chain(*chain, beam) for chain in zip(operators, memory, strict=True)]
    return _add_up([(bodies, 1 / len(chains)) for bodies in chains], beam)


def _read_chain(a: NDArray[np.float64], b: NDArray[np.float64], beam: int) -> Bodies:
    length, relations = len(a), a.shape[1] - 1
    values = [Bodies(np.full((1, length), -1), np.ones(1))]  # of u_0 .. u_t
    for t in range(length):
        taken = _add_up(list(zip(values, b[t, : t + 1].tolist(), strict=True)), beam)
        attention = np.argsort(-a[t, :relations], kind="stable")
        begun, step = promising_pairs(len(taken.weights), relations, beam)
        weights = taken.weights[begun] * a[t, attention[step]]
        heavy = _heaviest(weights, beam)
        beginnings, walked = taken.steps[begun[heavy]], (taken.steps >= 0).sum(1)[begun[heavy]]
        beginnings[np.arange(len(heavy)), walked] = attention[step[heavy]]  # there is room: at most t steps so far
        further = Bodies(beginnings, weights[heavy])
        values.append(_add_up([(further, 1.0), (taken, float(a[t, relations]))], beam))
    return _add_up(list(zip(values, b[length].tolist(), strict=True)), beam)


@lru_cache(maxsize=64)
def promising_pairs(rows: int, columns: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return index pairs (i, j) that contain the `most` largest products of two descending rows.

    At least (i + 1) * (j + 1) products, itself included, are as large as the one at (i, j).

    >>> [place.tolist() for place in promising_pairs(3, 3, 4)]
    [[0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 0]]
    """
    i, j = np.nonzero(np.multiply.outer(np.arange(1, rows + 1), np.arange(1, columns + 1)) <= most)
    return i, j


def _heaviest(weights: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the indices of the heaviest."""
    if len(weights) <= most:
        return np.arange(len(weights))
    return np.sort(np.argpartition(-weights, most)[:most])


def _add_up(parts: list[tuple[Bodies, float]], most: int) -> Bodies:
    """Merge weighted bodies, adding up equal ones, and keep the heaviest."""
    steps = np.concatenate([bodies.steps for bodies, _ in parts])
    weights = np.concatenate([bodies.weights * factor for bodies, factor in parts])
    steps, weights = steps[weights > 0], weights[weights > 0]
    distinct, which = np.unique(steps, axis=0, return_inverse=True)
    sums: NDArray[np.float64] = np.bincount(which.ravel(), weights, len(distinct)).astype(np.float64)
    order = np.argsort(-sums, kind="stable")[:most]
    return Bodies(distinct[order], sums[order])


def turns(graph: Graph) -> NDArray[np.float64]:
    """Return the share of walks along a relation and back that end where they started (2R,).

    >>> from stablerule import Dataset
    >>> turns(Dataset.from_names("cities", train=[("Bonn", "in", "Germany"), ("Kiel", "in", "Germany")]).graph).tolist()
    [0.5, 1.0]
    """
    ends = graph.edge_relations.astype(np.int64) * graph.n_entities + graph.edge_tails
    places, arriving = np.unique(ends, return_counts=True)
    relations, count = places // graph.n_entities, 2 * graph.n_relations
    walks = np.bincount(relations, arriving**2, count)  # from each tail's edges back to each of its heads
    return np.bincount(relations, arriving, count) / np.maximum(1, walks)


def without_turns(found: Bodies, turning: NDArray[np.float64]) -> Bodies:
    """Add bodies without steps that go back and forth.

    Mass also flows along walks that turn back, x to y to x to z, but a rule never repeats an entity. So the body
    without the turn gets the weight of the body with it, times the share of walks that do turn (2R,).
    """
    relations = len(turning) // 2
    parts, rest = [(found, 1.0)], found
    while len(rest.steps):
        shorter, weights = [], []
        before = np.zeros(len(rest.steps), bool)
        for at in range(rest.steps.shape[1] - 1):
            there, back = rest.steps[:, at], rest.steps[:, at + 1]
            turns_here = (there >= 0) & (back >= 0) & (back == (there + relations) % (2 * relations))
            turn = np.flatnonzero(turns_here & ~before)  # back and forth and back: one step remains either way
            before = turns_here
            left = np.delete(rest.steps[turn], (at, at + 1), axis=1)
            shorter.append(np.pad(left, ((0, 0), (0, 2)), constant_values=-1))
            weights.append(rest.weights[turn] * turning[there[turn]])
        if not shorter:
            break
        rest = Bodies(np.concatenate(shorter), np.concatenate(weights))
        parts.append((rest, 1.0))
    return _add_up(parts, sum(len(part.steps) for part, _ in parts))


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
    """Read rules from the attention for all 2R relations, (2R, C, ...), and measure them on the graph.

    least: the smallest weight of a rule, as a share of its relation's heaviest; or the smallest credit (weight times
    support), as a share of the largest credit. Since mass is normalised at every step, a light rule decides wherever
    the heavy ones lead nowhere. most: rules for each relation. Bodies that link nothing in the graph are dropped first,
    and so is r <- r: training does not lower their weights.
    """
    heads, bodies, weights, turning = [], [], [], turns(graph)
    for head, attention in enumerate(zip(operators, memory, strict=True)):
        found = without_turns(read_bodies(*attention, BEAM * most), turning)
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
    frame = name_learned_rules(graph, all_bodies, all_heads).with_columns(
        score=pl.Series(np.concatenate(weights)), **columns
    )
    weight, credit = pl.col("score"), pl.col("score") * pl.col("support")
    telling = pl.any_horizontal(much >= least * much.max().over("head_relation") for much in (weight, credit))
    return RuleSet.from_frame(frame.filter(pl.col("body_count") > 0).filter(telling)).top_per_relation(most)
