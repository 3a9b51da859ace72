"""Predict new facts for the whole graph, the best first.

Each fact (head, relation, tail) is predicted once, with its score, the best rule behind it and one path by name.
Relations are done one by one, and only the new facts of one relation are in memory.

**Which heads are asked.** The heads of the relation, and similar entities without a fact of it (see `graph.kinds`). If
the relation is one-valued (see `graph.behaviour`), only heads without a value are asked. If its inverse is one-valued,
as a capital has one country, only tails without a head are candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import polars as pl

from stablerule.errors import OptionError, spell_closest
from stablerule.graph import INVERSE, Graph, Triples
from stablerule.graph.behaviour import Z, find_behaviour
from stablerule.reasoning.answers import list_answer_columns
from stablerule.reasoning.calibration import Calibration, Reading
from stablerule.reasoning.queries import join_known_graphs, list_known_graphs
from stablerule.reasoning.scoring.explain import find_first_rules_of_reasons
from stablerule.reasoning.situations import HAVING, LACKING, OTHER, Situations
from stablerule.reasoning.wanted import UNLIKELY, WantedFacts, WantedOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids
    from stablerule.reasoning.searcher import Searcher

BLOCK = 8192  # queries asked before the unwanted answers are dropped
PROBABLE = ("probability", "error", "curve")
ORDER = ("score", "relation", "head", "tail")


@dataclass(frozen=True)
class NewFact:
    """A predicted fact that is not known yet, with its best rule and a path.

    probability: None if the model is not calibrated for it. rule: the one with the largest share of the score.
    path: the entities along the rule from head to tail; for a rule with constants, the two of the fact that it needs.
    Both are empty if no rule reaches the fact, and for a model without rules.
    """

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    rule: str = ""
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Spell it on one line."""
        number = f"{self.score:.3f}" if self.probability is None else f"{self.probability:.1%}"
        reason = f"  by {self.rule}" if self.rule else ""
        return f"{number}  {self.head} {self.relation} {self.tail}{reason}"


