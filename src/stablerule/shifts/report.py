"""The shift report: compare current queries with the reference queries that a model was evaluated on.

Conditions such as `worst_mrr<0.3` turn a report into an exit code.
"""

from __future__ import annotations

import operator
import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError, OptionError, spell_closest
from stablerule.shifts.advice import (
    QueryReach,
    Thresholds,
    Verdict,
    advise_on_shift,
    count_queries_in_reach,
    judge_shift,
)
from stablerule.shifts.causes import ShiftCause, name_shift_causes
from stablerule.shifts.distances import Distance, measure_distances
from stablerule.shifts.expected import ExpectedAccuracy, expect_accuracy
from stablerule.shifts.profile import Profiler
from stablerule.shifts.weak_spots import WeakSpot, find_weak_spots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.reasoning import RuleReasoner
    from stablerule.shifts.queries import QuerySet

# The figures that a condition may use; distances have the names that `measure_distances` gives them.
FIGURES = (
    "expected_mrr",
    "expected_low",
    "worst_mrr",
    "measured_mrr",
    "effective",
    "outside",
    "relation_mix",
    "degrees",
    "bodies_that_fire",
)
SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
SHAPE = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class ShiftReport:
    """The result of comparing current queries with reference queries: verdict, estimates, causes and advice."""

    verdict: Verdict
    reasons: list[str]
    thresholds: Thresholds
    reach: QueryReach
    distances: tuple[Distance, ...]
    causes: list[ShiftCause]
    expected: ExpectedAccuracy
    measured_mrr: float | None
    labelled: int
    weak_spots: list[WeakSpot]
    advice: list[str]
    about: dict[str, Any]

    @property
    def figures(self) -> dict[str, float | None]:
        """The numbers that a condition such as `worst_mrr<0.3` may use."""
        spots = [spot.expected_mrr for spot in self.weak_spots]
        return dict.fromkeys(FIGURES) | {
            "expected_mrr": self.expected.mrr,
            "expected_low": self.expected.low,
            "worst_mrr": min(spots) if spots and self.expected.mrr is not None else None,
            "measured_mrr": self.measured_mrr,
            "effective": self.expected.effective,
            "outside": self.reach.outside,
            **{distance.measure.replace(" ", "_"): distance.value for distance in self.distances},
        }

    def to_json(self) -> dict[str, Any]:
        """Return plain values. Values computed from answers are marked with `uses_answers`."""
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "thresholds": asdict(self.thresholds),
            "figures": self.figures,
            "reach": self.reach.to_json(),
            "distances": [distance.to_json() for distance in self.distances],
            "causes": [cause.to_json() for cause in self.causes],
            "expected": self.expected.to_json(),
            "measured": {"mrr": self.measured_mrr, "queries": self.labelled, "uses_answers": True},
            "weak_spots": [spot.to_json() for spot in self.weak_spots],
            "advice": self.advice,
            "about": self.about,
        }


def compare_queries(
    reference: QuerySet,
    current: QuerySet,
    graph: Graph,
    *,
    model: RuleReasoner,
    known: Graph | None = None,
    thresholds: Thresholds | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> ShiftReport:
    """Compare current queries, mostly without answers, with the answered queries that a model was evaluated on.

    graph: the graph that the model answers from. known: the known facts that filter the ranks (None: the graph).
    Answers of current queries are used only for `measured_mrr` and the measured column of the weak spots.
    """
    limits = thresholds or Thresholds()
    judged = reference.take(reference.in_graph)
    judged = judged.take(judged.labelled)
    if not len(judged):
        raise InputError("The reference has no query with an answer, so there is nothing to compare with.")
    profiler, seen = Profiler(model, graph), current.take(current.in_graph)
    known = known if known is not None else graph
    before, ranks = profiler.profile(judged), profiler.reciprocal_ranks(judged, known)
    now = profiler.profile(seen)
    reach = count_queries_in_reach(current, now, before)
    if len(seen):
        distances = measure_distances(before, now, least=limits.distance, seed=seed)
        causes = name_shift_causes(before, now, profiler)
    else:
        distances, causes = (), []
    hidden = profiler.answer_groups(judged)
    expected, each = expect_accuracy(before, ranks, now, hidden=hidden, confidence=confidence, seed=seed)
    expected = _scale_expected_accuracy(expected, len(seen) / len(current))
    measured = _measure_current_queries(profiler, seen, known)
    spots = find_weak_spots(now, each, measured, profiler) if len(seen) and expected.mrr is not None else []
    verdict, reasons = judge_shift(reach, distances, expected, limits)
    labelled = len(current.labelled) + current.unseen_answers
    # A query with an unseen name, or with an unseen answer, counts as 0.
    own = float(np.nansum(measured)) / labelled if labelled else None
    return ShiftReport(
        verdict=verdict,
        reasons=reasons,
        thresholds=limits,
        reach=reach,
        distances=distances,
        causes=causes,
        expected=expected,
        measured_mrr=own,
        labelled=labelled,
        weak_spots=spots,
        advice=advise_on_shift(verdict, reach, causes, expected, spots, labelled=labelled),
        about={"reference_queries": len(judged), "current_queries": len(current), "method": model.method},
    )


def _measure_current_queries(profiler: Profiler, seen: QuerySet, known: Graph) -> NDArray[np.float64]:
    """Return 1 / rank for queries with an answer, NaN for the others."""
    measured = np.full(len(seen), np.nan)
    rows = seen.labelled
    if len(rows):
        measured[rows] = profiler.reciprocal_ranks(seen.take(rows), known)
    return measured


def _scale_expected_accuracy(expected: ExpectedAccuracy, share: float) -> ExpectedAccuracy:
    """Scale the estimate to all queries: those with unseen names count as 0."""
    if expected.mrr is None or expected.low is None or expected.high is None:
        return expected
    return replace(
        expected,
        mrr=expected.mrr * share,
        low=expected.low * share,
        high=expected.high * share,
        chance=(expected.chance or 0.0) * share,
        hidden=(expected.hidden or 0.0) * share,
    )


@dataclass(frozen=True)
class Condition:
    """A figure by name, a sign and a bound.

    >>> Condition.parse("worst_mrr < 0.3", ["worst_mrr"]).holds({"worst_mrr": 0.2})
    True
    """

    name: str
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: str, names: Iterable[str]) -> Condition:
        """Parse a condition; the figure must be one of `names`."""
        names = list(names)
        found = SHAPE.fullmatch(text)
        try:
            bound = float(found[3]) if found else None
        except ValueError:
            bound = None
        if found is None or bound is None:
            raise OptionError(f"A condition must look like 'worst_mrr<0.3', got {text!r}.")
        if found[1] not in names:
            raise OptionError(
                f"No figure {found[1]!r} for a condition. Figures are {', '.join(names)}."
                f"{spell_closest(found[1], names)}"
            )
        return cls(found[1], found[2], bound)

    def holds(self, figures: Mapping[str, float | None]) -> bool:
        """Return whether the condition is true; a figure without a value makes it true, so that this is noticed."""
        value = figures[self.name]
        return value is None or bool(SIGNS[self.sign](value, self.bound))

    def __str__(self) -> str:
        """Spell the condition as the user wrote it."""
        return f"{self.name}{self.sign}{self.bound:g}"
