"""Evaluate any model in the same way: filtered ranks of all queries of a split, both directions, and their metrics."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import polars as pl

from stablerule.errors import InputError, OptionError
from stablerule.evaluation.groups import (
    GroupFigures,
    make_group_sort_key,
    measure_chance_spread,
    measure_group_intervals,
)
from stablerule.evaluation.metrics import (
    METRICS,
    Figures,
    Resampling,
    average_metrics,
    average_metrics_by_kind,
    compute_metrics,
)
from stablerule.graph import Dataset, Graph, Triples
from stablerule.graph.html import spell_html_table
from stablerule.graph.triples import read_only
from stablerule.io.options import spell_read_option
from stablerule.progress import progress_bar
from stablerule.reasoning import Reasoner
from stablerule.reasoning.ranks import FORMS, Ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Vocabulary
    from stablerule.reasoning.ranks import Ties

# Upper bounds of the degree buckets, and their names.
DEGREES = (0, 3, 10, 30, 100)
DEGREE_NAMES = ("0", "1-3", "4-10", "11-30", "31-100", ">100")
DIRECTIONS = ("tail", "head")
GRAPHS = ("train", "train+valid")
# A model gets its queries in parts, to show progress; the parts are large enough that preparing them takes no time.
PARTS, SMALLEST_PART = 32, 1000


@runtime_checkable
class Ranker(Protocol):
    """A model that can rank the correct answers of queries. `ByScores` makes one from a function that scores."""

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank the answer of each query; return one row of `Ranks` for each query, in the same order.

        queries: rows of (head, relation, answer); a relation of R or more is an inverse. They come in several parts,
        sorted by relation and head.
        graph: the graph to answer from.
        known: all known facts. Other known tails of (head, relation) are left out of the ranking.
        Both graphs have the same vocabulary, and the ids of the queries are its ids.
        """
        ...


def evaluate(
    model: Ranker,
    dataset: Dataset,
    *,
    split: str = "test",
    graph: Literal["train", "train+valid"] = "train",
    groups: Sequence[str] | None = None,
    seed: int = 0,
    resamples: int = 1000,
    confidence: float = 0.95,
) -> Evaluation:
    """Evaluate a model on a split: filtered ranks of the answers, both directions.

    model: an object with `rank`; `ByScores` makes one from any function that scores.
    graph: the facts that the model may answer from. The facts of all splits filter the ranks.
    groups: a name for each row of the split, for metrics by group.
    seed, resamples, confidence: options of the bootstrap intervals.

    A repeated fact counts once. Queries with entities or relations that are not in train count like all others.

    >>> from stablerule.evaluation import ByScores
    >>> from stablerule.graph import Dataset
    >>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
    >>> dataset = Dataset.from_names("trip", train=facts, test=[("Nice", "in", "France")])
    >>> in_graph = lambda heads, relations: np.tile(dataset.graph.degrees, (len(heads), 1))
    >>> evaluate(ByScores(in_graph), dataset)
    Evaluation('trip', test, 2 queries, mrr 0.625, hits@1 0.500, hits@3 0.500, hits@10 1.000)
    """
    resampling = Resampling(seed, resamples, confidence)
    _check_ranker(model)
    _check_evaluated_dataset(dataset)
    answering = _choose_answering_graph(dataset, graph)
    asked = dataset.split(split)
    names = _check_evaluation_groups(groups, asked)
    if not len(asked):
        raise InputError(_describe_missing_split(dataset, split))
    asked, names = _drop_repeated_queries(asked, names)
    queries = _ask_both_directions(asked, dataset)
    began = time.perf_counter()
    ranks = _rank_evaluated_queries(model, queries, answering, dataset.known)
    seconds = time.perf_counter() - began
    return Evaluation(
        queries=queries,
        ranks=ranks,
        vocabulary=dataset.vocabulary,
        degrees=read_only(answering.degrees[queries.heads]),
        groups=None if names is None else [*names, *names],
        in_graph=int(answering.contains(asked).sum()),
        resampling=resampling,
        options={"split": split, "graph": graph, "filter": "train+valid+test"},
        data={"name": dataset.name, "sha256": dataset.sha256, "source": dataset.source},
        model=_describe_evaluated_model(model),
        seconds=seconds,
    )


def _check_ranker(model: Ranker) -> None:
    if not isinstance(model, Ranker):
        raise InputError(
            f"{type(model).__name__} can't be evaluated: it has no method rank(queries, graph=..., known=...). "
            "Wrap a function that scores all entities in stablerule.evaluation.ByScores."
        )


def _check_evaluated_dataset(dataset: Dataset) -> None:
    if isinstance(dataset, Dataset):
        return
    if isinstance(dataset, Graph):
        found = "a Graph, which has no test facts. Pass its dataset"
    else:
        found = f"{dataset!r}. Pass load(name) or read_dataset(path)"
    raise InputError(f"Argument 'dataset' must be a Dataset, got {found}.")