class NewFacts(Iterator[NewFact]):
    """An iterator over new facts; `to_frame` takes all that are left."""

    def __init__(self, facts: Iterator[NewFact]) -> None:
        self._facts = facts

    def __next__(self) -> NewFact:
        return next(self._facts)

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each fact: head, relation, tail, score, probability, rule, path."""
        return pl.DataFrame(list_answer_columns(NewFact, list(self)))


def complete(
    search: Searcher,
    *,
    known: Graph | Iterable[Graph] | None = None,
    relations: Iterable[str] | None = None,
    calibration: Calibration | str | None = None,
    **options: Unpack[WantedOptions],
) -> Iterator[NewFact]:
    """Yield new facts, by default the best 1,000; with `top="all"`, relation by relation, the best of each first.

    known: graphs whose facts are not new, in addition to the graph that is searched. relations: by name; None is all.
    calibration: a string is the reason why there is none. The other arguments are those of `WantedFacts`. Facts are
    sorted by probability if the model is calibrated, then by score, then by name.

    >>> from stablerule import Tabular, households
    >>> dataset = households(families=3, seed=0).dataset
    >>> model = Tabular(walks=20_000, constants=False).fit(dataset.graph, dataset.valid)
    >>> best, *_ = complete(model.rule_searcher(), relations=["grandparent_of"], top=3)
    >>> best.relation, len(best.path) > 1
    ('grandparent_of', True)
    """
    for name in options:
        if name not in WantedOptions.__annotations__:
            names = ("graph", "known", "relations", *WantedOptions.__annotations__)
            raise OptionError(
                f"complete() has no argument {name!r}.{spell_closest(name, names)} It has {', '.join(names)}."
            )
    completion = Completion(search, WantedFacts(**options), known=known, relations=relations, calibration=calibration)
    return _find_new_facts(completion)


def _find_new_facts(completion: Completion) -> Iterator[NewFact]:
    most = completion.wanted.most_of_all
    if most is None:
        for relation in completion.relations:
            yield from name_new_facts(completion.of(relation))
        return
    kept = completion.nothing()
    for relation in completion.relations:
        kept = keep_best_new_facts(pl.concat([kept, completion.of(relation)]), most)
    yield from name_new_facts(kept)


class Asked(NamedTuple):
    """The heads to ask for a relation, and a mask (E,) of the tails that may be answers.

    one_valued: whether only heads without a value are asked. with_value: number of heads that are skipped for this.
    """

    heads: Ids
    tails: NDArray[np.bool_]
    one_valued: bool
    with_value: int


class Completion:
    """Find the new facts of one relation after the other, as frames.

    Columns: head, relation, tail, score; with a calibration also probability, error and curve (see `Reading`); with
    rules also rule and path.
    """

    def __init__(
        self,
        search: Searcher,
        wanted: WantedFacts,
        *,
        known: Graph | Iterable[Graph] | None = None,
        relations: Iterable[str] | None = None,
        calibration: Calibration | str | None = None,
    ) -> None:
        self.search, self.graph, self.wanted = search, search.graph, wanted
        self.relations = _number_wanted_relations(relations, self.graph)
        _check_wanted_bounds(wanted, search, self.relations, calibration)
        self._largest_score = search.largest_score(self.relations)
        self._known = join_known_graphs([self.graph, *list_known_graphs(known)], self.graph) or self.graph
        self.calibration = None
        if isinstance(calibration, Calibration):
            self.calibration = calibration.assume(missing=wanted.missing, known=self._known.n_facts)
        self._behaviour, self._situations = find_behaviour(self.graph), Situations(self._known)
        self._linked = _list_candidate_pairs(self._known) if wanted.unlinked else None

    def choose_asked(self, relation: int) -> Asked:
        """Return the heads to ask for a relation, and the tails that may be answers."""
        wanted, back = self.wanted, self.graph.inverse(relation)
        states, ends = self._situations.states(relation), self._situations.states(back)
        one_value, one_head = self._behaviour.one_valued[[relation, back]] & (not wanted.second_values)
        chosen = {"all": states >= OTHER, "kind": states >= LACKING, "observed": states == HAVING}[wanted.domain]
        with_value = chosen & (states == HAVING) if one_value else np.zeros(len(states), bool)
        tails = ends == HAVING if wanted.candidates == "range" else np.ones(len(ends), bool)
        taken = tails & (ends == HAVING) if one_head else np.zeros(len(ends), bool)
        if one_head and wanted.candidates == "range":
            tails |= ends == LACKING
        heads = np.flatnonzero(chosen & ~with_value).astype(np.int32)
        return Asked(heads, tails & ~taken, bool(one_value), int(with_value.sum()))

    def of(
        self, relation: int, some: slice = slice(None), advance: Callable[[int], object] = lambda _: None
    ) -> pl.DataFrame:
        """Return the new facts of one relation, the best first.

        some: which of the heads that it asks. advance: is told how many more heads are done; an error from there ends
        the work.
        """
        found, asked = _Found.nothing(), self.choose_asked(relation)
        size, heads = self.search.at_once(self.wanted.per_query, BLOCK), asked.heads[some]
        for start in range(0, len(heads), size):
            block = heads[start : start + size]
            found = _Found.join(found, self._ask(relation, block, asked.tails)).keep_best(self.wanted.most)
            advance(len(block))
        return self._frame(relation, found.keep_best(None))

    def nothing(self) -> pl.DataFrame:
        """Return an empty frame with the same columns."""
        return self._frame(0, _Found.nothing()).clear()

    def _ask(self, relation: int, heads: Ids, admitted: NDArray[np.bool_]) -> _Found:
        """Return the answers for some heads that reach the minimum score and probability."""
        wanted, asked = self.wanted, np.full(len(heads), relation, np.int32)
        known = (
            self._known if self._linked is None else _drop_linked_candidates(self._linked, heads, relation, self.graph)
        )
        tails, scores, reasons = self.search.answer(
            heads, asked, wanted.per_query, known, lambda _: admitted, reasons=1
        )
        rules = np.full(tails.size, -1, np.int32) if reasons is None else find_first_rules_of_reasons(reasons)
        least = -math.inf if wanted.threshold is None else wanted.threshold
        query, place = np.nonzero((tails >= 0) & (scores >= least))
        found_heads, found_tails, found_scores = heads[query], tails[query, place], scores[query, place]
        reading = self._read(relation, found_heads, found_tails, found_scores)
        found = _Found(found_heads, found_tails, found_scores, *reading, rules.reshape(tails.shape)[query, place])
        if wanted.min_probability is not None:
            found = found.take(found.probabilities >= wanted.min_probability)
        return found.take(self._is_likely(found)) if wanted.is_usual else found

    def _is_likely(self, found: _Found) -> NDArray[np.bool_]:
        """Tell which facts (n,) have some probability; where there is none, some share of the largest score."""
        least = UNLIKELY * self._largest_score if math.isfinite(self._largest_score) else -math.inf
        likely: NDArray[np.bool_] = np.where(
            np.isnan(found.probabilities), found.scores >= least, found.probabilities >= UNLIKELY
        )
        return likely

    def _read(self, relation: int, heads: Ids, tails: Ids, scores: NDArray[np.float64]) -> Reading:
        """Return the probabilities, all NaN without a calibration."""
        if self.calibration is None:
            nothing = np.full(len(heads), np.nan)
            return Reading(nothing, nothing, np.full(len(heads), -1))
        name = self.graph.vocabulary.relation_name(relation)
        return self.calibration.read(name, scores, self._situations.of(relation, heads, tails))

    def _frame(self, relation: int, found: _Found) -> pl.DataFrame:
        words = self.graph.vocabulary
        columns = {
            "head": words.entities.names_of(found.heads),
            "relation": pl.repeat(words.relation_name(relation), len(found.heads), dtype=pl.String, eager=True),
            "tail": words.entities.names_of(found.tails),
            "score": pl.Series(found.scores, dtype=pl.Float64),
            "probability": pl.Series(found.probabilities, dtype=pl.Float64).fill_nan(None),
            "error": pl.Series(found.errors, dtype=pl.Float64).fill_nan(None),
            "curve": pl.Series(found.curves, dtype=pl.Int64),
        }
        columns |= self.search.tabulate_reasons(relation, found.heads, found.tails, found.rules)
        if self.calibration is None:
            columns = {name: column for name, column in columns.items() if name not in PROBABLE}
        return pl.DataFrame({name: series.alias(name) for name, series in columns.items()})


def list_written_facts(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop the columns that are only needed for the expected number of true facts."""
    return frame.drop(PROBABLE[1:], strict=False)


