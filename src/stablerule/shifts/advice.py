"""The verdict of a shift report, and its advice."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from stablerule.shifts.causes import ShiftCause
    from stablerule.shifts.distances import Distance
    from stablerule.shifts.expected import ExpectedAccuracy
    from stablerule.shifts.profile import Profile
    from stablerule.shifts.queries import QuerySet
    from stablerule.shifts.weak_spots import WeakSpot

Verdict = Literal["similar", "shifted", "outside"]
MOST_NAMED = 5
MANY = 0.05


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of the verdict.

    outside: the share of queries out of reach (an unseen name, or no rule fires) from which the verdict is "outside".
    distance: how far a distance must exceed its mean by chance to be "shifted". It must also exceed its 99% point.
    """

    outside: float = 0.2
    distance: float = 0.05


@dataclass(frozen=True)
class QueryReach:
    """How many of n queries are out of reach of the rules.

    unseen_entity, unseen_relation: the name is not in the graph. nothing_fires: both names are, but no rule reaches a
    new candidate. Each query is counted once, in this order. reference_nothing_fires: the share of such reference
    queries.
    """

    n: int
    unseen_entity: int
    unseen_relation: int
    nothing_fires: int
    reference_nothing_fires: float
    names: dict[str, list[tuple[str, int]]]

    @property
    def outside(self) -> float:
        """Share of queries out of reach."""
        return (self.unseen_entity + self.unseen_relation + self.nothing_fires) / max(self.n, 1)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "outside": self.outside}


def count_queries_in_reach(current: QuerySet, now: Profile, before: Profile) -> QueryReach:
    """Count the current queries that are out of reach; now, before: profiles of the current and reference queries."""
    no_relation = current.relations < 0
    no_entity = current.entities < 0
    return QueryReach(
        n=len(current),
        unseen_entity=int((no_entity & ~no_relation).sum()),
        unseen_relation=int(no_relation.sum()),
        nothing_fires=int((~now.answered).sum()),
        reference_nothing_fires=float((~before.answered).mean()),
        names={
            "entities": Counter(current.unseen_entities).most_common(MOST_NAMED),
            "relations": Counter(current.unseen_relations).most_common(MOST_NAMED),
        },
    )


def judge_shift(
    reach: QueryReach, distances: tuple[Distance, ...], expected: ExpectedAccuracy, limits: Thresholds
) -> tuple[Verdict, list[str]]:
    """Return the verdict with its reasons."""
    reasons = []
    excess = reach.outside - reach.reference_nothing_fires
    if reach.outside >= limits.outside and excess >= limits.outside / 2:
        reasons.append(f"{reach.outside:.0%} of the queries are out of reach (limit: {limits.outside:.0%})")
    if expected.refused and expected.tried:
        reasons.append(f"expected accuracy cannot be estimated: {expected.refused}")
    if reasons:
        return "outside", reasons
    far = [distance for distance in distances if distance.is_shifted]
    if far:
        return "shifted", [
            f"{one.measure}: distance {one.value:.2f} (by chance {one.null:.2f} on average, up to {one.null_high:.2f})"
            for one in far
        ]
    return "similar", ["no distance is clearly larger than by chance, and few queries are out of reach"]


def advise_on_shift(
    verdict: Verdict,
    reach: QueryReach,
    causes: list[ShiftCause],
    expected: ExpectedAccuracy,
    spots: list[WeakSpot],
    *,
    labelled: int,
) -> list[str]:
    """Return advice, the most important first."""
    advice = []
    if reach.unseen_relation:
        some = ", ".join(name for name, _ in reach.names["relations"])
        advice.append(f"The model has no rules for unseen relations ({some}). Add facts of them and train again.")
    if reach.unseen_entity:
        advice.append(
            f"{reach.unseen_entity:,} queries are about unseen entities. Add facts about them to the graph and pass it "
            "(graph=... or --graph); no retraining is needed."
        )
    if reach.nothing_fires / max(reach.n, 1) > reach.reference_nothing_fires + MANY:
        advice.append(
            "For many queries no rule reaches a candidate. Add facts about these entities, or train again with longer "
            "or rarer rules (max_length, min_support)."
        )
    if not expected.tried:
        advice.append(f"To see which accuracy to expect: {expected.refused}.")
    elif expected.refused:
        advice.append(
            "Collect the answers to about 100 of these queries, add them to the file, and run this again with --labels."
        )
    elif verdict == "shifted" and not labelled:
        advice.append(
            "The estimate assumes that similar queries are equally hard. To check it, collect the answers to about 100 "
            "of these queries, add them to the file, and run this again with --labels."
        )
    if spots and expected.mrr is not None:
        worst = min(spots, key=lambda spot: spot.expected_mrr)
        advice.append(
            f"Review answers where the model is weak: {worst.name} ({worst.n:,} queries, expected MRR "
            f"{worst.expected_mrr:.2f}). Check their explanations or probabilities before you use them."
        )
    if any(cause.kind == "relation" and cause.before == 0 for cause in causes):
        advice.append(
            "The reference has no queries for some of these relations. Evaluate the model on facts of them first."
        )
    return advice or ["Nothing: these queries look like the ones that the model was evaluated on."]
