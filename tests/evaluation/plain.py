"""An evaluator read plainly from the protocol: sets and loops, nothing of the package but the rows that it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Row = tuple[int, int, int]
METRICS = ("mrr", "hits@1", "hits@3", "hits@10")


def plain_band(scores: Sequence[float], answer: int, known: set[int]) -> tuple[int, int]:
    """Sort all rivals and look where the answer could stand."""
    rivals = sorted((s for e, s in enumerate(scores) if e != answer and e not in known), reverse=True)
    best = 1
    while best <= len(rivals) and rivals[best - 1] > scores[answer]:
        best += 1
    worst = best
    while worst <= len(rivals) and rivals[worst - 1] == scores[answer]:
        worst += 1
    return best, worst


def plain_queries(test: Sequence[Row], relations: int) -> list[Row]:
    once = list(dict.fromkeys(test))
    return [*once, *((t, r + relations, h) for h, r, t in once)]


def plain_known(facts: Sequence[Row], head: int, relation: int, relations: int) -> set[int]:
    if relation < relations:
        return {t for h, r, t in facts if (h, r) == (head, relation)}
    return {h for h, r, t in facts if (t, r) == (head, relation - relations)}


def plain_metrics(bands: Sequence[tuple[int, int]], form: str) -> dict[str, float]:
    ranks = [{"optimistic": b, "pessimistic": w, "realistic": (b + w) / 2}[form] for b, w in bands]
    n = len(ranks)
    return {"mrr": sum(1 / r for r in ranks) / n} | {f"hits@{k}": sum(r <= k for r in ranks) / n for k in (1, 3, 10)}


def plain_evaluation(
    score: Callable[[int, int], Sequence[float]], test: Sequence[Row], facts: Sequence[Row], relations: int
) -> list[tuple[int, int]]:
    """The band of each query, filtered by all facts."""
    return [
        plain_band(score(head, relation), answer, plain_known(facts, head, relation, relations))
        for head, relation, answer in plain_queries(test, relations)
    ]
