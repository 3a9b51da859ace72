"""New facts over the whole graph: what the rules conclude and nobody has said yet, the best first.

Each fact is given once, as (head, relation, tail), with its score, the best rule behind it and one path by name. The
work goes relation by relation, and no more is kept in memory than the new facts of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
import polars as pl

from stablerule.errors import OptionError, closest
from stablerule.graph import INVERSE
from stablerule.reasoning.calibration import Calibration
from stablerule.reasoning.queries import candidate_limits, check_at_least_one, joined_graph, known_graphs
from stablerule.reasoning.scoring.explain import first_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.searcher import Searcher

BLOCK = 8192  # queries that are asked before what is not wanted is left out
ORDER = ("score", "relation", "head", "tail")


@dataclass(frozen=True)
class Wanted:
    """Which new facts are wanted.

    top, per_relation: at most so many, of all relations together and of each; None is all of them.
    threshold: the least score; None is none at all, since scores of some methods lie below 0.
    min_probability: the least probability, for models that are calibrated.
    per_query: answers to one query (head, relation, ?), the best ones.
    candidates: "range" admits only tails that stand there in some fact of the relation, "all" any entity.
    domain: "observed" asks the heads that have some fact of the relation already, "all" every entity.
    """

    top: int | None = None
    per_relation: int | None = None
    threshold: float | None = None
    min_probability: float | None = None
    per_query: int = 10
    candidates: Literal["range", "all"] = "range"
    domain: Literal["observed", "all"] = "observed"

    def __post_init__(self) -> None:
        for name in ("top", "per_relation", "per_query"):
            value = getattr(self, name)
            if value is None and name != "per_query":
                continue
            check_at_least_one(name, value)
        for name, most in (("threshold", math.inf), ("min_probability", 1)):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 <= value <= most and value < math.inf):
                must = "a number of at least 0" if most > 1 else "a number between 0 and 1"
                raise OptionError(f"Argument {name!r} must be {must}, got {value!r}.")
        for name, choices in (("candidates", ("range", "all")), ("domain", ("observed", "all"))):
            if getattr(self, name) not in choices:
                raise OptionError(f"Argument {name!r} must be {' or '.join(choices)}, got {getattr(self, name)!r}.")

    @property
    def most(self) -> int | None:
        """How many of one relation can be among the result."""
        return min((n for n in (self.top, self.per_relation) if n is not None), default=None)


class WantedOptions(TypedDict, total=False):
    """The arguments of `Wanted`, by name."""

    top: int | None
    per_relation: int | None
    threshold: float | None
    min_probability: float | None
    per_query: int
    candidates: Literal["range", "all"]
    domain: Literal["observed", "all"]


@dataclass(frozen=True)
class NewFact:
    """A fact that no file has, and why it may be true.

    probability: None where the model is not calibrated for it. rule: the one with the largest share of the score.
    path: the entities along it from head to tail; for a rule with constants, the two of the fact that it needs.
    Both are empty where no rule leads to the fact, and for a model without rules.
    """

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    rule: str = ""
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it on one line."""
        number = f"{self.score:.3f}" if self.probability is None else f"{self.probability:.1%}"
        reason = f"  by {self.rule}" if self.rule else ""
        return f"{number}  {self.head} {self.relation} {self.tail}{reason}"