def _describe_missing_split(dataset: Dataset, split: str) -> str:
    others = [f"{name} has {len(facts):,} (--split {name})" for name, facts in dataset.splits.items() if len(facts)]
    cure = f" To split a single file, pass {spell_read_option('split', (0.8, 0.1, 0.1))}." if len(others) == 1 else ""
    return f"Dataset {dataset.name!r} has no facts in {split} to evaluate on; {', '.join(others)}.{cure}"


def _choose_answering_graph(dataset: Dataset, name: str) -> Graph:
    if name not in GRAPHS:
        raise OptionError(f"Argument 'graph' must be one of {', '.join(GRAPHS)}, got {name!r}.")
    if name == "train":
        return dataset.graph
    facts = Triples.concat(dataset.train, dataset.valid)
    return Graph.build(facts, dataset.vocabulary, f"{dataset.name}, {name}")


def _check_evaluation_groups(groups: Sequence[str] | None, asked: Triples) -> list[str] | None:
    if groups is None:
        return None
    names = list(groups)
    if isinstance(groups, str) or len(names) != len(asked):
        raise InputError(
            f"Argument 'groups' must have a name for each of the {len(asked):,} facts of the split, got {len(names):,}."
        )
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise InputError(f"Argument 'groups' must be names, got {name!r} for fact {row} of the split.")
    return [str(name) for name in names]


def _drop_repeated_queries(asked: Triples, names: list[str] | None) -> tuple[Triples, list[str] | None]:
    """Drop repeated facts; a repeated fact in two groups is an error."""
    if names is None:
        return asked.distinct(), None
    first: dict[tuple[int, ...], int] = {}
    for row, fact in enumerate(map(tuple, asked.rows.tolist())):
        original = first.setdefault(fact, row)
        if names[row] != names[original]:
            raise InputError(
                f"A repeated fact must have one group: facts {original} and {row} of the split are equal, but have "
                f"groups {names[original]!r} and {names[row]!r}."
            )
    kept = list(first.values())
    return asked.take(np.array(kept)), [names[row] for row in kept]


def _ask_both_directions(asked: Triples, dataset: Dataset) -> Triples:
    """Return the queries (h, r, t) and (t, ~r, h) for each fact (h, r, t), with the answer last."""
    inverse = asked.rows[:, ::-1].copy()
    inverse[:, 1] += len(dataset.vocabulary.relations)
    return Triples(read_only(np.concatenate([asked.rows, inverse])))


