"""Combine runs of one method with different seeds: the spread over seeds, and the spread over groups."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError
from stablerule.evaluation.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stablerule.evaluation.groups import GroupFigures


@dataclass(frozen=True)
class GroupResult:
    """One metric over groups and seeds.

    mean: over groups, then over seeds. worst, worst_group: the lowest of the groups' means over seeds, and its group.
    std_groups: standard deviation of the groups' means over seeds. std_seeds: standard deviation over seeds of the mean
    over groups (a sample, divided by seeds - 1; None for one seed).
    """

    metric: str
    mean: float
    worst: float
    worst_group: str
    std_groups: float
    std_seeds: float | None
    groups: int
    seeds: int

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def over_seeds(runs: Sequence[GroupFigures]) -> dict[str, GroupResult]:
    """Combine the metrics by group of several seeds.

    >>> from stablerule.evaluation.groups import GroupFigures
    >>> from stablerule.evaluation.metrics import Figures
    >>> runs = [
    ...     GroupFigures({n: Figures(5, dict.fromkeys(METRICS, v), 1.0) for n, v in (("a", a), ("b", b))})
    ...     for a, b in ((0.5, 0.25), (0.75, 0.25))
    ... ]
    >>> found = over_seeds(runs)["mrr"]
    >>> found.mean, found.worst_group, found.worst, round(found.std_groups, 4), round(found.std_seeds, 4)
    (0.4375, 'b', 0.25, 0.1875, 0.0884)
    """
    if not runs:
        raise InputError("Argument 'runs' is empty. Pass at least one run.")
    names = sorted(runs[0].groups)
    for run in runs[1:]:
        if sorted(run.groups) != names:
            raise InputError(
                f"The runs have different groups: {', '.join(names)} and {', '.join(sorted(run.groups))}. "
                "Evaluate all seeds on the same groups."
            )
    found = {}
    for metric in METRICS:
        values = np.array([[run.groups[name][metric] for name in names] for run in runs])  # (seeds, groups)
        by_group, by_seed = values.mean(0), values.mean(1)
        found[metric] = GroupResult(
            metric,
            mean=float(values.mean()),
            worst=float(by_group.min()),
            worst_group=names[int(by_group.argmin())],
            std_groups=float(by_group.std()),
            std_seeds=float(by_seed.std(ddof=1)) if len(runs) > 1 else None,
            groups=len(names),
            seeds=len(runs),
        )
    return found
