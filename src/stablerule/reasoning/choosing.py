"""Choose the aggregation on facts that the rules did not see.

The facts are split into folds. Each fold is ranked by weights of `learned` that were fitted to the other folds, so that
every fact serves for both. `learned` is used unless another aggregation is better by two standard errors, for all
queries or for those of a relation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.paths.withheld import ExampleFacts
from stablerule.progress import progress_bar
from stablerule.reasoning.evidence_examples import FirstWeights, Queries, fire_queries
from stablerule.reasoning.evidence_weights import (
    Weights,
    fit_evidence_weights,
    fit_weights_by_folds,
    stretch_weights,
)
from stablerule.reasoning.learned import Choice
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.evidence_examples import Examples, Fired
    from stablerule.reasoning.scoring.theory import Encoded

ROWS = 64  # the answer and its rivals, for each query that weights are fitted to
FOLDS = 5
MOST_JUDGED = 3000  # training facts that choose where there are no others
MOST_QUERIES = 12_000
FEWEST_TO_CHOOSE = 60  # queries: with fewer there is nothing to choose by
FEWEST_OF_A_RELATION = 100  # judged queries: with fewer a relation has no way of its own
CALIBRATING, FEWEST_TO_PART = 0.15, 200  # the share of valid that calibrates, and the fewest facts to part
RIDGES = (1.0, 4.0, 16.0, 64.0)
FIRST_RIDGE = 16.0
CLEARLY = 2.0  # standard errors of a mean difference
FIXED = (
    Aggregation("max_plus"),
    Aggregation("noisy_or", top=5),
    Aggregation("noisy_or"),
    Aggregation("log_count"),
    Aggregation("count"),
    Aggregation("binary"),
)


class Result(NamedTuple):
    """An aggregation that was tried, and the reciprocal rank of each query (n,)."""

    aggregation: Aggregation
    found: NDArray[np.float64]


def split_valid_for_choosing(valid: Triples | None, seed: int) -> tuple[Triples | None, Triples | None]:
    """Part valid in two: most of it chooses how to answer, the rest, which chose nothing, may calibrate."""
    if valid is None or len(valid) < FEWEST_TO_PART:
        return valid if valid is not None and len(valid) else None, None
    order = np.random.default_rng([seed, len(valid)]).permutation(len(valid))
    cut = int(len(order) * CALIBRATING)
    return valid.take(np.sort(order[cut:])), valid.take(np.sort(order[:cut]))


def choose_aggregation(
    encoded: Encoded,
    valid: Triples | None,
    known: Graph,
    *,
    only: str | None,
    fixed: Aggregation,
    seed: int,
    examples: ExampleFacts | None = None,
    most: int = MOST_QUERIES,
) -> Choice:
    """Try all aggregations, or `only` one of them, and choose the one with the best realistic MRR.

    The rules fire once for each query: what fired ranks the answer under every fixed aggregation, and is the evidence
    that weights of `learned` are fitted to, without each fold in turn. Then they fire once more, for the competing
    candidates that are the strongest by these weights; the final weights are fitted to those where that is better. All
    facts together fit them, and fit them once more without the evidence of rules with constants, for graphs that have
    none of these.
    Without validation facts it uses training facts, each hidden while it is asked for; first those whose pair has no
    other link, because new facts seldom have one. examples: the training facts that may be used; None is all.
    known: true facts, which are no competing candidates. most: the largest number of queries.
    """
    if only is not None and only != "learned":
        return Choice.fixed(fixed, "set by an option")
    graph, hidden = encoded.graph, valid is None or not len(valid)
    facts = (
        _draw_training_queries(graph, examples or ExampleFacts.all_of(graph), seed)
        if hidden or valid is None
        else valid
    )
    queries, folds = deal_into_folds(facts, graph, seed, most)
    n = len(queries.heads)
    if n < FEWEST_TO_CHOOSE:
        return Choice.fixed(fixed, f"{n} queries are too few to choose, at least {FEWEST_TO_CHOOSE} are needed")
    ways = () if only else FIXED
    search = RuleSearcher(encoded, FIXED[0])
    with progress_bar("choosing an aggregation", 4) as advance:
        fired = fire_queries(search, queries, known, ROWS, hidden=hidden, aggregations=ways)
        advance(1)
        learned = _fit_learned(search, fired, queries, folds, known, hidden=hidden, seed=seed)
        advance(3)
    results = [Result(way, fired.tried[:, i]) for i, way in enumerate(ways)]
    results.insert(0, Result(Aggregation("learned", weights=learned.weights), learned.found))
    aggregation = choose_result(results, queries, graph)
    if "learned" in (aggregation.name, *aggregation.relations.values()):
        alone = _fit_weights_for_chains_alone(encoded, learned.examples, learned.ridge, seed)
        aggregation = replace(aggregation, weights=learned.weights, chain_weights=alone)
    tried = tuple(
        {"name": r.aggregation.name, "by": r.aggregation.by, "top": r.aggregation.top, "mrr": _round_mean(r.found)}
        | {"folds": [_round_mean(r.found[folds == fold]) for fold in range(FOLDS)]}
        | ({"ridge": learned.ridge} if r.aggregation.name == "learned" else {})
        for r in results
    )
    chosen_on = "training facts, each hidden in turn" if hidden else "the validation facts"
    return Choice(aggregation, tried, n, n, chosen_on)


class _Learned(NamedTuple):
    """The fit of `learned`: its weights, each query's reciprocal rank in a fold left out of the fit, and its ridge."""

    weights: Weights
    found: NDArray[np.float64]
    ridge: float
    examples: Examples


