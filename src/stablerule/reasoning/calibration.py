"""Turn scores into probabilities: how likely the source of a graph lists a fact that is missing from the graph.

**What the number means.** A source, such as an encyclopaedia, lists facts; the graph has some of them, and others are
missing. The probability of a candidate is the share of similar candidates that the source lists. The graph does not
show how many facts are missing. So this is assumed: one fact in ten, the same share of each relation, at random
(`missing`). A candidate that is true but not listed by the source counts as wrong.

**How it is estimated.** Facts of the graph are hidden, one at a time, and scored as if the graph and the rule
statistics did not have them. They get the scores that missing facts would get. Each hidden fact represents a ninth of a
missing one. Then `complete` queries are asked, without known facts, and their candidates are counted. At a given score,
the share of correct candidates is the number of missing facts divided by the number of candidates. A curve that never
falls is fitted to these shares.

**Which candidates share a curve.** First, those of one relation in the same situation: the head already has a fact of
the relation or not, and the tail likewise. If fewer than `FEWEST_OF_A_RELATION` hidden facts are in that situation,
relations with the same behaviour share a curve: same aggregation, one-valued or not in each direction, symmetric or
not. If even these have fewer than `FEWEST`, all relations with the same aggregation share one; with fewer still there
is no curve. A candidate with an end of another kind has no probability (see `situations`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  # read at run time, by `make_record`
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import OptionError
from stablerule.graph import Graph, Triples
from stablerule.graph.behaviour import find_behaviour
from stablerule.reasoning.curves import Curve, ScoredCandidates, fit_curve
from stablerule.reasoning.queries import join_known_graphs
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import AGGREGATIONS
from stablerule.reasoning.scoring.theory import forget_own_facts
from stablerule.reasoning.situations import HAVING, LACKING, NOWHERE, OTHER, SITUATIONS, Situations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids
    from stablerule.paths.withheld import ExampleFacts

MISSING = 0.1  # share of the source's facts that the graph lacks
FEWEST = 30  # hidden facts needed for a curve
FEWEST_OF_A_RELATION = 100  # hidden facts needed for a curve of one relation
# Hidden facts and queries, each for all relations together and for all inverses; the minimum for each relation.
HIDDEN, ASKED, FEWEST_EACH = (10000, 4000), (10000, 3000), 30
CANDIDATES = 100  # for each query
WAYS = 2 * len(AGGREGATIONS)  # aggregations of relations, and of inverses
EDGES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
EARLIER = "the model was calibrated by an earlier version. Train it again"


class Reading(NamedTuple):
    """Probabilities (n,), NaN for none; standard errors of their curves (n,); the curves' numbers (n,), -1 for none."""

    probabilities: NDArray[np.float64]
    errors: NDArray[np.float64]
    curves: NDArray[np.int64]


