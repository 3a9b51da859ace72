"""How much of an answer's score is due to each rule that fired for it, aggregation by aggregation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.reasoning.evidence import BEST, COLUMNS, KINDS, LEAST
from stablerule.reasoning.weighing import COUNT, LEARNED, LOG_COUNT, NOISY_OR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.reasoning.weighing import How

    Floats = NDArray[np.float64]


class Fired(NamedTuple):
    """The rules that fired for one candidate, (f,) each: what they weigh, by how many paths, of which of the KINDS."""

    weights: NDArray[np.float64]
    paths: NDArray[np.float64]
    kinds: NDArray[np.int64]


def shares_of(fired: Fired, how: How) -> Floats:
    """Return each rule's share of the score (f,); they sum to 1.

    `count`, `log_count` and `binary` are sums: a share is the rule's part of it. `noisy_or` is a sum of
    -log(1 - weight), and with `top` only the best rules are part of it: the others have a share of 0. `max_plus` is no
    sum, but an order: the best rule decides, and the next ones only among equals; the shares are those of the weights,
    so that they stand in that order. `learned` is a sum of several numbers for each rule, and of some that belong to no
    rule (how well known the candidate is), which have no share; a rule that counts against its answer has a share
    of 0. Where no rule has a part, the shares are those of the weights.

    >>> from stablerule.reasoning.weighing import How
    >>> fired = Fired(np.array([0.6, 0.2]), np.array([1.0, 2.0]), np.array([0, 0]))
    >>> shares_of(fired, How(COUNT, 0, np.zeros(0))).round(2)
    array([0.6, 0.4])
    """
    for parts in (np.maximum(_parts(fired, how), 0), fired.weights, np.ones(len(fired.weights))):
        if (total := parts.sum()) > 0:
            return parts / total  # type: ignore[no-any-return]
    return np.zeros(0)


def _parts(fired: Fired, how: How) -> Floats:
    if how.kind == LEARNED:
        return learned_parts(fired, dict(zip(COLUMNS, how.weights.tolist(), strict=True)))
    if how.kind == COUNT:
        return fired.weights * fired.paths
    if how.kind == LOG_COUNT:
        return fired.weights * np.log1p(fired.paths)
    if how.kind == NOISY_OR:
        parts = -np.log1p(-fired.weights)
        if how.top > 0:
            parts[np.argsort(-fired.weights, kind="stable")[how.top :]] = 0
        return parts
    return fired.weights.copy()  # binary; and max_plus, for want of a sum


def learned_parts(fired: Fired, blend: Mapping[str, float]) -> Floats:
    """Cut the sum of `learned` into the parts of the rules (f,), given the weight of each column of evidence.

    A column that is a sum over rules is cut as the sum is, and so is its logarithm. One for the best rule, or the next,
    belongs to that rule; log odds count from where they stand without any rule.
    """
    parts = np.zeros(len(fired.weights))
    counting = fired.weights > 0
    for number, kind in enumerate(KINDS):
        at = np.flatnonzero(counting & (fired.kinds == number))
        if not len(at):
            continue
        weights = fired.weights[at]
        _add_sum(parts, at, -np.log1p(-weights), f"{kind}: together", blend)
        best = at[np.argsort(-weights, kind="stable")[:BEST]]
        for place, rule in enumerate(best, 1):
            parts[rule] += blend[f"{kind}: best {place}"] * fired.weights[rule]
        above = _log_odds(fired.weights[best[0]]) - _log_odds(LEAST)
        parts[best[0]] += blend[f"log odds {kind}: best 1"] * max(above, 0)
        if number == 0:
            paths = fired.paths[at]
            _add_sum(parts, at, weights * paths, "chains: weighted paths", blend)
            _add_sum(parts, at, weights * np.log1p(paths), "chains: weighted log paths", blend)
    return parts


def _add_sum(parts: Floats, at: NDArray[np.int64], values: Floats, column: str, blend: Mapping[str, float]) -> None:
    """Add what the rules have of a column that is the sum of their values, and of its logarithm."""
    total = values.sum()
    parts[at] += blend[column] * values + blend[f"log {column}"] * np.log1p(total) * values / total


def _log_odds(share: float) -> float:
    return float(np.log(share / (1 - share)))