def keep_best_new_facts(frame: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the best new facts of several relations, the best first."""
    keys = [*(["probability"] if "probability" in frame.columns else []), *ORDER]
    down = [key in ("probability", "score") for key in keys]
    return frame.sort(keys, descending=down, nulls_last=True).head(top)


class ExpectedTrue(NamedTuple):
    """The expected number of true facts, its 95% interval, and the number of facts with a probability."""

    mean: float
    low: float
    high: float
    of: int


class TrueFacts:
    """Add up the expected number of true facts, frame by frame.

    The interval covers two errors: each fact is true or not, and each curve has an error that all its facts share. It
    takes the assumed share of missing facts as given.

    >>> counter = TrueFacts()
    >>> counter.add(pl.DataFrame({"probability": [0.5] * 100, "error": [0.05] * 100, "curve": [0] * 100}))
    >>> [round(number) for number in counter.expected]
    [50, 36, 64, 100]
    """

    def __init__(self) -> None:
        self._sums: pl.DataFrame | None = None

    def add(self, facts: pl.DataFrame) -> None:
        """Add some new facts; those without a probability are skipped."""
        if "probability" not in facts.columns:
            return
        p = pl.col("probability")
        sums = (
            facts.filter(p.is_not_null())
            .group_by("curve")
            .agg(pl.len().alias("n"), p.sum(), (p * (1 - p)).sum().alias("variance"), pl.col("error").sum())
        )
        joined = sums if self._sums is None else pl.concat([self._sums, sums])
        self._sums = joined.group_by("curve").agg(pl.all().sum())

    @property
    def expected(self) -> ExpectedTrue | None:
        """The sum so far; None if no fact has a probability."""
        if self._sums is None or not len(self._sums):
            return None
        n, mean = int(self._sums["n"].sum()), float(self._sums["probability"].sum())
        shared = self._sums["error"].to_numpy()
        spread = Z * math.sqrt(float(self._sums["variance"].sum()) + float(shared @ shared))
        return ExpectedTrue(mean, max(0.0, mean - spread), min(float(n), mean + spread), n)


class _Found(NamedTuple):
    """New facts of one relation as columns (n,); NaN is no probability, and -1 no rule."""

    heads: Ids
    tails: Ids
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    errors: NDArray[np.float64]
    curves: NDArray[np.int64]
    rules: Ids

    @classmethod
    def nothing(cls) -> _Found:
        none = np.empty(0, np.int32)
        return cls(none, none, np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int64), none)

    @classmethod
    def join(cls, *parts: _Found) -> _Found:
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def take(self, which: NDArray[Any]) -> _Found:
        columns: Iterator[Any] = (column[which] for column in self)
        return _Found(*columns)

    def keep_best(self, most: int | None) -> _Found:
        """Sort, the best first, and keep `most`; ids are in the order of names."""
        by_probability = -np.nan_to_num(self.probabilities, nan=-1)
        return self.take(np.lexsort((self.tails, self.heads, -self.scores, by_probability))[:most])


def name_new_facts(frame: pl.DataFrame) -> Iterator[NewFact]:
    """Yield the facts of a frame."""
    for row in list_written_facts(frame).iter_rows(named=True):
        reason = {"rule": row.get("rule") or "", "path": tuple(row.get("path") or ())}
        yield NewFact(**{"probability": None, **row, **reason})


def _list_candidate_pairs(graph: Graph) -> Graph:
    """Return a graph with one relation, which links every pair that any fact of the given graph links, both ways."""
    heads, tails = (
        np.concatenate([graph.fact_heads, graph.fact_tails]),
        np.concatenate([graph.fact_tails, graph.fact_heads]),
    )
    rows = np.stack([heads, np.zeros_like(heads), tails], axis=1)
    return Graph.build(Triples(rows), graph.vocabulary)


def _drop_linked_candidates(linked: Graph, heads: Ids, relation: int, graph: Graph) -> Graph:
    """Return facts of a relation from some heads to every entity linked to them."""
    inside = np.isin(linked.fact_heads, heads)
    rows = np.stack([linked.fact_heads, np.full_like(linked.fact_heads, relation), linked.fact_tails], axis=1)
    return Graph.build(Triples(rows[inside]), graph.vocabulary)


def _number_wanted_relations(names: Iterable[str] | None, graph: Graph) -> list[int]:
    if names is None:
        return list(range(graph.n_relations))
    if isinstance(names, str):
        raise OptionError(f"Argument 'relations' must be a list of names, got {names!r}.")
    ids = set()
    for name in names:
        found = graph.vocabulary.relation_id(name)
        if found >= graph.n_relations:
            plain = name.removeprefix(INVERSE)
            raise OptionError(f"{name!r} is an inverse relation, with the same facts as {plain!r}. Pass {plain!r}.")
        ids.add(found)
    return sorted(ids)


def _check_wanted_bounds(
    wanted: WantedFacts, search: Searcher, relations: list[int], calibration: Calibration | str | None
) -> None:
    if wanted.min_probability is not None and not isinstance(calibration, Calibration):
        raise OptionError(
            f"Argument 'min_probability' needs a calibration: {calibration or 'none was passed'}. "
            "Leave it out, or use argument 'threshold', the minimum score."
        )
    most = search.largest_score(relations)
    if wanted.threshold is not None and wanted.threshold > most:
        raise OptionError(
            f"Argument 'threshold' must be at most {most:g}, the largest score of this model, got {wanted.threshold}."
        )
