"""What to do about a shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stablerule.shifts.causes import Cause
    from stablerule.shifts.comparing import Reach, Verdict
    from stablerule.shifts.expecting import Expected
    from stablerule.shifts.weak_spots import WeakSpot

MANY = 0.05


def advise(
    verdict: Verdict, reach: Reach, causes: list[Cause], expected: Expected, spots: list[WeakSpot], *, labelled: int
) -> list[str]:
    """Say what helps, the most pressing first."""
    advice = []
    if reach.unseen_relation:
        some = ", ".join(name for name, _ in reach.names["relations"])
        advice.append(f"No rule concludes a relation that the graph lacks ({some}): add facts of it and learn again.")
    if reach.unseen_entity:
        advice.append(
            f"{reach.unseen_entity:,} queries are about entities without any fact. Add what is known about them to the "
            "graph and pass it (graph=... or --data): the rules need not be learned again."
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
