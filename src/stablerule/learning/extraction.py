"""Extract a RuleSet from scores: the best bodies of each head relation, measured on the graph.

Rules with constants, r(X, c) <- s(X, d) and r(X, c) <- s(X, A), are counted exactly, for all relations at once.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from stablerule.paths.support import count_relation_heads
from stablerule.paths.traits import count_traits, list_traits, name_traits
from stablerule.paths.withheld import ExampleFacts
from stablerule.progress import progress_bar
from stablerule.rules import RuleSet
from stablerule.rules.measuring import measure_rules
from stablerule.rules.scored import PESSIMISM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.samples import RuleSamples

MANY_FACTS = 100_000
BLOCK = 4096  # bodies scored at a time


class Candidates(NamedTuple):
    """Scored (body, head relation) pairs (n,); a body is a row of RuleSamples.bodies."""

    bodies: NDArray[np.int64]
    heads: NDArray[np.int64]
    scores: NDArray[np.float64]

    def take(self, which: NDArray[Any]) -> Candidates:
        """Return some of them."""
        return Candidates(*(column[which] for column in self))

    @classmethod
    def concat(cls, parts: Sequence[Candidates]) -> Candidates:
        """Join several."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def keep_best_bodies(parts: Iterable[Candidates], relations: int, k: int) -> Candidates:
    """Return the k best candidates for each of 2R head relations; equal scores are in the order of the bodies."""
    kept = Candidates(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    enough = np.full(2 * relations, -np.inf)  # the k-th best so far; worse ones are skipped
    for part in parts:
        good = part.scores > enough[part.heads]
        joined = [np.concatenate([old, new[good]]) for old, new in zip(kept, part, strict=True)]
        order = np.lexsort((joined[0], -joined[2], joined[1]))
        bodies, heads, scores = (column[order] for column in joined)
        rank = np.arange(len(heads)) - np.searchsorted(heads, heads)
        full = heads[rank == k - 1]
        enough[full] = scores[rank == k - 1]
        kept = Candidates(bodies[rank < k], heads[rank < k], scores[rank < k])
    return kept


def keep_best_by_length(
    parts: Iterable[Candidates], samples: RuleSamples, relations: int, k: int, base: int, k_longer: int
) -> list[Candidates]:
    """Keep the k best up to the length `base` for each of 2R head relations, and the `k_longer` best of each length."""
    groups = max(samples.max_length - base, 0) + 1

    def by_group() -> Iterator[Candidates]:
        for part in parts:
            group = np.maximum(samples.lengths[part.bodies] - base, 0)
            yield part._replace(heads=part.heads + 2 * relations * group)

    best = keep_best_bodies(by_group(), relations * groups, max(k, k_longer))
    rank = np.arange(len(best.heads)) - np.searchsorted(best.heads, best.heads)
    group, heads = np.divmod(best.heads, 2 * relations)
    best = best._replace(heads=heads)
    return [best.take((group == i) & (rank < (k_longer if i else k))) for i in range(groups)]


def smooth_sample_counts(samples: RuleSamples, smoothing: float) -> NDArray[np.float64]:
    """Return P(head relation | body) for every counted cell, from smoothed counts."""
    prior = np.bincount(samples.cell_heads, samples.cell_counts, samples.negative + 1) / max(samples.n_samples, 1)
    total = samples.totals[samples.cell_bodies] + smoothing
    found: NDArray[np.float64] = (samples.cell_counts + smoothing * prior[samples.cell_heads]) / total
    return found


def score_bodies(
    samples: RuleSamples, score: Callable[[Ids], NDArray[np.float64]], smoothing: float | None
) -> Iterator[Candidates]:
    """Score every body that some relation closed, in blocks; other bodies can't become rules.

    score: from bodies (n, L), padded with -1, to P(head relation | body) (n, 2R or more).
    """
    rows = np.flatnonzero(samples.closed)
    with progress_bar("scoring bodies", len(rows)) as advance:
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            yield list_scored_bodies(block, score(samples.bodies[block]), samples, smoothing)
            advance(len(block))


def list_scored_bodies(
    rows: NDArray[np.int64], p: NDArray[np.float64], samples: RuleSamples, smoothing: float | None
) -> Candidates:
    """Return all pairs of a block of bodies (rows, ascending) and the 2R relations, except r <- r.

    p: P(head relation | body) by the network. It has the weight of `smoothing` samples when mixed with the counts, so
    frequent bodies depend mostly on their counts. None: the network alone.
    """
    relations = 2 * samples.n_relations
    p = p[:, :relations]
    if smoothing is not None:
        p = (samples.count_heads(rows) + smoothing * p) / (samples.totals[rows] + smoothing)[:, None]
    bodies, heads = np.repeat(rows, relations), np.tile(np.arange(relations), len(rows))
    single = (samples.lengths[bodies] == 1) & (samples.bodies[bodies, 0] == heads)
    return Candidates(bodies[~single], heads[~single], p.ravel()[~single])


def measure_chains(
    graph: Graph,
    samples: RuleSamples,
    best: Candidates,
    *,
    examples: ExampleFacts,
    min_support: float,
    budget: float | None,
    seed: int,
) -> RuleSet:
    """Measure the rules on the graph, drop those with too little support, and name their relations."""
    bodies = samples.bodies[best.bodies]
    found = measure_rules(graph, bodies, best.heads.astype(np.int32), examples=examples, budget=budget, seed=seed)
    frame = name_learned_rules(graph, bodies, best.heads).with_columns(score=pl.Series(best.scores))
    numbers = {name: pl.Series(column) for name, column in asdict(found).items() if name != "heads_tried"}
    return RuleSet.from_frame(frame.with_columns(**numbers).filter(pl.col("support") >= min_support))


def name_learned_rules(graph: Graph, bodies: Ids, heads: NDArray[np.int64]) -> pl.DataFrame:
    """Return rules given by id as a frame with head_relation and body by name."""
    names = graph.vocabulary.all_relations
    # -1 pads short bodies; it becomes null.
    steps = [names.gather(pl.Series(column).replace(-1, None).cast(pl.UInt32)) for column in bodies.T.astype(np.int64)]
    body = pl.DataFrame({str(i): step for i, step in enumerate(steps)}).select(
        pl.concat_list(pl.all()).list.drop_nulls().alias("body")
    )
    return body.select(names.gather(pl.Series(heads)).alias("head_relation"), "body")


def number_learned_rules(frame: pl.DataFrame, graph: Graph) -> tuple[Ids, Ids]:
    """Return chain rules given by name as bodies (n, L), padded with -1, and head relations (n,)."""
    ids = {name: i for i, name in enumerate(graph.vocabulary.all_relations)}
    rows = [[ids[name] for name in body] for body in frame["body"]]
    bodies = np.full((len(rows), max(map(len, rows), default=1)), -1, np.int32)
    for place, row in zip(bodies, rows, strict=True):
        place[: len(row)] = row
    return bodies, np.array([ids[name] for name in frame["head_relation"]], np.int32)


def find_constant_rules(
    graph: Graph,
    *,
    examples: ExampleFacts | None = None,
    min_support: int | None = None,
    min_confidence: float = 0.05,
    per_constant: int | None = None,
) -> RuleSet:
    """Find the rules with constants that are frequent and confident, the best `per_constant` for each r(X, c).

    By default min_support is 2 and per_constant 1000; on a graph of more than 100,000 facts, 3 and 100, to avoid many
    millions of rules. examples: the facts that count as conclusions; None is all. Other facts count as neither right
    nor wrong.

    >>> from stablerule.graph import Dataset
    >>> french = [(f"p{i}", "born_in", "Paris") for i in range(4)] + [(f"p{i}", "speaks", "French") for i in range(4)]
    >>> for rule in find_constant_rules(Dataset.from_names("people", train=french).graph).sort("support"):
    ...     print(rule.rule, rule.support, rule.body_count)
    born_in(X, 'Paris') <- speaks(X, A) 4.0 4.0
    born_in(X, 'Paris') <- speaks(X, 'French') 4.0 4.0
    speaks(X, 'French') <- born_in(X, A) 4.0 4.0
    speaks(X, 'French') <- born_in(X, 'Paris') 4.0 4.0
    """
    small = graph.n_facts <= MANY_FACTS
    min_support = min_support or (2 if small else 3)
    per_constant = per_constant or (1000 if small else 100)
    examples = examples or ExampleFacts.all_of(graph)
    traits = list_traits(graph)
    found = count_traits(
        graph,
        traits,
        min_support=min_support,
        min_confidence=min_confidence,
        pessimism=PESSIMISM,
        examples=examples,
    )
    confidence = found.support / (found.body_count + PESSIMISM)
    best = _keep_best_constant_rules(
        found.heads.astype(np.int64) * graph.n_entities + found.constants, confidence, per_constant
    )
    relations, tails = name_traits(traits, graph, found.traits[best])
    heads, support = found.heads[best], found.support[best].astype(np.float64)
    words, entities = graph.vocabulary.all_relations, graph.vocabulary.entities.table
    facts = np.diff(examples.facts.fact_offsets)[heads % graph.n_relations]
    common = _measure_share_of_heads(examples.facts, heads, found.constants[best])
    frame = pl.DataFrame(
        {
            "head_relation": words.gather(pl.Series(heads.astype(np.int64))),
            "body": words.gather(pl.Series(relations.astype(np.int64))).reshape((-1, 1)).arr.to_list(),
            "constant": entities.gather(pl.Series(found.constants[best].astype(np.int64))),
            "body_constant": entities.gather(pl.Series(tails.astype(np.int64)).replace(-1, None).cast(pl.UInt32)),
            "support": support,
            "body_count": found.body_count[best].astype(np.float64),
            "confidence": confidence[best],
            "pca_confidence": support / (found.partial_count[best] + PESSIMISM),
            "head_coverage": support / np.maximum(facts, 1),
            "base_rate": common,
            "confidence_low": confidence[best],
            "confidence_high": confidence[best],
        }
    )
    return RuleSet.from_frame(frame)


def _measure_share_of_heads(facts: Graph, relations: Ids, tails: Ids) -> NDArray[np.float64]:
    """Return the share of the heads of each relation that have the tail."""
    starts = np.repeat(np.arange(facts.n_entities, dtype=np.int64), facts.degrees)
    edges = starts * 2 * facts.n_relations + facts.edge_relations  # sorted
    wanted = tails.astype(np.int64) * 2 * facts.n_relations
    wanted += (relations + facts.n_relations) % (2 * facts.n_relations)
    having = np.searchsorted(edges, wanted, "right") - np.searchsorted(edges, wanted, "left")
    shares: NDArray[np.float64] = having / count_relation_heads(facts)[relations]
    return shares


def _keep_best_constant_rules(group: NDArray[np.int64], value: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the indices of the k highest values of each group; of equal ones the first."""
    order = np.lexsort((-value, group))
    ranked = group[order]
    return order[np.arange(len(order)) - np.searchsorted(ranked, ranked) < k]
