"""Which aggregation answers best, chosen on facts that the rules did not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from stablerule.paths.withheld import ExampleFacts
from stablerule.progress import progress_bar
from stablerule.reasoning.evidence_weights import (
    Weights,
    collect_weight_examples,
    fit_evidence_weights,
    rank_weight_examples,
)
from stablerule.reasoning.learned import Choice
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.evidence_weights import Examples
    from stablerule.reasoning.scoring.theory import By, Encoded

ROWS = 64  # the answer and its rivals, for each query that weights are fitted to
MOST_JUDGED = 3000  # queries
MOST_OF_A_RELATION = 500  # queries of one relation that weights are fitted to
FEWEST_TO_CHOOSE = 60  # queries: with fewer there is nothing to choose by
FEWEST_OF_A_RELATION = 100  # judged queries: with fewer a relation has no way of its own
CALIBRATING, FEWEST_TO_PART = 0.15, 200  # the share of valid that calibrates, and the fewest facts to part
RIDGES = (1.0, 4.0, 16.0, 64.0)
FIXED = (
    Aggregation("max_plus"),
    Aggregation("noisy_or", top=5),
    Aggregation("noisy_or"),
    Aggregation("log_count"),
    Aggregation("count"),
    Aggregation("binary"),
)
BY_SCORE = tuple(replace(way, by="score") for way in FIXED if way.name in ("max_plus", "noisy_or", "count"))

Encode: TypeAlias = Callable[["By"], "Encoded"]
Result: TypeAlias = "tuple[Aggregation, NDArray[np.float64]]"  # what was tried, 1 / ranks


class Queries(NamedTuple):
    """Questions with their answers by id (n,): heads, relations and inverses, answers."""

    heads: Ids
    relations: Ids
    answers: Ids

    @classmethod
    def both_ways(cls, facts: Triples, relations: int) -> Queries:
        """Ask each fact for its tail and for its head."""
        h, r, t = facts.heads, facts.relations, facts.tails
        return cls(np.concatenate([h, t]), np.concatenate([r, r + np.int32(relations)]), np.concatenate([t, h]))

    def take(self, which: NDArray[np.int64]) -> Queries:
        """Return some of them."""
        return Queries(*(column[which] for column in self))


def split_valid_for_choosing(valid: Triples | None, seed: int) -> tuple[Triples | None, Triples | None]:
    """Part valid in two: most of it chooses how to answer, the rest, which chose nothing, may calibrate."""
    if valid is None or len(valid) < FEWEST_TO_PART:
        return valid if valid is not None and len(valid) else None, None
    order = np.random.default_rng([seed, len(valid)]).permutation(len(valid))
    cut = int(len(order) * CALIBRATING)
    return valid.take(np.sort(order[cut:])), valid.take(np.sort(order[:cut]))


def choose_aggregation(
    encode: Encode,
    graph: Graph,
    valid: Triples | None,
    known: Graph,
    *,
    only: str | None,
    fixed: Aggregation,
    seed: int,
    examples: ExampleFacts | None = None,
) -> Choice:
    """Try all aggregations, or `only` one of them, and choose the one with the best realistic MRR.

    Half of the facts fit the weights of `learned`, the other half judge, first its ridge, by the evidence that was
    gathered anyway; the weights are then fitted again to all, and once more without the evidence of rules with
    constants, for graphs that have none of these.
    Without valid facts, training facts serve, each hidden while it is asked for; rather those whose pair has no
    other link, because the facts that one asks for seldom have one. examples: those of them that may; None is all.
    known: what is true, and no rival.
    """
    if only is not None and only != "learned":
        return Choice.fixed(fixed, "it was asked for")
    hidden = valid is None or not len(valid)
    facts = (
        _draw_training_queries(graph, examples or ExampleFacts.all_of(graph), seed)
        if hidden or valid is None
        else valid
    )
    random = np.random.default_rng(seed)
    queries = _limit_queries_of_each_relation(
        Queries.both_ways(facts.take(random.permutation(len(facts))), graph.n_relations)
    )
    n = len(queries.heads)
    order = random.permutation(n)
    judging, fitting = order[: min(n // 2, MOST_JUDGED)], order[min(n // 2, MOST_JUDGED) :]
    if n < FEWEST_TO_CHOOSE:
        return Choice.fixed(fixed, f"{n} queries are too few, it takes {FEWEST_TO_CHOOSE}")
    judge = _Judge(graph, queries.take(judging), known, hidden)
    encoded = encode("confidence")
    evidence = collect_weight_examples(RuleSearcher(encoded, FIXED[0]), *queries, known, ROWS, hidden=hidden)
    ways = [] if only else list(FIXED)
    half, rest = evidence.take(fitting), evidence.take(judging)
    fits = dict(zip(RIDGES, fit_evidence_weights(half, graph, RIDGES, seed), strict=True))
    ridge = max(fits, key=lambda one: rank_weight_examples(rest, graph, fits[one]))
    ways.append(Aggregation("learned", weights=fits[ridge]))
    if only is None and encoded.rules.to_frame()["score"].null_count() < len(encoded.rules):
        ways += BY_SCORE
    results: list[Result] = []
    with progress_bar("choosing an aggregation", len(ways)) as advance:
        for way in ways:
            results.append((way, judge.reciprocal_ranks(encode(way.by), way)))
            advance(1)
    aggregation = judge.with_relations(max(results, key=lambda result: float(result[1].mean())), results)
    if "learned" in (aggregation.name, *aggregation.relations.values()):
        (weights,) = fit_evidence_weights(evidence, graph, [ridge], seed)
        aggregation = replace(
            aggregation, weights=weights, chain_weights=_fit_weights_for_chains_alone(encoded, evidence, ridge, seed)
        )
    tried = tuple(
        {"name": w.name, "by": w.by, "top": w.top, "mrr": round(float(found.mean()), 4)}
        | ({"ridge": ridge} if w.name == "learned" else {})
        for w, found in results
    )
    chosen_on = "training facts, each hidden in turn" if hidden else "valid"
    return Choice(aggregation, tried, len(judging), n, chosen_on)


def _fit_weights_for_chains_alone(encoded: Encoded, evidence: Examples, ridge: float, seed: int) -> Weights:
    """Fit weights to what chains say alone; none where there is nothing else, or nothing to fit to."""
    alone = evidence.by_chains_alone()
    if encoded.n_chains == len(encoded.rows) or not len(alone.useful):
        return {}
    return fit_evidence_weights(alone, encoded.graph, [ridge], seed)[0]


class _Judge:
    """The queries that decide."""

    def __init__(self, graph: Graph, queries: Queries, known: Graph, hidden: bool) -> None:
        self.graph, self.queries, self.known, self.hidden = graph, queries, known, hidden

    def reciprocal_ranks(self, encoded: Encoded, way: Aggregation) -> NDArray[np.float64]:
        ranks = RuleSearcher(encoded, way).rank(*self.queries, self.known, hidden=self.hidden)
        return 1 / ranks.form("realistic")

    def with_relations(self, best: Result, results: list[Result]) -> Aggregation:
        """Give a relation another way where that is better there by more than two standard errors."""
        way, usual = best
        own: dict[str, Any] = {}
        for relation in np.unique(self.queries.relations).tolist():
            here = np.flatnonzero(self.queries.relations == relation)
            if len(here) < FEWEST_OF_A_RELATION:
                continue
            # Another `by` or `top` would need rules of other weights: those are common to all relations.
            rivals = [r for r in results if (r[0].by, r[0].top) == (way.by, way.top) and r[0].name != way.name]
            for other, found in sorted(rivals, key=lambda r: -float(r[1][here].mean())):
                gain = found[here] - usual[here]
                if gain.mean() > 2 * gain.std() / np.sqrt(len(here)):
                    own[self.graph.vocabulary.relation_name(relation)] = other.name
                break
        weights = next((r[0].weights for r in results if r[0].weights), {})
        return replace(way, relations=own, weights=way.weights or weights)


def _limit_queries_of_each_relation(queries: Queries) -> Queries:
    """Leave out what is beyond the first hundreds of queries of a relation."""
    order = np.argsort(queries.relations, kind="stable")
    ranked = queries.relations[order]
    kept = order[np.arange(len(order)) - np.searchsorted(ranked, ranked) < MOST_OF_A_RELATION]
    return queries.take(np.sort(kept))


def _draw_training_queries(graph: Graph, examples: ExampleFacts, seed: int) -> Triples:
    """Take some examples, first those whose pair has no other link in the graph."""
    random = np.random.default_rng(seed)
    facts = examples.facts.triples.take(random.permutation(examples.facts.n_facts)[: 8 * MOST_JUDGED])
    links = np.array([len(graph.relations_between(int(h), int(t))) for h, _, t in facts.rows], np.int64)
    return facts.take(np.argsort(links, kind="stable")[:MOST_JUDGED])