@dataclass(frozen=True)
class Calibration:
    """Curves from score to probability, and which curve each relation or inverse uses in each situation; -1 is none.

    facts: number of facts of the graph. left_out: number of known facts, which were not candidates. hidden, queries:
    number of hidden facts and of queries. reliability: a check on validation facts that chose nothing, see
    `judge_probabilities`; empty without such facts. missing: the assumed share of the source's facts that the graph
    lacks.
    since: number of facts that became known after calibration.

    >>> curve = Curve((0.0, 1.0), (0.0, 0.5), (99, 99))
    >>> calibration = Calibration((curve,), {"capital_of": (0, 0, -1, -1)}, facts=900)
    >>> calibration.read("capital_of", np.array([0.5, 1.0, 1.0]), np.array([0, 1, 2])).probabilities
    array([0.25, 0.5 ,  nan])
    >>> calibration.assume(missing=0.05).read("capital_of", np.ones(1), np.zeros(1, int)).probabilities.round(2)
    array([0.24])
    """

    curves: tuple[Curve, ...]
    reads: Mapping[str, tuple[int, ...]]
    facts: int
    left_out: int = 0
    hidden: int = 0
    queries: int = 0
    reliability: Mapping[str, Any] = field(default_factory=dict, repr=False)
    missing: float = MISSING
    since: int = 0

    def __post_init__(self) -> None:
        for name, numbers in self.reads.items():
            if len(numbers) != len(SITUATIONS) or not all(-1 <= number < len(self.curves) for number in numbers):
                raise OptionError(f"relation {name!r} uses curves that do not exist: {numbers!r}")

    def assume(self, *, missing: float | None = None, known: int | None = None) -> Calibration:
        """Return the calibration for another share of missing facts, or another number of known facts."""
        since = self.since if known is None else max(0, known - self.left_out)
        return replace(self, missing=self.missing if missing is None else missing, since=since)

    def read(self, relation: str, scores: NDArray[np.float64], situations: NDArray[np.integer]) -> Reading:
        """Return the probabilities of candidates (n,) of one relation or inverse, by name."""
        own = np.array((*self.reads.get(relation, (-1,) * len(SITUATIONS)), -1), np.int64)
        which, given = own[np.asarray(situations, np.int64)], np.asarray(scores, np.float64)
        shares, counts = np.full(given.shape, np.nan), np.ones(given.shape)
        for number in np.unique(which[which >= 0]).tolist():
            here = which == number
            shares[here], counts[here] = self.curves[number].at(given[here]), self.curves[number].counts_at(given[here])
        # Facts known only since then were counted as candidates, and are no longer. They score like missing ones.
        odds = MISSING / (1 - MISSING)
        gone = np.minimum(shares * self.since / (odds * max(self.facts, 1)), 1)
        wanted = shares * self.missing / (1 - self.missing) / odds
        most = (counts + 1) / (counts + 2)  # a finite count never gives certainty
        found = np.minimum(wanted / np.maximum(1 - gone, 1e-9), most)
        return Reading(found, found * np.sqrt(2 / np.maximum(counts, 1)), which)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, from which `make_record` restores the calibration."""
        return {
            "facts": self.facts,
            "left_out": self.left_out,
            "hidden": self.hidden,
            "queries": self.queries,
            "reliability": dict(self.reliability),
            "curves": [{name: list(values) for name, values in vars(curve).items()} for curve in self.curves],
            "reads": {name: list(numbers) for name, numbers in self.reads.items()},
        }


def calibrate(
    search: RuleSearcher,
    known: Graph,
    *,
    check: Triples | None = None,
    examples: ExampleFacts | None = None,
    seed: int = 0,
    share: float = 1.0,
) -> Calibration | str:
    """Calibrate scores on facts of the graph, each hidden in turn; return the reason if that is not possible.

    known: true facts, which are not candidates. check: facts outside the graph that chose nothing. examples: the facts
    of the graph that may be hidden; None is all. share: of the usual facts and heads, the part to use.
    """
    graph, random = search.graph, np.random.default_rng([seed, search.graph.n_facts])
    known = join_known_graphs([graph, known], graph) or graph
    situations = Situations(known)
    unseen = RuleSearcher(forget_own_facts(search.encoded), search.ways.aggregation)
    hidden = _hide_calibration_facts(unseen, graph if examples is None else examples.facts, situations, random, share)
    if len(hidden.scores) < FEWEST:
        few = len(hidden.scores)
        return f"rules reach only {few} of the facts hidden for calibration; at least {FEWEST} are needed"
    queries = _sample_calibration_queries(situations, random, share)
    found = _find_calibration_candidates(search, queries, known, situations)
    curves, reads = _fit_calibration_curves(_list_calibration_sorts(search), hidden, found)
    if not curves:
        return f"no relation has {FEWEST} hidden facts with competing candidates"
    names = map(graph.vocabulary.relation_name, range(2 * graph.n_relations))
    calibration = Calibration(
        curves,
        {name: tuple(row) for name, row in zip(names, reads.tolist(), strict=True)},
        facts=graph.n_facts,
        left_out=known.n_facts,
        hidden=len(hidden.scores),
        queries=len(queries.heads),
    )
    return replace(calibration, reliability=_check_calibration(calibration, search, found, check, situations))


def read_answers(
    calibration: Calibration,
    known: Graph,
    heads: Ids,
    relations: Ids,
    entities: Ids,
    scores: NDArray[np.float64],
) -> list[float | None]:
    """Return the probabilities of n answers; None for a known fact, and where the calibration has none."""
    situations, curves = Situations(known), calibration.assume(known=known.n_facts)
    found = np.full(len(heads), np.nan)
    for relation in np.unique(relations).tolist():
        here = relations == relation
        where = situations.of(relation, heads[here], entities[here])
        name = known.vocabulary.relation_name(relation)
        found[here] = curves.read(name, scores[here], where).probabilities
    found[known.contains(Triples(np.stack([heads, relations, entities], axis=1)))] = np.nan
    return [None if math.isnan(one) else one for one in found.tolist()]


class _Queries(NamedTuple):
    """Queries (n,), and the number of queries that each one represents."""

    heads: Ids
    relations: Ids
    stand_for: NDArray[np.float64]


def _hide_calibration_facts(
    search: RuleSearcher, facts: Graph, situations: Situations, random: np.random.Generator, share: float
) -> ScoredCandidates:
    """Score some facts of each relation and inverse as if they were missing; keep those that a rule reaches."""
    graph, parts = search.graph, []
    for relation in range(2 * graph.n_relations):
        turned = relation >= graph.n_relations
        heads, tails = facts.facts(relation)
        n = min(len(heads), _share_out_calibration_queries(len(heads), HIDDEN[turned], facts.n_facts, share))
        which = random.choice(len(heads), n, replace=False)
        heads, tails = heads[which], tails[which]
        own = np.full(n, relation, np.int32)
        there = len(graph.facts(relation)[0]) * MISSING / (1 - MISSING)
        parts.append((heads, own, tails, situations.of_hidden(relation, heads, tails), np.full(n, there / max(n, 1))))
    heads, relations, tails, where, stand_for = (np.concatenate(column) for column in zip(*parts, strict=True))
    scores = search.score(heads, relations, tails, hidden=True)
    return ScoredCandidates(relations, where, scores, stand_for).take((scores != 0) & (where != NOWHERE))


def _share_out_calibration_queries(size: int, total: int, of_all: int, share: float = 1.0) -> int:
    """Return how many facts of a relation of some size to sample, so that all relations together give `total`."""
    return math.ceil(share * max(FEWEST_EACH, math.ceil(total * size / max(of_all, 1))))


def count_calibration_queries(graph: Graph) -> int:
    """Count the facts to hide and the heads to query, at most."""
    sizes = [len(graph.facts(relation)[0]) for relation in range(graph.n_relations)]
    each = [
        min(size, _share_out_calibration_queries(size, total, graph.n_facts))
        for size in sizes
        for total in (*HIDDEN, *ASKED)
    ]
    return sum(each)


def _sample_calibration_queries(situations: Situations, random: np.random.Generator, share: float) -> _Queries:
    """Sample queries of each relation and inverse: from heads with a fact of it, and from similar heads without."""
    graph, parts = situations.graph, []
    for relation in range(2 * graph.n_relations):
        turned, facts = relation >= graph.n_relations, len(graph.facts(relation)[0])
        states = situations.states(relation)
        for state in (LACKING, HAVING):
            heads = np.flatnonzero(states == state).astype(np.int32)
            n = min(len(heads), _share_out_calibration_queries(facts, ASKED[turned] // 2, graph.n_facts, share))
            some = random.choice(heads, n, replace=False)
            parts.append(_Queries(some, np.full(n, relation, np.int32), np.full(n, len(heads) / max(n, 1))))
    return _Queries(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _find_calibration_candidates(
    search: RuleSearcher, queries: _Queries, known: Graph, situations: Situations
) -> ScoredCandidates:
    graph = search.graph

    def of_kind(relation: int) -> NDArray[np.bool_]:
        ends: NDArray[np.bool_] = situations.states(graph.inverse(relation)) != OTHER
        return ends

    tails, scores, _ = search.answer(queries.heads, queries.relations, CANDIDATES, known, of_kind)
    query, place = np.nonzero(tails >= 0)
    relations, heads, ends = queries.relations[query], queries.heads[query], tails[query, place]
    where = np.empty(len(query), np.int8)
    for relation in np.unique(relations).tolist():
        here = relations == relation
        where[here] = situations.of(relation, heads[here], ends[here])
    return ScoredCandidates(relations, where, scores[query, place], queries.stand_for[query])


def _list_calibration_sorts(search: RuleSearcher) -> NDArray[np.int64]:
    """Return (2R, 3): the sorts of a relation or inverse, from itself alone to all with the same aggregation."""
    graph, size = search.graph, search.graph.n_relations
    behaviour, relations = find_behaviour(graph), np.arange(2 * size)
    way = np.array([search.ways.how(r).kind for r in relations.tolist()], np.int64) * 2 + (relations >= size)
    one_valued = behaviour.one_valued.astype(np.int64)
    alike = ((2 * one_valued + np.roll(one_valued, size)) * 2 + np.tile(behaviour.symmetric, 2)) * WAYS + way
    return np.stack([relations, 2 * size + WAYS + alike, 2 * size + way], axis=1)


def _fit_calibration_curves(
    sorts: NDArray[np.int64], hidden: ScoredCandidates, found: ScoredCandidates
) -> tuple[tuple[Curve, ...], NDArray[np.int64]]:
    """Fit the curves; return them, and which one each relation uses (2R, situations): the first with enough facts."""
    curves: list[Curve] = []
    number_of: dict[tuple[int, int], int] = {}
    reads = np.full((len(sorts), len(SITUATIONS)), -1, np.int64)
    for where in range(len(SITUATIONS)):
        of_hidden, of_found = hidden.situations == where, found.situations == where
        for level in (0, 1, 2):
            own = sorts[:, level]
            counts = np.bincount(own[hidden.relations[of_hidden]], minlength=int(sorts.max()) + 1)
            enough = counts >= (FEWEST_OF_A_RELATION if level == 0 else FEWEST)
            for relation in np.flatnonzero((reads[:, where] < 0) & enough[own]).tolist():
                key = (int(own[relation]), where)
                if key not in number_of:
                    members = own == own[relation]
                    curve = fit_curve(
                        hidden.take(of_hidden & members[hidden.relations]),
                        found.take(of_found & members[found.relations]),
                    )
                    number_of[key] = -1 if curve is None else len(curves)
                    curves += [] if curve is None else [curve]
                reads[relation, where] = number_of[key]
    return tuple(curves), reads


def _check_calibration(
    calibration: Calibration,
    search: RuleSearcher,
    found: ScoredCandidates,
    check: Triples | None,
    situations: Situations,
) -> dict[str, Any]:
    """Compare the probabilities with held-out facts, weighted so that they represent the missing facts."""
    if check is None or len(check) < FEWEST:
        return {}
    graph = search.graph
    scores = search.score(check.heads, check.relations, check.tails)
    where = np.full(len(check), NOWHERE, np.int8)
    for relation in np.unique(check.relations).tolist():
        here = check.relations == relation
        where[here] = situations.of_hidden(relation, check.heads[here], check.tails[here])
    stand_for = np.full(len(check), graph.n_facts * MISSING / (1 - MISSING) / len(check))
    held_out = ScoredCandidates(check.relations, where, scores, stand_for).take(scores != 0)
    of_relations = found.take(found.relations < graph.n_relations)
    predicted, of_held_out = (_predict_by_curves(calibration, some, graph) for some in (of_relations, held_out))
    return judge_probabilities(predicted, of_held_out, of_relations.stand_for, held_out.stand_for)


def _predict_by_curves(calibration: Calibration, some: ScoredCandidates, graph: Graph) -> NDArray[np.float64]:
    predicted = np.full(len(some.scores), np.nan)
    for relation in np.unique(some.relations).tolist():
        here = some.relations == relation
        name = graph.vocabulary.relation_name(relation)
        predicted[here] = calibration.read(name, some.scores[here], some.situations[here]).probabilities
    return predicted


def judge_probabilities(
    predicted: NDArray[np.float64],
    of_true: NDArray[np.float64],
    stand_for: NDArray[np.float64] | None = None,
    true_stand_for: NDArray[np.float64] | None = None,
    *,
    least: float = 0.0,
) -> dict[str, Any]:
    """Measure reliability from the probabilities of all candidates (n,) and of the true ones (m,); NaN is skipped.

    Return `bins` of the predicted probability, each with its size, mean prediction and observed share, and `ece`, the
    expected calibration error: the mean distance between the two. Only probabilities of at least `least` count.

    >>> judge_probabilities(np.array([0.05, 0.05, 0.75, 0.75]), np.array([0.75]))["ece"]
    0.15
    """
    weights, true_weights = (
        np.ones(len(values)) if given is None else given
        for values, given in ((predicted, stand_for), (of_true, true_stand_for))
    )
    edges = np.array(EDGES)
    place, true_place = (
        np.searchsorted(edges, v, side="right").clip(1, len(edges) - 1) - 1 for v in (predicted, of_true)
    )
    there, true_there = predicted >= least, of_true >= least
    bins, away, total = [], 0.0, float(weights[there].sum())
    for i in np.unique(place[there]).tolist():
        here, right = there & (place == i), true_there & (true_place == i)
        size = float(weights[here].sum())
        mean, observed = float(predicted[here] @ weights[here]) / size, float(true_weights[right].sum()) / size
        away += size * abs(mean - observed) / total
        bins.append(
            {
                "from": EDGES[i],
                "to": EDGES[i + 1],
                "n": round(size),
                "predicted": round(mean, 6),
                "observed": round(observed, 6),
            }
        )
    return {"n": round(total), "ece": round(away, 6) if bins else None, "bins": bins}
