"""The verdict on current queries, and what to do about it."""

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
    """What makes a verdict.

    outside: the share of queries out of reach (an unseen name, or nothing fires) from which the verdict is "outside";
    distance: how much larger than its mean by chance a distance must be to be called shifted, besides being larger
    than 99% of what chance gives.
    """

    outside: float = 0.2
    distance: float = 0.05


@dataclass(frozen=True)
class QueryReach:
    """How many of n queries the rules can say anything about.

    unseen_entity, unseen_relation: the graph does not have the name; nothing_fires: it has both, and no rule reaches a
    new candidate. Each query is counted once, in this order. reference_nothing_fires: the share among the reference.
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
    """Count the current queries that are out of reach; now, before: those in the graph, and the reference."""
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
        reasons.append(f"{reach.outside:.0%} of the queries are out of reach (outside from {limits.outside:.0%})")
    if expected.refused:
        reasons.append(f"expected accuracy can't be told: {expected.refused}")
    if reasons:
        return "outside", reasons
    far = [distance for distance in distances if distance.is_shifted]
    if far:
        return "shifted", [
            f"{one.measure}: {one.value:.2f}, by chance {one.null:.2f} on average and at most {one.null_high:.2f}"
            for one in far
        ]
    return "similar", ["no distance is larger than chance gives by enough to matter, and few queries are out of reach"]


def advise_on_shift(
    verdict: Verdict,
    reach: QueryReach,
    causes: list[ShiftCause],
    expected: ExpectedAccuracy,
    spots: list[WeakSpot],
    *,
    labelled: int,
) -> list[str]:
    """Say what helps, the most pressing first."""
    advice = []
    if reach.unseen_relation:
        some = ", ".join(name for name, _ in reach.names["relations"])
        advice.append(f"No rule concludes a relation that the graph lacks ({some}): add facts of it and learn again.")
    if reach.unseen_entity:
        advice.append(
            f"{reach.unseen_entity:,} queries are about entities without any fact. Add what is known about them to the "
            "graph and pass it (graph=... or --graph): the rules need not be learned again."
        )
    if reach.nothing_fires / max(reach.n, 1) > reach.reference_nothing_fires + MANY:
        advice.append(
            "For many queries no rule reaches a candidate. More facts about these entities help at once; rules of "
            "other shapes (max_length, min_support) may help after learning again."
        )
    if expected.refused:
        advice.append(
            "Find the answers to 100 or so of these queries, put them in the file, and run this again with --labels."
        )
    elif verdict == "shifted" and not labelled:
        advice.append(
            "The expectation takes queries that look alike to be equally hard. To make sure, find the answers to 100 "
            "or so of these queries, put them in the file, and run this again with --labels."
        )
    if spots and expected.mrr is not None:
        worst = min(spots, key=lambda spot: spot.expected_mrr)
        advice.append(
            f"Do not act unseen on answers where the model is weak: {worst.name} ({worst.n:,} queries, expected MRR "
            f"{worst.expected_mrr:.2f}). Look at their explanations, or ask for a probability."
        )
    if any(cause.kind == "relation" and cause.before == 0 for cause in causes):
        advice.append("Some relations were never asked in the reference: judge the model on facts of theirs first.")
    return advice or ["Nothing: these queries look like those that the model was judged on."]