def _rank_evaluated_queries(model: Ranker, queries: Triples, graph: Graph, known: Graph) -> Ranks:
    order = np.lexsort((queries.tails, queries.heads, queries.relations))
    size = max(SMALLEST_PART, -(-len(order) // PARTS))
    parts = []
    with progress_bar("ranking", len(order)) as advance:
        for begin in range(0, len(order), size):
            part = queries.take(order[begin : begin + size])
            ranks = model.rank(part, graph=graph, known=known)
            if not isinstance(ranks, Ranks) or len(ranks) != len(part):
                found = f"{len(ranks):,} rows" if isinstance(ranks, Ranks) else type(ranks).__name__
                raise InputError(
                    f"rank() of {type(model).__name__} must return Ranks with a row for each of {len(part):,} queries, "
                    f"got {found}."
                )
            parts.append(ranks)
            advance(len(part))
    return Ranks.concat(*parts).take(np.argsort(order))


def _describe_evaluated_model(model: object) -> dict[str, Any]:
    """Describe the evaluated model: its method and, for a learner, its options, data and aggregation."""
    about: dict[str, Any] = {"method": getattr(model, "method", type(model).__name__)}
    if isinstance(model, Reasoner):
        about |= {"options": model.options, "learned_from": model.data_.sha256}
        if model.learned_.aggregation is not None:
            about["aggregation"] = model.learned_.aggregation.to_json()
    return about


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The ranks of n queries, with metrics computed on request.

    queries: rows of (head, relation, answer), first the queries for tails, then the queries for heads with inverse
    relations. ranks: their ranks. degrees: (n,), number of facts of each query's entity in the graph that the model
    answers from. groups: a name for each query, if they are grouped. in_graph: number of evaluated facts that are in
    this graph, which should be 0. seconds: time spent on ranking.

    Metrics come in three forms, by the treatment of `ties`; report the realistic one.
    """

    queries: Triples
    ranks: Ranks
    vocabulary: Vocabulary
    degrees: NDArray[np.int64]
    groups: Sequence[str] | None
    in_graph: int
    resampling: Resampling
    options: dict[str, Any]
    data: dict[str, Any]
    model: dict[str, Any]
    seconds: float

    @property
    def n(self) -> int:
        """Number of queries, two for each fact."""
        return len(self.queries)

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank over both directions, with realistic ties."""
        return self.figures().mrr

    @property
    def coverage(self) -> float:
        """Share of queries whose answer has a score above the floor: for rules, those that a rule reaches."""
        return float(self.ranks.covered.mean())

    @property
    def no_candidate(self) -> float:
        """Share of queries without any entity above the floor."""
        return float((self.ranks.candidates == 0).mean())

    def figures(self, ties: Ties = "realistic") -> Figures:
        """Return the metrics over all queries."""
        return average_metrics(self._compute_metrics(ties), self.ranks.covered)

    def by_direction(self, ties: Ties = "realistic") -> dict[str, Figures]:
        """Return the metrics of queries for the tail, (h, r, ?), and for the head, (?, r, t)."""
        is_inverse = self.queries.relations >= len(self.vocabulary.relations)
        return self._average_by_kind(is_inverse.astype(np.int64), DIRECTIONS, ties)

    def by_relation(self, ties: Ties = "realistic") -> dict[str, Figures]:
        """Return the metrics of each relation, over both directions."""
        names = list(self.vocabulary.relations)
        return self._average_by_kind(self.queries.relations % len(names), names, ties)

    def by_degree(self, ties: Ties = "realistic") -> dict[str, Figures]:
        """Return the metrics by the degree of the query's entity in the graph that the model answers from."""
        return self._average_by_kind(np.searchsorted(DEGREES, self.degrees), DEGREE_NAMES, ties)

    def by_group(self, ties: Ties = "realistic") -> GroupFigures | None:
        """Return the metrics of each group and over groups; None without groups."""
        if self.groups is None:
            return None
        names, values = sorted(set(self.groups), key=make_group_sort_key), self._compute_metrics(ties)
        places = {name: place for place, name in enumerate(names)}
        kinds = np.array([places[name] for name in self.groups], np.int64)
        facts = self.n // 2  # the second half asks for the heads of the same facts
        return GroupFigures(
            self._average_by_kind(kinds, names, ties),
            measure_group_intervals(names, values, kinds, self.resampling),
            measure_chance_spread((values[:facts] + values[facts:]) / 2, kinds[:facts], self.resampling.seed),
        )

    def intervals(self, ties: Ties = "realistic") -> dict[str, tuple[float, float]]:
        """Return the bootstrap interval of each metric, over queries."""
        low, high = self.resampling.compute_interval(self.resampling.draw_means(self._compute_metrics(ties)))
        return {metric: (float(a), float(b)) for metric, a, b in zip(METRICS, low, high, strict=True)}

    def to_json(self, ties: Ties = "realistic") -> dict[str, Any]:
        """Return everything except single ranks; `forms` has all treatments of ties, the rest uses `ties`."""
        groups = self.by_group(ties)
        return {
            **self.figures(ties).metrics,
            "forms": {form: self.figures(form).metrics for form in FORMS},
            "directions": _list_figures(self.by_direction(ties)),
            "relations": _list_figures(self.by_relation(ties)),
            "degrees": _list_figures(self.by_degree(ties)),
            "groups": groups.to_json() if groups else None,
            "coverage": self.coverage,
            "no_candidate": self.no_candidate,
            "in_graph": self.in_graph,
            "intervals": {metric: list(bounds) for metric, bounds in self.intervals(ties).items()},
            "n": self.n,
            "options": {**self.options, "ties": ties, **self.resampling.to_json()},
            "data": self.data,
            "seconds": self.seconds,
            "model": self.model,
        }

    def to_frame(self, ties: Ties = "realistic") -> pl.DataFrame:
        """Return a row for each query: the fact, the end asked for, its rank, and its group.

        candidates: number of entities above the floor. covered: whether the correct answer is one of them.
        """
        heads, relations, tails = (self.queries.heads, self.queries.relations, self.queries.tails)
        backwards = relations >= len(self.vocabulary.relations)
        rows = np.stack([heads, relations % len(self.vocabulary.relations), tails], axis=1)
        rows[backwards] = rows[backwards][:, ::-1]
        frame = self.vocabulary.decode(Triples(read_only(rows))).with_columns(
            pl.Series("asked", np.array(DIRECTIONS)[backwards.astype(np.int64)]),
            pl.Series("rank", self.ranks.form(ties)),
            pl.Series("candidates", self.ranks.candidates),
            pl.Series("covered", self.ranks.covered),
        )
        return frame if self.groups is None else frame.with_columns(pl.Series("group", list(self.groups)))

    def _repr_html_(self) -> str:
        """Show the metrics in a notebook."""
        rows = [(form, *self.figures(form).metrics.values()) for form in FORMS]
        return spell_html_table(repr(self), ("ties", *METRICS), rows)

    def _compute_metrics(self, ties: Ties) -> NDArray[np.float64]:
        return compute_metrics(self.ranks.form(ties))

    def _average_by_kind(self, kinds: NDArray[np.integer[Any]], names: Sequence[str], ties: Ties) -> dict[str, Figures]:
        return average_metrics_by_kind(kinds, names, self._compute_metrics(ties), self.ranks.covered)

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {value:.3f}" for name, value in self.figures().metrics.items())
        return f"Evaluation({self.data['name']!r}, {self.options['split']}, {self.n:,} queries, {metrics})"


def _list_figures(figures: dict[str, Figures]) -> dict[str, Any]:
    return {name: row.to_json() for name, row in figures.items()}
