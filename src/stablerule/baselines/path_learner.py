"""What the learners of rules from elsewhere have in common: they learn from sampled paths, and know no constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from stablerule.errors import OptionError
from stablerule.learning.devices import check_device
from stablerule.learning.plan import WALKS_A_SECOND, duration, expected_bodies, walks_for
from stablerule.learning.sampled import SampledLearner
from stablerule.paths.threads import available_cores

if TYPE_CHECKING:
    from stablerule.graph import Graph


class PathLearner(SampledLearner):
    """A learner of chains. Rules with constants are no part of these methods, and there is no option for them."""

    backtracking: bool = True
    negatives: Literal["open", "paper", "none"] = "open"
    min_support: float = 1
    measure_budget: float | None = 1e9
    constants: bool = False
    constant_support: int | None = None
    per_constant: int | None = None
    device: str

    def _plan_walks(self, graph: Graph, *then: str) -> list[str]:
        """Say how the graph is walked, and what comes then."""
        walks = self.walks or walks_for(graph)
        bodies = expected_bodies(graph, walks, self.max_length, self.seed)
        seconds = walks / WALKS_A_SECOND / available_cores()
        most = [] if self.minutes is None else [f"{self.minutes:g} minutes at most"]
        return [f"{walks:,} walks, about {bodies:,} different bodies, about {duration(seconds)}", *then, *most]

    def _check_options(self) -> None:
        super()._check_options()
        check_device(self.device)

    def _check_rate(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and not 0 < value < 10:
                raise OptionError(f"Argument {name!r} of {type(self).__name__} must be above 0, got {value}.")