def complete(
    search: Searcher,
    *,
    known: Graph | Iterable[Graph] | None = None,
    relations: Iterable[str] | None = None,
    calibration: Calibration | str | None = None,
    **options: Unpack[WantedOptions],
) -> Iterator[NewFact]:
    """Yield new facts: with `top` the best of all, else relation by relation, the best of each first.

    known: graphs whose facts are not new; those of the graph that is searched never are. relations: by name; None is
    all. calibration: a text says why there is none. The other arguments are those of `Wanted`. Facts stand by
    probability where the model is calibrated, then by score, then by name.

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
            raise OptionError(f"complete() has no argument {name!r}.{closest(name, names)} It has {', '.join(names)}.")
    completion = Completion(search, Wanted(**options), known=known, relations=relations, calibration=calibration)
    return _new_facts(completion)


def _new_facts(completion: Completion) -> Iterator[NewFact]:
    if completion.wanted.top is None:
        for relation in completion.relations:
            yield from _named(completion.of(relation))
        return
    kept = completion.nothing()
    for relation in completion.relations:
        kept = best_facts(pl.concat([kept, completion.of(relation)]), completion.wanted.top)
    yield from _named(kept)


class Completion:
    """All that is needed to find the new facts of one relation after the other, as frames.

    Their columns are head, relation, tail, score, probability (only with a calibration), and with rules rule, path.
    """

    def __init__(
        self,
        search: Searcher,
        wanted: Wanted,
        *,
        known: Graph | Iterable[Graph] | None = None,
        relations: Iterable[str] | None = None,
        calibration: Calibration | str | None = None,
    ) -> None:
        self.search, self.graph, self.wanted = search, search.graph, wanted
        self.calibration = calibration if isinstance(calibration, Calibration) else None
        self.relations = _relation_ids(relations, self.graph)
        _check_bounds(wanted, search, self.relations, calibration)
        self._limits = candidate_limits(wanted.candidates, self.graph)
        self._known = joined_graph([self.graph, *known_graphs(known)], self.graph)

    def queries(self, relation: int) -> Ids:
        """Return the heads to ask."""
        if self.wanted.domain == "all":
            return np.arange(self.graph.n_entities, dtype=np.int32)
        return np.unique(self.graph.facts(relation)[0])

    def of(self, relation: int) -> pl.DataFrame:
        """Return the new facts of one relation, the best first."""
        found = _Found.nothing()
        heads, size = self.queries(relation), self.search.at_once(self.wanted.per_query, BLOCK)
        for start in range(0, len(heads), size):
            found = _Found.join(found, self._ask(relation, heads[start : start + size])).best(self.wanted.most)
        return self._frame(relation, found.best(None))

    def nothing(self) -> pl.DataFrame:
        """Return no facts, in the same columns."""
        return self._frame(0, _Found.nothing()).clear()

    def _ask(self, relation: int, heads: Ids) -> _Found:
        """Ask some heads, and keep what is good enough."""
        wanted, asked = self.wanted, np.full(len(heads), relation, np.int32)
        tails, scores, reasons = self.search.answer(
            heads, asked, wanted.per_query, self._known, self._limits, reasons=1
        )
        rules = np.full(tails.size, -1, np.int32) if reasons is None else first_rules(reasons)
        least = -math.inf if wanted.threshold is None else wanted.threshold
        query, place = np.nonzero((tails >= 0) & (scores >= least))
        found = _Found(
            heads[query],
            tails[query, place],
            scores[query, place],
            np.full(len(query), np.nan),
            rules.reshape(tails.shape)[query, place],
        )
        if self.calibration is not None:
            found = found._replace(probabilities=self._probabilities(relation, found, self.calibration))
        if wanted.min_probability is not None:
            found = found.take(found.probabilities >= wanted.min_probability)
        return found

    def _probabilities(self, relation: int, found: _Found, calibration: Calibration) -> NDArray[np.float64]:
        """Read the curves; they say nothing about heads and tails outside of what the relation links in the graph."""
        name = self.graph.vocabulary.relation_name(relation)
        heads, tails = self.graph.facts(relation)
        usual = np.isin(found.heads, heads) & np.isin(found.tails, tails)
        return np.where(usual, calibration.probability(name, found.scores), np.nan)

    def _frame(self, relation: int, found: _Found) -> pl.DataFrame:
        words = self.graph.vocabulary
        columns = {
            "head": words.entities.names_of(found.heads),
            "relation": pl.repeat(words.relation_name(relation), len(found.heads), dtype=pl.String, eager=True),
            "tail": words.entities.names_of(found.tails),
            "score": pl.Series(found.scores, dtype=pl.Float64),
            "probability": pl.Series(found.probabilities, dtype=pl.Float64).fill_nan(None),
        }
        columns |= self.search.tabulate_reasons(relation, found.heads, found.tails, found.rules)
        if self.calibration is None:
            del columns["probability"]
        return pl.DataFrame({name: series.alias(name) for name, series in columns.items()})


def best_facts(frame: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the best of the new facts of several relations, the best first."""
    keys = [*(["probability"] if "probability" in frame.columns else []), *ORDER]
    down = [key in ("probability", "score") for key in keys]
    return frame.sort(keys, descending=down, nulls_last=True).head(top)


class _Found(NamedTuple):
    """New facts of one relation as columns (n,); an unknown probability is NaN, and a rule of -1 is none."""

    heads: Ids
    tails: Ids
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    rules: Ids

    @classmethod
    def nothing(cls) -> _Found:
        none = np.empty(0, np.int32)
        return cls(none, none, np.empty(0), np.empty(0), none)

    @classmethod
    def join(cls, *parts: _Found) -> _Found:
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def take(self, which: NDArray[Any]) -> _Found:
        columns: Iterator[Any] = (column[which] for column in self)
        return _Found(*columns)

    def best(self, most: int | None) -> _Found:
        """Put in order, the best first; ids stand in the order of names."""
        by_probability = -np.nan_to_num(self.probabilities, nan=-1)
        return self.take(np.lexsort((self.tails, self.heads, -self.scores, by_probability))[:most])


def _named(frame: pl.DataFrame) -> Iterator[NewFact]:
    for row in frame.iter_rows(named=True):
        reason = {"rule": row.get("rule") or "", "path": tuple(row.get("path") or ())}
        yield NewFact(**{"probability": None, **row, **reason})


def _relation_ids(names: Iterable[str] | None, graph: Graph) -> list[int]:
    if names is None:
        return list(range(graph.n_relations))
    if isinstance(names, str):
        raise OptionError(f"Argument 'relations' must be a list of names, got {names!r}.")
    ids = set()
    for name in names:
        found = graph.vocabulary.relation_id(name)
        if found >= graph.n_relations:
            plain = name.removeprefix(INVERSE)
            raise OptionError(f"{name!r} is an inverse: its facts are those of {plain!r}. Ask for {plain!r}.")
        ids.add(found)
    return sorted(ids)


def _check_bounds(
    wanted: Wanted, search: Searcher, relations: list[int], calibration: Calibration | str | None
) -> None:
    if wanted.min_probability is not None and not isinstance(calibration, Calibration):
        raise OptionError(
            f"Argument 'min_probability' needs a calibration, and there is none: {calibration or 'none was passed'}. "
            "Leave it out, or use argument 'threshold', the least score."
        )
    most = search.largest_score(relations)
    if wanted.threshold is not None and wanted.threshold > most:
        raise OptionError(
            f"Argument 'threshold' must be at most {most:g}, as the scores of this model, got {wanted.threshold}."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
