"""From scores to probabilities: how often a new candidate with such a score is among facts that were held out.

**Who is asked.** A query made from a held-out fact has at least one answer that is true and new; most queries have
none. To learn from the former how often candidates are right would say too much. So all heads that have some fact of
the relation are asked, as `complete` does by default: those of calibrating facts, and a sample of the others, each of
which stands for as many as were left out. Candidates are the best 100 in the range of the relation, known facts left
out. Nothing is said about heads that have no fact of the relation yet, nor about tails outside of its range.

**What the number is.** The share of such candidates, at such a score, that turn out to be facts of valid. Only a part
of valid, the one that chose nothing else, can be counted; each fact of it stands for the others too, so that a model
with 15% of valid to calibrate on counts each as 1 / 0.15. A candidate that is true but stands in no file counts as
false, and so does one that is only in test. Where only the facts of the graph are left out, as here, that is a lower
bound of the share that is true. Where valid and test are left out as well, many of the true ones are gone, and it need
not be one.

**Where there is none.** Curves that do no better than one probability for all, on queries that they were not fitted to,
say nothing, and are not kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  # read at run time, by `make_record`
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import OptionError
from stablerule.graph import Graph, Triples
from stablerule.reasoning.queries import candidate_limits
from stablerule.reasoning.scoring.score import ELSEWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids
    from stablerule.reasoning.rule_searcher import RuleSearcher

FEWEST = 30  # calibrating facts among the candidates: with fewer there is no calibration
FEWEST_OF_A_RELATION = 50  # with fewer, a relation shares the common curve
BEYOND_CHANCE = 2  # standard errors by which curves must be better than one probability for all
CANDIDATES = 100  # of each query
# Queries that are asked, of all relations together and of all inverses: heads of calibrating facts, and others; of each
# relation at least so many.
ASKED, OTHERS, FEWEST_ASKED = (1200, 600), (3000, 1000), 3
STEP = 30  # candidates that one value of a curve is the mean of, at least
EDGES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


@dataclass(frozen=True)
class Curve:
    """A curve that never falls: straight lines between points, level beyond the first and the last.

    >>> Curve((0.2, 0.4), (0.1, 0.5)).at(np.array([0.0, 0.3, 0.9]))
    array([0.1, 0.3, 0.5])
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(np.all(np.diff(values) >= 0) for values in (self.scores, (0, *self.probabilities, 1)))
        if not self.scores or len(self.scores) != len(self.probabilities) or not rising:
            raise OptionError("this is no curve that rises from 0 to 1 at most")

    def at(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Read the curve at many scores."""
        x, y = np.asarray(self.scores), np.asarray(self.probabilities)
        if len(x) == 1:
            return np.full(np.shape(scores), y[0])
        asked = np.clip(scores, x[0], x[-1])
        right = np.clip(np.searchsorted(x, asked, side="right"), 1, len(x) - 1)
        left = right - 1
        # By shares of a step, not by its slope, which is infinite where two scores are next to each other.
        share = (asked - x[left]) / np.where(x[right] > x[left], x[right] - x[left], 1.0)
        found: NDArray[np.float64] = np.clip(y[left] + share * (y[right] - y[left]), y[left], y[right])
        return found


@dataclass(frozen=True)
class Calibration:
    """A curve for each relation or inverse that had enough facts, and one for all others, at "*".

    None stands for too few facts to say anything. positives, queries: calibrating facts among the candidates, and
    queries that were asked. reliability: how it does on queries that it was not fitted to, see `judge`.

    >>> calibration = Calibration({"*": Curve((0.0, 1.0), (0.0, 0.5))})
    >>> calibration.probability("capital_of", np.array([0.5, 1.0]))
    array([0.25, 0.5 ])
    """

    curves: Mapping[str, Curve | None]
    positives: int = 0
    queries: int = 0
    reliability: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def probability(self, relation: str, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) for scores (n,) of a relation or inverse, by name; NaN where there is no curve for it."""
        curve = self.curves.get(relation, self.curves.get(ELSEWHERE))
        given = np.asarray(scores, np.float64)
        return np.full(given.shape, np.nan) if curve is None else curve.at(given)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, from which `make_record` makes the same."""
        return {
            "positives": self.positives,
            "queries": self.queries,
            "reliability": dict(self.reliability),
            "curves": {name: curve and asdict(curve) for name, curve in self.curves.items()},
        }


def calibrate(
    search: RuleSearcher, facts: Triples | None, known: Graph, *, seed: int = 0, share: float = 1.0
) -> Calibration | str:
    """Learn probabilities from facts that chose nothing else; where that can't be done, say why.

    facts: not in the graph that is searched. known: what is true, `facts` among it or not; it is never a candidate,
    except for `facts`. share: what `facts` are a random sample of, in part; 1 takes them for all that was held out.
    Below 1 each stands for the others, and a probability is the share of candidates that would be among all of those.
    """
    if facts is None or not len(facts):
        return "there are no facts to calibrate on: it needs a valid split of at least 200 facts"
    graph = search.graph
    held_out = Graph.build(facts, graph.vocabulary)
    left_out = Graph.build(known.triples.take(~held_out.contains(known.triples)), graph.vocabulary)
    queries = _sample_queries(graph, held_out, np.random.default_rng([seed, len(facts)]))
    found = _candidates(search, queries, held_out, left_out)
    found = found._replace(stand_for=np.where(found.labels, found.stand_for / share, found.stand_for))
    positives = int(found.labels.sum())
    if positives < FEWEST:
        return f"only {positives} of {len(facts):,} calibrating facts are among the candidates; it needs {FEWEST}"
    pools = _pools(search, found)
    fitted = {pool: _fit(found.take(pools[found.relations] == pool)) for pool in np.unique(pools).tolist()}
    predicted = _cross_predict(found, pools, seed)
    judged = ~np.isnan(predicted)
    predicted, some = predicted[judged], found.take(judged)
    reliability = judge(predicted, some.labels, some.stand_for)
    if not _beats_the_mean(predicted, some):
        if not len(predicted):
            return f"{positives} calibrating facts, for relations that score in different ways, are too few to judge it"
        brier, usual = reliability["brier"], reliability["brier_of_the_mean"]
        return (
            f"it shows no skill: on queries that it was not fitted to its Brier score is {brier}, no better (but for "
            f"chance) than the {usual} of one probability for all"
        )
    return Calibration(_by_name(search, pools, fitted), positives, len(queries.heads), reliability)


class _Queries(NamedTuple):
    """Queries (n,), for how many each one stands, and the most that one of its relation stands for."""

    heads: Ids
    relations: Ids
    stand_for: NDArray[np.float64]
    at_most: NDArray[np.float64]


class _Candidates(NamedTuple):
    """Candidates (n,): the query and its relation, the score, whether it is held out, how many it stands for.

    sizes: what it counts for a step of a curve. Where an other head stands for a hundred, the best twenty candidates
    may all be of the heads of calibrating facts, by chance: so these count a hundredth each.
    """

    queries: NDArray[np.int64]
    relations: Ids
    scores: NDArray[np.float64]
    labels: NDArray[np.bool_]
    stand_for: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def take(self, which: NDArray[Any]) -> _Candidates:
        return _Candidates(*(column[which] for column in self))


def _sample_queries(graph: Graph, held_out: Graph, random: np.random.Generator) -> _Queries:
    """Ask heads of calibrating facts, and others; all of them where they are few."""
    domains = [np.unique(graph.facts(r)[0]) for r in range(2 * graph.n_relations)]
    asked = [np.isin(domain, held_out.facts(r)[0]) for r, domain in enumerate(domains)]
    parts = []
    for most, wanted in ((ASKED, True), (OTHERS, False)):
        strata = [domain[is_asked == wanted] for domain, is_asked in zip(domains, asked, strict=True)]
        for relation, heads in enumerate(strata):
            turned = relation >= graph.n_relations
            alike = strata[graph.n_relations :] if turned else strata[: graph.n_relations]
            share = most[turned] / max(1, sum(map(len, alike)))
            n = min(len(heads), max(FEWEST_ASKED, math.ceil(share * len(heads))))
            weights = np.full(n, len(heads) / max(n, 1))
            some = random.choice(heads, n, replace=False)
            parts.append(_Queries(some, np.full(n, relation, np.int32), weights, weights))
    queries = _Queries(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    largest = np.zeros(len(domains))
    np.maximum.at(largest, queries.relations, queries.stand_for)
    return queries._replace(at_most=largest[queries.relations])


def _candidates(search: RuleSearcher, queries: _Queries, held_out: Graph, left_out: Graph) -> _Candidates:
    limits = candidate_limits("range", search.graph)
    tails, scores, _ = search.answer(queries.heads, queries.relations, CANDIDATES, left_out, limits)
    of_query, place = np.nonzero(tails >= 0)
    asked = queries.heads[of_query], queries.relations[of_query], tails[of_query, place]
    labels = held_out.contains(Triples(np.stack(asked, axis=1)))
    stand_for = queries.stand_for[of_query]
    sizes = stand_for / queries.at_most[of_query]
    return _Candidates(of_query, queries.relations[of_query], scores[of_query, place], labels, stand_for, sizes)


def _pools(search: RuleSearcher, found: _Candidates) -> NDArray[np.int64]:
    """Number, for each relation (2R,), the curve that it reads: its own, or that of all that score as it does."""
    relations = np.arange(2 * search.graph.n_relations)
    ways = np.array([search.ways.how(r).kind for r in relations.tolist()], np.int64)
    counts = np.bincount(found.relations, found.labels, minlength=len(relations))
    return np.where(counts >= FEWEST_OF_A_RELATION, relations, len(relations) + ways)


def _by_name(
    search: RuleSearcher, pools: NDArray[np.int64], fitted: Mapping[int, Curve | None]
) -> dict[str, Curve | None]:
    """Name the curves; what most relations read stands at "*"."""
    usual = int(np.bincount(pools).argmax())
    names = map(search.graph.vocabulary.relation_name, range(len(pools)))
    own = {name: fitted[pool] for name, pool in zip(names, pools.tolist(), strict=True) if pool != usual}
    return {ELSEWHERE: fitted[usual], **own}


def _fit(some: _Candidates) -> Curve | None:
    """Isotonic regression of the label on the score, over steps of several candidates; None for too few of them."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # takes a moment to import

    if int(some.labels.sum()) < FEWEST // 2:  # half: a curve is also fitted to each half, to judge it by the other
        return None
    order = np.argsort(-some.scores, kind="stable")
    scores, labels, weights = some.scores[order], some.labels[order], some.stand_for[order]
    # Equal scores have one probability. Alone, the few best candidates would have whatever chance gave them.
    first = np.concatenate([[True], scores[1:] != scores[:-1]])
    before = np.cumsum(some.sizes[order]) - some.sizes[order]
    step = np.maximum.accumulate(np.where(first, before // STEP, 0))
    starts = np.flatnonzero(np.diff(step, prepend=-1))
    total = np.add.reduceat(weights, starts)
    share = np.add.reduceat(weights * labels, starts) / total
    highest, lowest = scores[starts], scores[np.append(starts[1:], len(scores)) - 1]
    values = np.clip(isotonic_regression(share, weights=total, increasing=False).x, 0, 1)[::-1]
    # Only where a level begins and ends; from the lowest score to the highest.
    new = np.flatnonzero(np.diff(values, prepend=-1))
    begin, end = lowest[::-1][new], highest[::-1][np.append(new[1:], len(values)) - 1]
    points = np.stack([begin, end], axis=1).ravel()
    kept = np.append(True, np.diff(points) > 0)
    return Curve(tuple(points[kept].tolist()), tuple(np.repeat(values[new], 2)[kept].tolist()))


def _cross_predict(found: _Candidates, pools: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Predict each half of the queries by curves of the other half (n,); NaN where that has too few facts."""
    half = np.random.default_rng(seed).integers(2, size=int(found.queries.max()) + 1)[found.queries]
    predicted = np.full(len(found.scores), np.nan)
    for pool in np.unique(pools).tolist():
        here = pools[found.relations] == pool
        for one in (0, 1):
            curve, others = _fit(found.take(here & (half == one))), here & (half != one)
            if curve is not None:
                predicted[others] = curve.at(found.scores[others])
    return predicted


def _beats_the_mean(predicted: NDArray[np.float64], some: _Candidates) -> bool:
    """Whether the squared error is below that of the same probability for all by more than chance, over queries."""
    if not len(predicted):
        return False
    mean = np.average(some.labels, weights=some.stand_for)
    gain = some.stand_for * ((mean - some.labels) ** 2 - (predicted - some.labels) ** 2)
    of_query = np.bincount(some.queries, gain)
    return bool(of_query.sum() > BEYOND_CHANCE * np.sqrt((of_query**2).sum()))


def judge(
    predicted: NDArray[np.float64], labels: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """Hold probabilities (n,) against what came true.

    `bins` of the predicted probability with n, its mean, and the share observed; `brier`, the mean squared error,
    beside that of the same probability for all; `ece`, the mean distance of predicted and observed over bins.

    >>> judge(np.array([0.05, 0.05, 0.75, 0.75]), np.array([False, False, True, False]))["ece"]
    0.15
    """
    n = np.ones(len(predicted)) if weights is None else weights
    if not len(predicted):
        return {"n": 0, "brier": None, "brier_of_the_mean": None, "ece": None, "bins": []}
    place = np.clip(np.searchsorted(EDGES, predicted, side="right") - 1, 0, len(EDGES) - 2)
    total, bins, away = float(n.sum()), [], 0.0
    for i in np.unique(place).tolist():
        here = place == i
        size = float(n[here].sum())
        mean, observed = float(predicted[here] @ n[here]) / size, float(labels[here] @ n[here]) / size
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
    share = float(labels @ n) / total
    return {
        "n": round(total),
        "brier": _four_digits(float((predicted - labels) ** 2 @ n) / total),
        "brier_of_the_mean": _four_digits(share * (1 - share)),
        "ece": round(away, 6),
        "bins": bins,
    }


def _four_digits(number: float) -> float:
    """Round, but not what is small to nothing: where few candidates come true, a Brier score is small."""
    return float(f"{number:.4g}")
