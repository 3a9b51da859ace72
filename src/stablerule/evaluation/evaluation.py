"""What an evaluation found: the rank of every query, and every figure that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.evaluation.groups import (
    GroupFigures,
    make_group_sort_key,
    measure_chance_spread,
    measure_group_intervals,
)
from stablerule.evaluation.metrics import METRICS, Figures, average_metrics, average_metrics_by_kind, compute_metrics
from stablerule.graph import Triples
from stablerule.graph.html import spell_html_table
from stablerule.graph.triples import read_only
from stablerule.reasoning.ranks import FORMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.evaluation.metrics import Resampling
    from stablerule.graph import Vocabulary
    from stablerule.reasoning.ranks import Ranks, Ties

# Upper bounds of the degree buckets, and their names.
DEGREES = (0, 3, 10, 30, 100)
DEGREE_NAMES = ("0", "1-3", "4-10", "11-30", "31-100", ">100")
DIRECTIONS = ("tail", "head")


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The ranks of n queries, kept, and figures from them on request.

    queries: rows of (head, relation, answer), at first those that ask for a tail, then, with the inverse relation,
    those that ask for a head; ranks: theirs; degrees: (n,), facts at the entity of each query in the graph that
    answers; groups: a name for each query, if they were grouped; in_graph: how many of the facts asked about stand in
    the graph that answers, which should be none; seconds: spent on ranking.

    Figures come in three forms, by what is made of `ties`; a claim uses the realistic one.
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
        """Queries, two for each fact."""
        return len(self.queries)

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank over both directions, realistic."""
        return self.figures().mrr

    @property
    def coverage(self) -> float:
        """Share of queries whose answer has a score above the floor."""
        return float(self.ranks.covered.mean())

    @property
    def no_candidate(self) -> float:
        """Share of queries for which nothing is above the floor."""
        return float((self.ranks.candidates == 0).mean())

    def figures(self, ties: Ties = "realistic") -> Figures:
        """Return the figures over all queries."""
        return average_metrics(self._compute_metrics(ties), self.ranks.covered)

    def by_direction(self, ties: Ties = "realistic") -> dict[str, Figures]:
        """Figures where the tail is asked for, (h, r, ?), and where the head is, (?, r, t)."""
        is_inverse = self.queries.relations >= len(self.vocabulary.relations)
        return self._average_by_kind(is_inverse.astype(np.int64), DIRECTIONS, ties)

    def by_relation(self, ties: Ties = "realistic") -> dict[str, Figures]:
        """Figures for each relation, both directions together."""
        names = list(self.vocabulary.relations)
        return self._average_by_kind(self.queries.relations % len(names), names, ties)

    def by_degree(self, ties: Ties = "realistic") -> dict[str, Figures]:
        """Figures by the number of facts at the query's entity in the graph that answers."""
        return self._average_by_kind(np.searchsorted(DEGREES, self.degrees), DEGREE_NAMES, ties)

    def by_group(self, ties: Ties = "realistic") -> GroupFigures | None:
        """Figures for each group and over groups; None where there are no groups."""
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
        """Bootstrap interval of each metric, over queries."""
        low, high = self.resampling.compute_interval(self.resampling.draw_means(self._compute_metrics(ties)))
        return {metric: (float(a), float(b)) for metric, a, b in zip(METRICS, low, high, strict=True)}

    def to_json(self, ties: Ties = "realistic") -> dict[str, Any]:
        """Return everything but the single ranks; `forms` has all three forms, the rest is in the form asked for."""
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
        """Return a row for each query: the fact, which end was asked for, the rank of that end, and its group.

        candidates: entities above the floor; covered: whether the right answer is among them.
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
        """Show the figures in a notebook."""
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