def _fit_learned(
    search: RuleSearcher,
    fired: Fired,
    queries: Queries,
    folds: NDArray[np.int64],
    known: Graph,
    *,
    hidden: bool,
    seed: int,
) -> _Learned:
    """Fit `learned` by folds, first to the competing candidates with the most evidence, then to the highest scores."""
    graph, examples, missed = search.graph, fired.examples[0], fired.ranked
    relations = 2 * graph.n_relations
    if (examples.stand_for > 1).any():  # there are more candidates than rows
        (first,) = fit_weights_by_folds(examples, folds, relations, [FIRST_RIDGE], seed)
        weights = FirstWeights(first.table, folds)
        again = fire_queries(search, queries, known, ROWS, hidden=hidden, weights=weights)
        examples = again.examples[0]
    fits = fit_weights_by_folds(examples, folds, relations, RIDGES, seed)
    ranked = [fitted.rank(examples, folds, missed) for fitted in fits]
    best = max(range(len(fits)), key=lambda i: float(ranked[i].mean()))
    return _Learned(stretch_weights(examples, fits[best], graph, seed), ranked[best], RIDGES[best], examples)


def choose_result(results: Sequence[Result], queries: Queries, graph: Graph) -> Aggregation:
    """Choose the first of the results, unless another is clearly better; and so for each relation with many queries."""
    chosen = _choose_clearly_best(results, np.arange(len(queries.heads)))
    way, own = chosen.aggregation, dict[str, Any]()
    # Another `by` or `top` would need rules of other weights: those are common to all relations.
    alike = [r for r in results if (r.aggregation.by, r.aggregation.top) == (way.by, way.top) and r is not chosen]
    for relation in np.unique(queries.relations).tolist():
        here = np.flatnonzero(queries.relations == relation)
        if len(here) >= FEWEST_OF_A_RELATION:
            best = _choose_clearly_best([chosen, *alike], here)
            if best is not chosen:
                own[graph.vocabulary.relation_name(relation)] = best.aggregation.name
    weights = next((r.aggregation.weights for r in results if r.aggregation.weights), {})
    return replace(way, relations=own, weights=way.weights or weights)


def _choose_clearly_best(results: Sequence[Result], which: NDArray[np.int64]) -> Result:
    """Return the first result, or the best of the others where that is better by more than chance."""
    first, *others = results
    if not others:
        return first
    best = max(others, key=lambda r: float(r.found[which].mean()))
    return best if is_clearly_better(best.found[which], first.found[which]) else first


def is_clearly_better(found: NDArray[np.float64], usual: NDArray[np.float64]) -> bool:
    """Tell whether numbers (n,) are larger than others, pair by pair, by two standard errors of their mean."""
    gain = found - usual
    return bool(gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)))


def _round_mean(found: NDArray[np.float64]) -> float:
    return round(float(found.mean()), 4) if len(found) else 0.0


def _fit_weights_for_chains_alone(encoded: Encoded, evidence: Examples, ridge: float, seed: int) -> Weights:
    """Fit weights to what chains say alone; none where there is nothing else, or nothing to fit to."""
    if encoded.n_chains == len(encoded.rows):
        return {}
    alone = evidence.by_chains_alone()
    return fit_evidence_weights(alone, encoded.graph, [ridge], seed)[0] if len(alone.useful) else {}


def deal_into_folds(
    facts: Triples, graph: Graph, seed: int, most: int = MOST_QUERIES
) -> tuple[Queries, NDArray[np.int64]]:
    """Ask facts from both ends, at most so many queries; both queries of a fact are in one fold (n,).

    Relations with few facts have all of them; of the others, all have as many.
    """
    facts = facts.take(np.random.default_rng(seed).permutation(len(facts)))
    place = _number_within_relation(facts.relations)
    kept = np.flatnonzero(place < _limit_each_relation(facts.relations, most // 2))
    facts, place = facts.take(kept), place[kept]
    return Queries.both_ways(facts, graph.n_relations), np.tile(place % FOLDS, 2)


def _limit_each_relation(relations: Ids, most: int) -> int:
    """Return how many facts (n,) of each relation there may be, such that there are at most so many in all."""
    counts = np.sort(np.bincount(relations))
    before = np.cumsum(counts) - counts  # the facts of all relations with fewer
    allowed = (most - before) // np.arange(len(counts), 0, -1)
    full = np.flatnonzero(allowed < counts)
    return max(1, int(allowed[full[0]])) if len(full) else len(relations)


def _number_within_relation(relations: Ids) -> NDArray[np.int64]:
    """Number the facts (n,) of each relation, from 0 on, in their order."""
    order = np.argsort(relations, kind="stable")
    ranked, place = relations[order], np.empty(len(relations), np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    return place


def _draw_training_queries(graph: Graph, examples: ExampleFacts, seed: int) -> Triples:
    """Take some examples, first those whose pair has no other link in the graph."""
    random = np.random.default_rng(seed)
    facts = examples.facts.triples.take(random.permutation(examples.facts.n_facts)[: 8 * MOST_JUDGED])
    links = np.array([len(graph.relations_between(int(h), int(t))) for h, _, t in facts.rows], np.int64)
    return facts.take(np.argsort(links, kind="stable")[:MOST_JUDGED])
